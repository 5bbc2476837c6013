"""The kernel model: plain data about sources, kernels and findings, known to every layer."""
