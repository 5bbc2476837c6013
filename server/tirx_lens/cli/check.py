"""`tirx-lens check`: find mistakes in files, print them, and mend what can be mended."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.checking import Fixing, Outcome, check_file, check_text
from tirx_lens.cli import streams
from tirx_lens.cli.configured import (
    Configured,
    MisuseError,
    Planned,
    add_check_arguments,
    refuse,
)
from tirx_lens.cli.jobs import Work, work_through
from tirx_lens.cli.output import (
    COUNTED,
    FORMATS,
    MACHINE,
    Output,
    show,
    show_diffs,
    show_failures,
)
from tirx_lens.cli.progress import Bar
from tirx_lens.files import Unreadable, decode, is_excluded
from tirx_lens.rewrite import rewrite
from tirx_lens.workspace import SourceCache

if TYPE_CHECKING:
    import argparse

CLEAN, FOUND, FAILED = 0, 1, 2
STDIN = Path("-")
"""Standard input. `./-` is an equal path and another thing: compare by identity."""


@dataclass(frozen=True, slots=True)
class Task:
    """A file to check, and which of its fixes to apply."""

    file: Planned | Unreadable
    fixing: Fixing

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.file.path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens check`."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        type=_path,
        help="files, and folders to search for Python files (default: the current folder); "
        "`-` reads standard input",
    )
    shown = parser.add_argument_group("what is printed")
    shown.add_argument(
        "--output-format",
        choices=FORMATS,
        default="concise",
        help="one line a finding; with the source; JSON in Ruff's shape; SARIF 2.1.0; annotations "
        "of GitHub Actions (default: concise)",
    )
    shown.add_argument(
        "--statistics", action="store_true", help="how often each rule was found, not where"
    )
    shown.add_argument("-q", "--quiet", action="store_true", help="the findings and nothing else")
    fixes = parser.add_argument_group("fixes")
    fixes.add_argument("--fix", action="store_true", help="apply the safe fixes to the files")
    fixes.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix or --diff: the unsafe ones too, which want their author's eyes",
    )
    fixes.add_argument(
        "--diff",
        action="store_true",
        help="print what --fix would change and write nothing; exit with 1 if that is something",
    )
    add_check_arguments(parser)
    builds = parser.add_argument_group("builds")
    builds.add_argument(
        "--build",
        action="store_true",
        help="build the kernels whose arguments are known as well, which runs their files, and "
        "report what is found on the way and in the CUDA",
    )
    builds.add_argument(
        "--target",
        metavar="NAME",
        help="with --build: where, a target of the project or of your targets.toml (default: "
        "local, this machine)",
    )
    builds.add_argument(
        "--interpreter",
        metavar="PYTHON",
        help="with --build: the Python that TVM is installed in, for the target local (default: "
        "the one tirx-lens runs in)",
    )
    files = parser.add_argument_group("which files")
    files.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="pass over files and folders of this name or path (shell pattern; repeatable)",
    )
    files.add_argument(
        "--no-respect-gitignore",
        dest="respect_gitignore",
        action="store_false",
        help="read what Git ignores, too",
    )
    files.add_argument(
        "--stdin-filename",
        metavar="NAME",
        type=Path,
        help="the path that standard input is checked as: what it is called in what is printed, "
        "and where its configuration and what it imports are looked for (default: -, in the "
        "current folder)",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 even when something was found"
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        help="how many processes check at once (default: as many as there are cores, where the "
        "work takes long enough)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Check the files; 0: nothing found, 1: something found, 2: a file or option was no good."""
    streams.prepare(utf8=arguments.output_format in MACHINE)
    objection = _objection(arguments)
    if objection is not None:
        streams.say(objection)
        return FAILED
    try:
        configured = Configured.of_check(arguments)
        if _names_input(arguments.paths) or arguments.stdin_filename is not None:
            return _check_input(arguments, configured)
        return _check_files(arguments, configured)
    except MisuseError as error:
        refuse(error)
        return FAILED


def _check_files(arguments: argparse.Namespace, configured: Configured) -> int:
    planned = configured.plan(
        arguments.paths or [Path()],
        tuple(arguments.exclude),
        respect_gitignore=arguments.respect_gitignore,
    )
    if arguments.build:
        from tirx_lens.cli.check_build import build_checked, targets_of  # with all that builds

        targets = targets_of(planned, arguments, configured)
    fixing = _fixing(arguments)
    tasks = [Task(file, fixing) for file in planned]
    if not tasks:
        streams.say("there is no Python file to check here")
    with closing(Bar(len(tasks), quiet=arguments.quiet)) as bar:
        work = Work(partial(_check, SourceCache()), _lost, _size)
        outcomes = work_through(tasks, work, arguments.jobs, bar.advance)
    output = Output(arguments.output_format, arguments.statistics, arguments.quiet)
    if arguments.diff:
        show_failures(outcomes)
        show_diffs(outcomes, output, sys.stdout)
    else:
        outcomes = [_written(outcome) for outcome in outcomes]
        if arguments.build:
            outcomes = build_checked(outcomes, planned, targets, quiet=arguments.quiet)
        show_failures(outcomes)
        show(outcomes, output, sys.stdout)
    return _exit_code(outcomes, arguments)


def _check_input(arguments: argparse.Namespace, configured: Configured) -> int:
    """Check standard input. With `--fix` the text goes to standard output, the rest to error."""
    path = arguments.stdin_filename or STDIN
    options = configured.options(path)
    configured.refuse_problems()
    file = decode(path, streams.read_input())
    if isinstance(file, Unreadable):
        outcome = Outcome(path, failures=(file.reason,))
    elif is_excluded(path, tuple(arguments.exclude)):
        outcome = Outcome(path)
    else:
        outcome = check_text(path, file, options, _fixing(arguments))
    output = Output(arguments.output_format, arguments.statistics, arguments.quiet)
    show_failures([outcome])
    if arguments.diff:
        show_diffs([outcome], output, sys.stdout)
    elif arguments.fix:
        if not isinstance(file, Unreadable):
            mended = outcome.rewrite.after if outcome.rewrite is not None else file.data
            streams.write(sys.stdout, mended)
        show([outcome], output, sys.stderr)
    else:
        show([outcome], output, sys.stdout)
    return _exit_code([outcome], arguments)


def _check(cache: SourceCache, task: Task) -> Outcome:
    if isinstance(task.file, Unreadable):
        return Outcome(task.path, failures=(task.file.reason,))
    return check_file(task.path, task.file.options, task.fixing, cache)


def _lost(task: Task, reason: str) -> Outcome:
    return Outcome(task.path, failures=(f"could not be checked: {reason}",))


def _size(task: Task) -> int:
    """Return the bytes of the file. What makes it slow is in it, but is not known unread."""
    try:
        return task.path.stat().st_size
    except (OSError, ValueError):  # checking it will say what is the matter
        return 0


def _fixing(arguments: argparse.Namespace) -> Fixing:
    if not (arguments.fix or arguments.diff):
        return Fixing.NONE
    return Fixing.ALL if arguments.unsafe_fixes else Fixing.SAFE


def _written(outcome: Outcome) -> Outcome:
    """Write the change of a file, if there is one; one that cannot be written is a failure."""
    if outcome.rewrite is None:
        return outcome
    reason = rewrite(outcome.path, outcome.rewrite)
    if reason is None:
        return outcome
    return replace(outcome, failures=(*outcome.failures, f"not fixed: {reason}"), fixed=0)


def _exit_code(outcomes: list[Outcome], arguments: argparse.Namespace) -> int:
    if any(outcome.failures for outcome in outcomes):
        return FAILED
    if arguments.diff:
        found = any(outcome.rewrite is not None for outcome in outcomes)
    else:
        found = any(outcome.checked.findings for outcome in outcomes if outcome.checked)
    return FOUND if found and not arguments.exit_zero else CLEAN


def _objection(arguments: argparse.Namespace) -> str | None:
    """Return what is wrong with the options, if something is."""
    if arguments.jobs is not None and arguments.jobs < 1:
        return "--jobs must be at least 1"
    if arguments.statistics and arguments.output_format not in COUNTED:
        return f"--statistics goes with the formats {', '.join(COUNTED)}"
    if arguments.statistics and arguments.diff:
        return "--statistics and --diff do not go together"
    if not arguments.build and (arguments.target, arguments.interpreter) != (None, None):
        return "--target and --interpreter go with --build"
    if arguments.build and arguments.diff:
        return "--build and --diff do not go together"
    if arguments.build and (_names_input(arguments.paths) or arguments.stdin_filename is not None):
        return "--build is for files, not for standard input"
    if _names_input(arguments.paths) and len(arguments.paths) > 1:
        return "standard input, `-`, is checked alone"
    if arguments.stdin_filename is not None and not (
        arguments.paths == [] or _names_input(arguments.paths)
    ):
        return "--stdin-filename is about standard input, and files are named, too"
    return None


def _path(word: str) -> Path:
    return STDIN if word == "-" else Path(word)


def _names_input(paths: list[Path]) -> bool:
    return any(path is STDIN for path in paths)
