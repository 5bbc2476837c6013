"""Notebooks as Jupyter writes them."""

from __future__ import annotations

import json
from typing import Any


def cell(text: str, kind: str = "code", **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "id": "an-id", "metadata": {}}
    if kind == "code":
        output = {"output_type": "display_data", "data": {"text/plain": ["é 😀\n", "x"]}}
        made |= {"execution_count": 3, "outputs": [output | {"metadata": {}}]}
    return made | {"source": text.splitlines(keepends=True)} | more


def notebook(*cells: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    """Return a notebook of Python; a `str` stands for a cell of code."""
    return {
        "cells": [cell(one) if isinstance(one, str) else one for one in cells],
        "metadata": {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    } | more


def written(value: object, *, indent: int | None = 1, ascii_only: bool = False) -> bytes:
    """Return a notebook as bytes: in Jupyter's own layout, or another."""
    return f"{json.dumps(value, indent=indent, ensure_ascii=ascii_only)}\n".encode()
