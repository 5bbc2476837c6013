"""What a project says in `[tool.tirx-lens]`: checked values, and what was wrong with the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.targets import Target
    from tirx_lens.configuration.patterns import PathPattern
    from tirx_lens.model.given import BuilderArguments, TvmVersion
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span


@dataclass(frozen=True, slots=True)
class PerFileIgnores:
    """Rules that are silent in the files that a pattern means."""

    files: PathPattern
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArgumentsFor:
    """Arguments of a builder, in the files that a pattern means, or in all where there is none.

    `more` has the other sets to choose from, where there are several.
    """

    files: PathPattern | None
    arguments: BuilderArguments
    more: tuple[BuilderArguments, ...] = ()


@dataclass(frozen=True, slots=True)
class Configuration:
    """One `[tool.tirx-lens]`. `select` is None where it is not said which rules report.

    Of `arguments`, the later go before the earlier, and those with a pattern before those without.
    Nobody has confirmed the `targets` yet.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[PerFileIgnores, ...] = ()
    exclude: tuple[PathPattern, ...] = ()
    tvm_version: TvmVersion | None = None
    unused_suppressions: bool = False
    arguments: tuple[ArgumentsFor, ...] = ()
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigurationProblem:
    """A sentence about something that cannot be taken, and where it is written in the file."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A file with a configuration, its text, and what could not be taken of it.

    `configuration` holds all the rest. Patterns are for paths from the file's own folder; `path` is
    absolute.
    """

    path: Path
    source: SourceText
    configuration: Configuration
    problems: tuple[ConfigurationProblem, ...] = ()
