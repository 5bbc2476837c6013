"""The files that operands of a command mean, and the builders in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.cli.calls import builders_of
from tirx_lens.cli.configured import MisuseError
from tirx_lens.cli.naming import split_builder
from tirx_lens.compile.builders import find_builder
from tirx_lens.files import Unreadable, read_file
from tirx_lens.notebook.text import NotebookText

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tirx_lens.cli.configured import Configured
    from tirx_lens.compile.builders import Builder
    from tirx_lens.configuration.options import FileOptions
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class BuildersOf:
    """A file as the user wrote it, its text, and the builders in it that are meant.

    A `str` stands for a builder that the text does not show. `is_named` tells a file that was
    named from one that was found in a folder.
    """

    named: Path
    source: SourceText
    options: FileOptions
    builders: tuple[Builder | str, ...]
    is_named: bool


@dataclass(frozen=True, slots=True)
class Texts:
    """What operands mean, in their order, and the files of folders that cannot be read."""

    texts: tuple[BuildersOf, ...]
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def has_one_builder(self) -> bool:
        """Tell whether one builder alone is meant: all that is given is then given to it."""
        return sum(len(one.builders) for one in self.texts) == 1


def read_texts(operands: Sequence[str], configured: Configured, command: str) -> Texts:
    """Read each FILE[:BUILDER], and the files with builders of each folder.

    Raises `MisuseError`, in the name of `command`, for a file that is named and gives no builder.
    """
    texts: list[BuildersOf] = []
    unreadable: list[Unreadable] = []
    split = [split_builder(operand) for operand in dict.fromkeys(operands)]
    options = [configured.options(path) for path, _ in split]
    configured.refuse_problems()
    try:
        for (path, name), chosen in zip(split, options, strict=True):
            if path.is_dir():
                found = _in_folder(path, configured)
                texts += found.texts
                unreadable += found.unreadable
            else:
                source = _read(path)
                builders = _choose(path, source, name, chosen)
                texts.append(BuildersOf(path, source, chosen, builders, is_named=True))
    except _RefusedError as error:
        raise MisuseError(f"{command}: {error}") from error
    return Texts(tuple(texts), tuple(unreadable))


class _RefusedError(Exception):
    """An operand that gives nothing to build; the text says why."""


def _in_folder(folder: Path, configured: Configured) -> Texts:
    texts: list[BuildersOf] = []
    unreadable: list[Unreadable] = []
    for planned in configured.plan((folder,), ()):
        file = planned if isinstance(planned, Unreadable) else read_file(planned.path)
        if isinstance(file, Unreadable):
            unreadable.append(file)
            continue
        source, options = file.source, configured.options(planned.path)
        if builders := builders_of(source, options.given):
            texts.append(BuildersOf(planned.path, source, options, builders, is_named=False))
    if not texts and not unreadable:
        raise _RefusedError(f"{folder} has no file with a builder in it")
    return Texts(tuple(texts), tuple(unreadable))


def _read(path: Path) -> SourceText:
    file = read_file(path)
    if isinstance(file, Unreadable):
        raise _RefusedError(f"{path} cannot be read: {file.reason}")
    return file.source


def _choose(
    path: Path, source: SourceText, name: str | None, options: FileOptions
) -> tuple[Builder | str, ...]:
    if name is not None:
        last = len(source.line_starts) + 1 if isinstance(source, NotebookText) else None
        builder = find_builder(source.text, name, last)
        return (name if builder is None else builder.with_given(options.given),)
    builders = builders_of(source, options.given)
    if not builders:
        raise _RefusedError(
            f"{path} has no builder: no function with a @T.prim_func or @T.jit kernel in it, and "
            "none at module level; FILE:NAME names one that is made in another way"
        )
    return builders
