"""The sources a build needs: the kernel's file, and the modules beside it that it imports."""

from __future__ import annotations

import tokenize
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.compile.request import SourceFile
from tirx_lens.syntax.imports import STATEMENTS, imports_of
from tirx_lens.syntax.tree import parse, walk
from tirx_lens.workspace import absolute, files_of_module, packages_of, search_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tirx_lens.syntax.imports import Import

MAX_FILES = 256
"""A kernel that imports more modules of its workspace than this gets the first so many."""


@dataclass(frozen=True, slots=True)
class Closure:
    """The files, the entry first, and the directories in which imports of theirs are looked up."""

    files: tuple[SourceFile, ...]
    search_paths: tuple[str, ...]


def closure_of(
    entry: Path,
    text: str,
    *,
    workspace: Sequence[Path] = (),
    open_texts: Mapping[Path, str] | None = None,
) -> Closure:
    """Follow the imports of `entry` through its own directory, its package and the workspace.

    `text` is the entry as the editor has it and `open_texts` other files that are open, by
    absolute path; the rest is read from disk. A file that cannot be read is left out: the build
    says so at the import. Syntax errors do not matter.
    """
    entry = absolute(entry)
    opened = {absolute(path): content for path, content in (open_texts or {}).items()}
    opened[entry] = text
    roots = search_path(entry, workspace)
    files: dict[Path, str] = {}
    pending = deque([entry])
    while pending and len(files) < MAX_FILES:
        path = pending.popleft()
        if path in files:
            continue
        content = opened[path] if path in opened else _read(path)
        if content is None:
            continue
        files[path] = content
        pending.extend(packages_of(path))
        root = parse(content.encode("utf-8", "replace")).root_node
        for statement in walk(root, STATEMENTS):
            for item in imports_of(statement):
                pending.extend(_imported_files(item, path, roots))
    return Closure(
        tuple(SourceFile(str(path), content) for path, content in files.items()),
        tuple(str(root) for root in roots),
    )


def _imported_files(item: Import, importer: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the files an import may load; those that do not exist are dropped by the reader."""
    yield from files_of_module(importer, item.level, item.module, roots)
    if item.name is not None:
        yield from files_of_module(importer, item.level, (*item.module, item.name), roots)


def _read(path: Path) -> str | None:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeError, ValueError):
        return None
