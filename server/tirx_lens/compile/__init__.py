"""Building kernels: ask a worker in the user's kernel environment, remember what it gave."""
