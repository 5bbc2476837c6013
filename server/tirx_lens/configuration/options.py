"""What holds for one file: its project's configuration, and what the caller says over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.analysis import Selection
from tirx_lens.configuration.table import Configuration
from tirx_lens.model.given import Given

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.configuration.table import ArgumentsFor, ConfigurationFile
    from tirx_lens.model.given import TvmVersion


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line, or an editor's settings, say over every configuration.

    `select` takes the place of the configuration's `select` and `ignore`; `ignore` is added to
    whatever is ignored. None leaves the configuration's word.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    tvm_version: TvmVersion | None = None
    unused_suppressions: bool | None = None


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How to check one file. One that is excluded is checked only where somebody names it."""

    selection: Selection = field(default_factory=Selection)
    given: Given = field(default_factory=Given)
    is_excluded: bool = False


def options_for(path: Path, file: ConfigurationFile | None, overrides: Overrides) -> FileOptions:
    """Put together what holds for the file at a path, which is absolute."""
    configuration = file.configuration if file is not None else Configuration()
    place = path_from(path, file) if file is not None else path.name
    select, ignore = configuration.select, configuration.ignore
    if overrides.select is not None:
        select, ignore = overrides.select, ()
    for one in configuration.per_file_ignores:
        if one.files.matches(place):
            ignore += one.codes
    unused = overrides.unused_suppressions
    return FileOptions(
        Selection(
            ("TX",) if select is None else select,
            tuple(dict.fromkeys((*ignore, *overrides.ignore))),
            configuration.unused_suppressions if unused is None else unused,
        ),
        Given(
            tuple(one.arguments for one in _arguments(place, configuration)),
            overrides.tvm_version or configuration.tvm_version,
            tuple(more for one in _arguments(place, configuration) for more in one.more),
        ),
        is_excluded=file is not None and is_excluded(path, file),
    )


def is_excluded(path: Path, file: ConfigurationFile) -> bool:
    """Tell whether a configuration excludes a file or folder, or a folder that it is in."""
    patterns = file.configuration.exclude
    if not patterns:  # most often, and asked of all that is found
        return False
    place = path_from(path, file)
    return any(pattern.matches_within(place) for pattern in patterns)


def path_from(path: Path, file: ConfigurationFile) -> str:
    """Return a path from the folder of a configuration, with `/`; whole where it is not below."""
    try:
        return path.relative_to(file.path.parent).as_posix()
    except ValueError:
        return path.as_posix().lstrip("/")


def _arguments(place: str, configuration: Configuration) -> tuple[ArgumentsFor, ...]:
    """Return the arguments for a file, those that go before others after them."""
    everywhere = [one for one in configuration.arguments if one.files is None]
    here = [
        one for one in configuration.arguments if one.files is not None and one.files.matches(place)
    ]
    return (*everywhere, *here)
