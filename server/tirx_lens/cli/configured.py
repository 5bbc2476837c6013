"""The options of a command that say how files are checked, put together with their projects'."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.configuration.find import Configurations, read_named_file
from tirx_lens.configuration.options import FileOptions, Overrides, is_excluded, options_for
from tirx_lens.files import Unreadable, find_files
from tirx_lens.model.given import TvmVersion
from tirx_lens.report.paths import shown_path, shown_text
from tirx_lens.rules.codes import codes_under, unknown_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.configuration.table import ConfigurationFile


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which configuration is read."""
    group = parser.add_argument_group("configuration").add_mutually_exclusive_group()
    group.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="take [tool.tirx-lens] from this file (default: the nearest pyproject.toml above each "
        "file that has one)",
    )
    group.add_argument("--isolated", action="store_true", help="read no configuration")


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare which rules report, and which configuration is read."""
    rules = parser.add_argument_group("which rules")
    rules.add_argument(
        "--select",
        metavar="CODES",
        help="only these rules: codes or prefixes, with commas; in place of the configuration's "
        "select and ignore",
    )
    rules.add_argument(
        "--ignore", metavar="CODES", default="", help="not these rules, besides the configuration's"
    )
    rules.add_argument(
        "--tvm-version",
        choices=[version.value for version in TvmVersion],
        help="the TVM that the kernels are written for (default: told by their spelling)",
    )
    rules.add_argument(
        "--report-unused-suppressions",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="report comments `# tirx-lens: ignore` that silence nothing (default: the "
        "configuration's word, else not)",
    )
    add_source_arguments(parser)


@dataclass(frozen=True, slots=True)
class Planned:
    """A file to check, by the path it was named by or found at, and how."""

    path: Path
    options: FileOptions


class MisuseError(Exception):
    """Options or a configuration that cannot be followed; the lines of the text say why."""


@dataclass(frozen=True)
class Configured:
    """What the options of one command say, and the configurations that they leave in force."""

    overrides: Overrides = field(default_factory=Overrides)
    is_isolated: bool = False
    named: ConfigurationFile | None = None
    found: Configurations = field(default_factory=Configurations)

    @classmethod
    def of_source(cls, arguments: argparse.Namespace) -> Configured:
        """Take what `add_source_arguments` declared. Raises `MisuseError`."""
        return cls(is_isolated=arguments.isolated, named=_named(arguments))

    @classmethod
    def of_check(cls, arguments: argparse.Namespace) -> Configured:
        """Take what `add_check_arguments` declared. Raises `MisuseError`."""
        select = None if arguments.select is None else _codes(arguments.select)
        ignore = _codes(arguments.ignore)
        for code in (*(select or ()), *ignore):
            if not codes_under(code):
                raise MisuseError(f"tirx-lens: {unknown_code(code)}")
        version = TvmVersion(arguments.tvm_version) if arguments.tvm_version else None
        overrides = Overrides(select, ignore, version, arguments.report_unused_suppressions)
        return cls(overrides, arguments.isolated, _named(arguments))

    def options(self, path: Path) -> FileOptions:
        """Return how to check a file, which need not be there."""
        path = absolute_path(path)
        return options_for(path, self.file_for(path), self.overrides)

    def plan(
        self, paths: Sequence[Path], exclude: tuple[str, ...], *, respect_gitignore: bool = True
    ) -> list[Planned | Unreadable]:
        """Return the files to check, each with how. Raises `MisuseError`.

        `exclude` is the command's own list: it passes over files that are named, too.
        """
        found = find_files(paths, exclude, self._is_excluded, respect_gitignore=respect_gitignore)
        planned = [
            file if isinstance(file, Unreadable) else Planned(file, self.options(file))
            for file in found
        ]
        self.refuse_problems()
        return planned

    def refuse_problems(self) -> None:
        """Raise `MisuseError` if a configuration that was read has problems."""
        files = (self.named,) if self.named else self.found.files.values()
        if lines := tuple(line for file in files for line in problem_lines(file)):
            raise MisuseError("\n".join(lines))

    def _is_excluded(self, path: Path) -> bool:
        path = absolute_path(path)
        file = self.file_for(path)
        return file is not None and is_excluded(path, file)

    def file_for(self, path: Path) -> ConfigurationFile | None:
        """Return the configuration that holds for a file, given by its absolute path."""
        if self.is_isolated:
            return None
        return self.named or self.found.nearest(path.parent)


def problem_lines(file: ConfigurationFile) -> Iterable[str]:
    """Yield a line for each problem of a configuration, with its place as editors write it."""
    shown = os.path.relpath(file.path)
    name = shown_path(file.path if shown.startswith("..") else Path(shown))
    for problem in file.problems:
        place = file.source.position(problem.span.start)
        yield f"{name}:{place.line + 1}:{place.column + 1}: {shown_text(problem.message)}"


def refuse(error: MisuseError) -> None:
    """Print why a command cannot be followed."""
    streams.write(sys.stderr, f"{error}\n")


def _named(arguments: argparse.Namespace) -> ConfigurationFile | None:
    if arguments.config is None:
        return None
    read = read_named_file(absolute_path(arguments.config))
    if isinstance(read, str):
        raise MisuseError(f"tirx-lens: {read}")
    return read


def absolute_path(path: Path) -> Path:
    """Return the path as it is named, but without `..`; `Path.resolve` would follow links."""
    return Path(os.path.abspath(path))  # noqa: PTH100


def _codes(listed: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in listed.split(",") if code.strip())
