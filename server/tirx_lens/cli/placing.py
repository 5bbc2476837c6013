"""Where a command builds: `--target NAME`, and the user's word on what a project brings."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.configured import Configured, MisuseError, absolute_path
from tirx_lens.cli.jobs import available_cores
from tirx_lens.cli.own_targets import own_targets
from tirx_lens.compile.confirmed import Confirmations, default_state_folder
from tirx_lens.compile.prepare import DEFAULT_ARCH
from tirx_lens.compile.targets import LOCAL_NAME, Origin, Target, Targets, joined, shown
from tirx_lens.report.paths import shown_path

if TYPE_CHECKING:
    import argparse

_NEAR = 3
_MOST_LOCAL = 8  # builds at once on this machine: each may take gigabytes


def add_interpreter_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the interpreter of the target `local`."""
    parser.add_argument(
        "--interpreter",
        metavar="PYTHON",
        help="the Python that TVM is installed in, for the target local (default: the one "
        "tirx-lens runs in)",
    )


def add_target_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the one target of a command."""
    parser.add_argument(
        "--target",
        metavar="NAME",
        help="where to build: a target of the project or of your targets.toml (default: local, "
        "this machine)",
    )


@dataclass(frozen=True, slots=True)
class Known:
    """The targets that files of one project can be built at, `local` first.

    `project` is the folder of its configuration; None where there is none.
    """

    project: Path | None
    targets: Targets

    def named(self, name: str) -> Target:
        """Return a target by its name. Raises `MisuseError` with the names that are near."""
        found = self.targets.named(name)
        if found is not None:
            return found
        names = [target.name for target in self.targets.targets]
        near = get_close_matches(name, names, n=_NEAR)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(names)}"
        raise MisuseError(f"tirx-lens: there is no target {name!r}: {hint}")


class Places:
    """The targets of the projects that a command meets, and whether each may be used."""

    def __init__(self, configured: Configured, interpreter: str | None = None) -> None:
        self._configured = configured
        self._interpreter = interpreter
        self._known: dict[Path | None, Known] = {}
        self._usable: dict[tuple[Path | None, str], Target] = {}

    def known(self, path: Path) -> Known:
        """Return the targets of the project of a file or folder. Raises `MisuseError`."""
        path = absolute_path(path)
        file = self._configured.file_for(path / "_" if path.is_dir() else path)
        project = file.path.parent if file is not None else None
        if project not in self._known:
            of_project = file.configuration.targets if file is not None else ()
            both = joined(self._own, of_project)
            all_of_them = replace(both, targets=(self._local, *both.targets))
            self._known[project] = Known(project, all_of_them)
        return self._known[project]

    def target(self, path: Path, name: str) -> Target:
        """Return the target of a name for a file, once it may be used. Raises `MisuseError`.

        One that the project brings is shown in full and asked about on a terminal.
        """
        if name == LOCAL_NAME:  # whatever is wrong with others
            return self._local
        known = self.known(path)
        if (usable := self._usable.get((known.project, name))) is not None:
            return usable
        target = known.named(name)
        if self._interpreter is not None:
            said = f"--interpreter is for the target local; {name} has its own `python`"
            raise MisuseError(f"tirx-lens: {said}")
        if not self.may_use(known, target):
            self._ask(known)
        self._usable[known.project, name] = target
        return target

    def may_use(self, known: Known, target: Target) -> bool:
        """Tell whether a target needs no word of the user's, or has it."""
        if target.origin is not Origin.PROJECT:
            return True
        assert known.project is not None, "a project brings it"
        return self._confirmations.holds(known.project, known.targets.fingerprint)

    def confirm(self, known: Known) -> None:
        """Remember that the user wants the targets of a project. Raises `MisuseError`."""
        assert known.project is not None, "a project brings them"
        try:
            self._confirmations.confirm(known.project, known.targets.fingerprint)
        except OSError as error:
            said = f"what you confirm cannot be kept: {error.strerror or error}"
            raise MisuseError(f"tirx-lens: {said}") from error

    @cached_property
    def _local(self) -> Target:
        return Target(
            LOCAL_NAME,
            python=(sys.executable if self._interpreter is None else self._interpreter,),
            arch=DEFAULT_ARCH,
            concurrency=min(available_cores(), _MOST_LOCAL),
        )

    @cached_property
    def _own(self) -> tuple[Target, ...]:
        return own_targets()

    @cached_property
    def _confirmations(self) -> Confirmations:
        try:
            return Confirmations(default_state_folder())
        except ValueError as error:
            raise MisuseError(f"tirx-lens: {error}") from error

    def _ask(self, known: Known) -> None:
        assert known.project is not None, "a project brings them"
        folder = shown_path(Path(os.path.relpath(known.project)))
        if not can_ask():
            raise MisuseError(
                f"tirx-lens: the targets of {folder} are not confirmed, and may name any host or "
                f"program: look at them, then confirm with `tirx-lens targets --confirm {folder}`"
            )
        show_project(known)
        if not says_yes():
            raise MisuseError("tirx-lens: the targets are not confirmed, so nothing was done")
        self.confirm(known)


def show_project(known: Known) -> None:
    """Write what a project says of its targets, in full, to standard error."""
    folder = shown_path(known.project) if known.project is not None else "."
    tables = "\n\n".join(shown(target) for target in known.targets.of_project)
    streams.write(
        sys.stderr,
        f"The project at {folder} brings these targets. Building at one runs the programs, and "
        f"connects to the hosts, that it names:\n\n{tables}\n\n",
    )


def can_ask() -> bool:
    """Tell whether somebody can be asked: what is typed comes here, and is seen."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def says_yes() -> bool:
    """Ask whether to use the targets; anything but a yes is a no."""
    streams.write(sys.stderr, "Use these targets? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
