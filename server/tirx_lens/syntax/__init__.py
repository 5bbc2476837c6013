"""The static front end: TVMScript text to the kernel model, through tree-sitter."""
