"""`[tool.tirx-lens]` of pyproject.toml: reading it, finding it, and what it means for a file."""
