"""Sets of threads: which reach a statement, and which an operation demands."""
