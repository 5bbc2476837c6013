"""Notebooks: their cells as one text, and the files they are kept in."""
