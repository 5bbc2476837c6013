"""From a kernel to a small instance of its handoffs: each role followed, with all its numbers."""
