"""What `tirx-lens check` prints, in each of its formats."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens import __version__
from tirx_lens.cli import streams
from tirx_lens.report.colour import Palette
from tirx_lens.report.concise import concise, summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

    from tirx_lens.checking import Outcome
    from tirx_lens.report.checked import CheckedFile

FORMATS = ("concise", "full", "json", "sarif", "github")
MACHINE = ("json", "sarif")
COUNTED = ("concise", "full", "json")
"""The formats that `--statistics` goes with."""


@dataclass(frozen=True, slots=True)
class Output:
    """How findings are shown: a format, or counts in it; with `quiet` nothing besides."""

    format: str = "concise"
    statistics: bool = False
    quiet: bool = False


def show(outcomes: Sequence[Outcome], output: Output, stream: TextIO | None) -> None:
    """Write the findings of all files to a stream."""
    checked = [outcome.checked for outcome in outcomes if outcome.checked is not None]
    streams.write(
        stream, "".join(f"{line}\n" for line in _lines(checked, outcomes, output, stream))
    )


def show_failures(outcomes: Sequence[Outcome]) -> None:
    """Write what went wrong with the checking itself, or was left out, to standard error."""
    from tirx_lens.report.paths import shown_path

    for outcome in outcomes:
        for said in (*outcome.failures, *outcome.remarks):
            streams.say(f"{shown_path(outcome.path)}: {said}")


def show_diffs(outcomes: Sequence[Outcome], output: Output, stream: TextIO | None) -> None:
    """Write what would change to a stream, and how much that is to standard error."""
    from tirx_lens.report.diff import diff

    palette = Palette(streams.is_coloured(stream))
    for outcome in outcomes:
        if outcome.rewrite is not None:
            change = outcome.rewrite
            streams.write(stream, diff(outcome.path, change.before, change.after, palette))
    if not output.quiet:
        streams.say(f"would fix {_problems(sum(outcome.fixed for outcome in outcomes))}")


def _lines(
    checked: list[CheckedFile],
    outcomes: Sequence[Outcome],
    output: Output,
    stream: TextIO | None,
) -> Iterator[str]:
    if output.statistics:
        from tirx_lens.report.statistics import statistics, statistics_json

        if output.format == "json":
            yield statistics_json(checked)
            return
        yield from statistics(checked)
    elif output.format == "json":
        from tirx_lens.report.json import as_json

        yield as_json(checked)
    elif output.format == "sarif":
        from tirx_lens.report.sarif import as_sarif

        failures = [(outcome.path, text) for outcome in outcomes for text in outcome.failures]
        yield as_sarif(checked, failures, Path.cwd(), __version__)
    elif output.format == "github":
        from tirx_lens.report.github import github

        workspace = os.environ.get("GITHUB_WORKSPACE")
        yield from github(checked, Path.cwd(), Path(workspace) if workspace else None)
    elif output.format == "full":
        from tirx_lens.report.full import full

        yield from full(checked, Palette(streams.is_coloured(stream)))
    else:
        yield from concise(checked)
    if output.quiet or output.format in ("json", "sarif", "github"):
        return
    fixed = sum(outcome.fixed for outcome in outcomes)
    if fixed:
        yield f"Fixed {_problems(fixed)}."
    yield summary(checked)


def _problems(number: int) -> str:
    return f"{number} {'problem' if number == 1 else 'problems'}"
