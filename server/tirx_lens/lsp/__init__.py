"""The language server: translation between LSP and the rest, nothing else."""
