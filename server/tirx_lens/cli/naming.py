"""FILE:BUILDER, as commands about single kernels take it."""

from __future__ import annotations

from pathlib import Path


def split_builder(argument: str) -> tuple[Path, str | None]:
    """Split FILE:BUILDER; a colon may be part of a file's name."""
    path, colon, name = argument.rpartition(":")
    if not colon or Path(argument).is_file() or not name.replace(".", "").isidentifier():
        return Path(argument), None
    return Path(path), name
