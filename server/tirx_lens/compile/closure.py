"""The sources a build needs: the kernel's file, and the modules beside it that it imports."""

from __future__ import annotations

import os
import sys
import tokenize
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.compile.request import SourceFile
from tirx_lens.syntax.tree import field_of, parse, text_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

MAX_FILES = 256
"""A kernel that imports more modules of its workspace than this gets the first so many."""

_IMPORTS = frozenset({"import_statement", "import_from_statement"})
_ELSEWHERE = sys.stdlib_module_names | {"tvm", "tvm_ffi", "tvm_tirx", "numpy", "torch"}


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
    entry = _absolute(entry)
    opened = {_absolute(path): content for path, content in (open_texts or {}).items()}
    opened[entry] = text
    roots = list(dict.fromkeys([import_root(entry), *(_absolute(item) for item in workspace)]))
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
        pending.extend(_packages_of(path))
        for imported in _imports(content):
            pending.extend(_resolve(imported, path, roots))
    return Closure(
        tuple(SourceFile(str(path), content) for path, content in files.items()),
        tuple(str(root) for root in roots),
    )


def import_root(path: Path) -> Path:
    """Return the directory from which a file's module name is counted."""
    directory = path.parent
    while (directory / "__init__.py").is_file() and directory != directory.parent:
        directory = directory.parent
    return directory


def _absolute(path: Path) -> Path:
    """Return the path from the root, without `..`; symbolic links stay as the user wrote them."""
    return Path(os.path.normpath(path.absolute()))


@dataclass(frozen=True, slots=True)
class _Import:
    """`level` dots, the parts of the module, and the names that may be modules of their own."""

    level: int
    module: tuple[str, ...]
    names: tuple[str, ...] = ()


def _imports(text: str) -> Iterator[_Import]:
    root = parse(text.encode("utf-8", "replace")).root_node
    for statement in walk(root, _IMPORTS):
        names = [_imported(item) for item in statement.children_by_field_name("name")]
        if statement.type == "import_statement":
            for name in names:
                yield _Import(0, tuple(name.split(".")))
            continue
        module = text_of(field_of(statement, "module_name") or statement)
        dotted = module.lstrip(".")
        parts = tuple(part.strip() for part in dotted.split(".")) if dotted else ()
        yield _Import(len(module) - len(dotted), parts, tuple(names))


def _imported(item: Node) -> str:
    return text_of(field_of(item, "name") or item)


def _resolve(imported: _Import, importer: Path, roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the files an import may load; those that do not exist are dropped by the reader."""
    if imported.level:
        base = importer.parent
        for _ in range(imported.level - 1):
            base = base.parent
        bases: Sequence[Path] = (base,)
    elif imported.module and imported.module[0] in _ELSEWHERE:
        return
    else:
        bases = roots
    for base in bases:
        found = _module_files(base, imported.module)
        if not found and imported.module:
            continue
        yield from found
        for name in imported.names:
            yield from _module_files(base, (*imported.module, name))
        return


def _module_files(base: Path, parts: tuple[str, ...]) -> list[Path]:
    """Return the files of a dotted module below a directory, its packages' own files first."""
    files: list[Path] = []
    directory = base
    for index, part in enumerate(parts):
        module = directory / f"{part}.py"
        directory = directory / part
        if (directory / "__init__.py").is_file():
            files.append(directory / "__init__.py")
        elif index == len(parts) - 1 and module.is_file():
            files.append(module)
        elif not directory.is_dir():
            return []
    return files


def _packages_of(path: Path) -> Iterator[Path]:
    directory = path.parent
    while (directory / "__init__.py").is_file() and directory != directory.parent:
        yield directory / "__init__.py"
        directory = directory.parent


def _read(path: Path) -> str | None:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (OSError, SyntaxError, UnicodeError, ValueError):
        return None
