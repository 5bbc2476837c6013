"""Running the user's module under its own name, from the copy of its sources."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from .sources import SourceTree

_NOTEBOOK = ".ipynb"


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, and what stopped it on the way: what is defined above that place is there."""

    module: ModuleType
    stopped: BaseException | None = None


def import_entry(tree: SourceTree, entry: str, search_paths: tuple[str, ...]) -> Imported:
    """Import the file `entry` of the tree, with its siblings importable.

    Raises where nothing of the file has run; what its own code raises is in the result.

    The module stands in `sys.modules` before its code runs, under its real name and never as
    `__main__`: TVM's parser looks its source up there.
    """
    sys.dont_write_bytecode = True
    path = Path(tree.copy_of(entry))
    package, root = _package_of(path)
    roots = [root, *(tree.copy_of(item) for item in search_paths)]
    # Behind the copies the user's own directories: data beside the file, imports made at run time.
    roots += [item for item in (str(Path(entry).parent), *search_paths) if Path(item).is_dir()]
    sys.path[:0] = list(dict.fromkeys(roots))
    importlib.invalidate_caches()
    name = _module_name(path, package)
    if package:
        importlib.import_module(package)
        if name in sys.modules:  # the package's own __init__ imported it
            return Imported(sys.modules[name])
    # The code of a notebook comes as Python under the notebook's own name.
    loader = SourceFileLoader(name, str(path)) if path.suffix == _NOTEBOOK else None
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None or spec.loader is None:
        raise ImportError(f"{entry} is not a Python file", name=name, path=entry)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError:
        raise
    except BaseException as error:
        return Imported(module, error)
    return Imported(sys.modules[name])


def _package_of(path: Path) -> tuple[str, str]:
    """Return the dotted name of the package a file belongs to, and the directory above it."""
    parts: list[str] = []
    directory = path.parent
    while (directory / "__init__.py").is_file():
        parts.insert(0, directory.name)
        directory = directory.parent
    return ".".join(parts), str(directory)


def _module_name(path: Path, package: str) -> str:
    stem = path.stem
    if package:
        return package if stem == "__init__" else f"{package}.{stem}"
    # A kernel file may be called like a module that is in use already, or like no identifier.
    return stem if stem.isidentifier() and stem not in sys.modules else f"kernel_file_{stem}"
