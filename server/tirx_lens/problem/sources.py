"""The sources of a kernel, reduced to its builder and what that needs, over all its files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.imported import ModuleText
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.excerpt import callers, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.syntax.excerpt import Taken
    from tirx_lens.syntax.library import Modules

_MOST_FILES = 64


@dataclass(frozen=True, slots=True)
class ReducedFile:
    """A file by its path, what of it is needed, and how many statements are left out."""

    path: str
    source: SourceText
    left_out: int


@dataclass(frozen=True, slots=True)
class ReducedSources:
    """The files that a builder needs, its own first; `checks` are what in that file calls it."""

    files: tuple[ReducedFile, ...]
    checks: tuple[str, ...] = ()

    @property
    def entry(self) -> ReducedFile:
        """The file of the builder."""
        return self.files[0]


class ReducedModules:
    """The modules around a reduced file, as reduced as it is: `syntax.library.Modules`."""

    def __init__(self, modules: Modules, sources: ReducedSources) -> None:
        self._modules = modules
        self._by_path = {file.path: file for file in sources.files}

    def find(self, importer: str, level: int, module: tuple[str, ...]) -> ModuleText | None:
        """Return the module of an import, with the reduced text where there is one."""
        found = self._modules.find(importer, level, module)
        if found is None or found.path not in self._by_path:
            return found
        return ModuleText(found.path, self._by_path[found.path].source)


def reduced(path: str, source: SourceText, builder: str, modules: Modules) -> ReducedSources:
    """Reduce a file and the modules of its workspace to what one builder needs.

    What a module is needed for grows as others are followed, until nothing more is needed.
    """
    texts = {path: source.text}
    wanted: dict[str, frozenset[str] | None] = {path: frozenset({builder})}
    order = [path]
    pending = [path]
    while pending:
        current = pending.pop()
        for taken in excerpt(texts[current], wanted[current]).imports:
            for module, names in _modules_of(current, taken, modules):
                if module.path not in texts:
                    if len(texts) >= _MOST_FILES:
                        continue
                    texts[module.path] = module.source.text
                    wanted[module.path] = frozenset()
                    order.append(module.path)
                    pending.append(module.path)
                before = wanted[module.path]
                after = None if before is None or names is None else before | names
                if after != before:
                    wanted[module.path] = after
                    pending.append(module.path)
    files = []
    for name in order:
        made = excerpt(texts[name], wanted[name])
        if name == path or made.text.strip():
            files.append(ReducedFile(name, SourceText(made.text), made.left_out))
    return ReducedSources(tuple(files), callers(source.text, builder))


def _modules_of(
    importer: str, taken: Taken, modules: Modules
) -> Iterator[tuple[ModuleText, frozenset[str] | None]]:
    """Yield the modules that an import means, and the names that are taken out of each."""
    item = taken.item
    if item.name is None:
        module = modules.find(importer, item.level, item.module)
        if module is not None:
            yield module, taken.attributes
        return
    module = modules.find(importer, item.level, item.module)
    below = modules.find(importer, item.level, (*item.module, item.name))
    if below is not None and (module is None or module.path != below.path):
        yield below, taken.attributes
        return
    if module is not None:
        yield module, None if item.name == "*" else frozenset({item.name})


def common_folder(files: tuple[ReducedFile, ...]) -> str:
    """Return the folder that all files are in, as the beginning of their paths."""
    folders = [re.split(r"(?<=[\\/])", file.path)[:-1] for file in files]
    shared = []
    for parts in zip(*folders, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "".join(shared)
