"""`tirx-lens check`: find mistakes in files, print them, and mend what can be mended."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.analysis import Selection
from tirx_lens.checking import FileOptions, Fixing, Outcome, check_file, check_text
from tirx_lens.cli import streams
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
from tirx_lens.files import Unreadable, decode, find_files, is_excluded
from tirx_lens.rewrite import rewrite
from tirx_lens.rules.registry import RULES

if TYPE_CHECKING:
    import argparse

CLEAN, FOUND, FAILED = 0, 1, 2
STDIN = Path("-")
"""Standard input. `./-` is an equal path and another thing: compare by identity."""

Task: TypeAlias = "tuple[Path, FileOptions] | Unreadable"


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
    rules = parser.add_argument_group("which rules")
    rules.add_argument(
        "--select", metavar="CODES", default="TX", help="only these rules: codes or prefixes"
    )
    rules.add_argument("--ignore", metavar="CODES", default="", help="not these rules")
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
        help="what to call standard input in what is printed (default: -)",
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
    if _names_input(arguments.paths) or arguments.stdin_filename is not None:
        return _check_input(arguments)
    return _check_files(arguments)


def options_for(arguments: argparse.Namespace) -> FileOptions:
    """Decide how a file is checked."""
    fixing = Fixing.NONE
    if arguments.fix or arguments.diff:
        fixing = Fixing.ALL if arguments.unsafe_fixes else Fixing.SAFE
    return FileOptions(Selection(_codes(arguments.select), _codes(arguments.ignore)), fixing)


def _check_files(arguments: argparse.Namespace) -> int:
    found = find_files(
        arguments.paths or [Path()],
        tuple(arguments.exclude),
        respect_gitignore=arguments.respect_gitignore,
    )
    tasks: list[Task] = [
        one if isinstance(one, Unreadable) else (one, options_for(arguments)) for one in found
    ]
    if not tasks:
        streams.say("there is no Python file to check here")
    with closing(Bar(len(tasks), quiet=arguments.quiet)) as bar:
        outcomes = work_through(tasks, Work(_check, _lost), arguments.jobs, bar.advance)
    output = Output(arguments.output_format, arguments.statistics, arguments.quiet)
    if arguments.diff:
        show_failures(outcomes)
        show_diffs(outcomes, output, sys.stdout)
    else:
        outcomes = [_written(outcome) for outcome in outcomes]
        show_failures(outcomes)
        show(outcomes, output, sys.stdout)
    return _exit_code(outcomes, arguments)


def _check_input(arguments: argparse.Namespace) -> int:
    """Check standard input. With `--fix` the text goes to standard output, the rest to error."""
    path = arguments.stdin_filename or STDIN
    file = decode(path, streams.read_input())
    if isinstance(file, Unreadable):
        outcome = Outcome(path, failures=(file.reason,))
    elif is_excluded(path, tuple(arguments.exclude)):
        outcome = Outcome(path)
    else:
        outcome = check_text(path, file, options_for(arguments))
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


def _check(task: Task) -> Outcome:
    if isinstance(task, Unreadable):
        return Outcome(task.path, failures=(task.reason,))
    return check_file(*task)


def _lost(task: Task, reason: str) -> Outcome:
    path = task.path if isinstance(task, Unreadable) else task[0]
    return Outcome(path, failures=(f"could not be checked: {reason}",))


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
    codes = (*_codes(arguments.select), *_codes(arguments.ignore))
    unknown = [code for code in codes if not any(rule.code.startswith(code) for rule in RULES)]
    if unknown:
        return f"no rule has a code that begins with {unknown[0]}"
    if arguments.jobs is not None and arguments.jobs < 1:
        return "--jobs must be at least 1"
    if arguments.statistics and arguments.output_format not in COUNTED:
        return f"--statistics goes with the formats {', '.join(COUNTED)}"
    if arguments.statistics and arguments.diff:
        return "--statistics and --diff do not go together"
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


def _codes(listed: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in listed.split(",") if code.strip())
