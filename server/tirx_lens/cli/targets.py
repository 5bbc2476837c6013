"""`tirx-lens targets`: list where kernels can be built, and confirm what a project brings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.cli.placing import Places, can_ask, says_yes, show_project
from tirx_lens.compile.targets import LauncherKind, Origin
from tirx_lens.report.paths import shown_text

if TYPE_CHECKING:
    import argparse

    from tirx_lens.cli.placing import Known
    from tirx_lens.compile.targets import Target

DONE, REFUSED, FAILED = 0, 1, 2

_ORIGINS = {
    Origin.BUILT_IN: "always there",
    Origin.SETTINGS: "yours",
    Origin.PROJECT: "of the project",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens targets`."""
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=Path,
        default=Path(),
        help="a file or folder of the project (default: the current folder)",
    )
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="show in full what the project brings, and let it be used from now on, until it "
        "changes; asks on a terminal, and elsewhere takes the option for a yes",
    )
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """List or confirm; return the exit code: 1 where the answer was no, 2 for misuse."""
    try:
        configured = Configured.of_source(arguments)
        places = Places(configured)
        known = places.known(arguments.path)
        configured.refuse_problems()
        if arguments.confirm:
            return _confirm(places, known)
    except MisuseError as error:
        refuse(error)
        return FAILED
    streams.prepare(utf8=False)
    rows = [_row(places, known, target) for target in known.targets.targets]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        streams.write(sys.stdout, "  ".join((*padded, row[3])).rstrip() + "\n")
    if not all(places.may_use(known, target) for target in known.targets.targets):
        streams.say("`tirx-lens targets --confirm` shows the project's targets and confirms them")
    return DONE


def _confirm(places: Places, known: Known) -> int:
    if not known.targets.of_project:
        raise MisuseError("tirx-lens: the project brings no targets: there is nothing to confirm")
    show_project(known)
    if can_ask() and not says_yes():
        streams.say("the targets are not confirmed")
        return REFUSED
    places.confirm(known)
    names = ", ".join(target.name for target in known.targets.of_project)
    streams.say(f"confirmed: {names}")
    return DONE


def _row(places: Places, known: Known, target: Target) -> tuple[str, str, str, str]:
    may = "" if places.may_use(known, target) else "not confirmed"
    if not may and target.origin is Origin.PROJECT:
        may = "confirmed"
    return target.name, _ORIGINS[target.origin], may, summary(target)


def summary(target: Target) -> str:
    """Say in a few words how a worker comes to run at a target."""
    words = {
        LauncherKind.LOCAL: target.python,
        LauncherKind.SSH: ("ssh", *target.ssh_args, target.host or "", *target.python),
        LauncherKind.COMMAND: (*target.argv, *target.python),
    }[target.launcher]
    return shown_text(" ".join(words))
