"""The user's sources in a private directory: written as they are in the editor, read back by TVM.

`inspect.getsource`, which the TVMScript parser lives on, needs a file on disk, and imports of
sibling modules need a tree of them. So every file stands below the directory under its whole
absolute path, and a place in the copy becomes a place in the user's file by taking that prefix off.
"""

from __future__ import annotations

import ast
import io
import os
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .messages import SourceFile


@dataclass(frozen=True, slots=True)
class Definition:
    """A function: its name, its `def` line, and the first line of its decorators, 1-based."""

    name: str
    line: int
    first_line: int


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a text; None where Python cannot read it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class SourceTree:
    """The files of one build below `directory`."""

    def __init__(self, directory: str, files: tuple[SourceFile, ...]) -> None:
        self.root = os.path.realpath(directory)
        # A byte order mark is no part of a text: encoding would put a second one in front of it.
        self._texts = {
            os.path.normpath(file.path): file.text.removeprefix("\ufeff") for file in files
        }
        self._trees: dict[str, ast.Module | None] = {}
        self._definitions: dict[str, tuple[Definition, ...]] = {}

    def write(self) -> None:
        """Write every file. Raises OSError where the disk does not take them."""
        for path, text in self._texts.items():
            copy = Path(self.copy_of(path))
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(_encoded(text))

    def copy_of(self, path: str) -> str:
        """Return where the copy of an absolute path stands, or would stand."""
        _, tail = os.path.splitdrive(os.path.normpath(path))
        return self.root + os.sep + tail.lstrip("\\/")

    def original(self, path: str) -> str | None:
        """Return the user's path of a copy; None for any other file."""
        real = os.path.normpath(path)
        return self._originals.get(real)

    @cached_property
    def _originals(self) -> dict[str, str]:
        return {self.copy_of(path): path for path in self._texts}

    def translate(self, text: str) -> str:
        """Return a message of Python or TVM with the user's paths in it."""
        return text.replace(self.root + os.sep, os.sep)

    def line(self, original: str, line: int) -> str:
        """Return one line (1-based) of a file, without its end; empty where there is none."""
        lines = self._texts.get(original, "").split("\n")
        return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else ""

    def text(self, original: str) -> str:
        """Return the text of one of the user's files."""
        return self._texts[original]

    def syntax(self, original: str) -> ast.Module | None:
        """Return the syntax tree of one of the user's files; None where Python cannot read it."""
        if original not in self._trees:
            self._trees[original] = parsed(self._texts[original])
        return self._trees[original]

    def definitions(self, original: str) -> tuple[Definition, ...]:
        """Return the functions of one of the user's files, outer ones first."""
        if original not in self._definitions:
            tree = self.syntax(original)
            self._definitions[original] = tuple(
                Definition(
                    node.name, node.lineno, min([node, *node.decorator_list], key=_line).lineno
                )
                for node in (ast.walk(tree) if tree is not None else ())
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            )
        return self._definitions[original]

    def first_null(self) -> tuple[str, int, int] | None:
        """Return file, line and column of the first null character in the sources."""
        for path, text in self._texts.items():
            offset = text.find("\0")
            if offset >= 0:
                line = text.count("\n", 0, offset) + 1
                return path, line, offset - text.rfind("\n", 0, offset)
        return None

    def character_column(self, original: str, line: int, byte_column: int) -> int:
        """Convert a 1-based column in UTF-8 bytes, as TVM counts, to one in characters."""
        before = self.line(original, line).encode("utf-8", "replace")[: max(byte_column - 1, 0)]
        return len(before.decode("utf-8", "replace")) + 1


def _line(node: ast.stmt | ast.expr) -> int:
    return node.lineno


def _encoded(text: str) -> bytes:
    """Encode as the coding comment says, since that is how Python will read it."""
    data = text.encode("utf-8", "replace")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return data
