"""How `tirx-lens doctor` writes what it found out: for people, and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tirx_lens.cli.targets import summary
from tirx_lens.compile.host_facts import facts_of
from tirx_lens.compile.result import Severity
from tirx_lens.model import finding as model
from tirx_lens.report.paths import shown_text
from tirx_lens.worker.codec import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.compile.diagnosis import HostProblem
    from tirx_lens.compile.examining import Examined
    from tirx_lens.report.colour import Palette

_SEVERITIES = {
    Severity.ERROR: model.Severity.ERROR,
    Severity.WARNING: model.Severity.WARNING,
    Severity.NOTE: model.Severity.INFORMATION,
}


def as_lines(examined: Iterable[Examined], palette: Palette) -> Iterator[str]:
    """Yield for each target a line that says how it is, its facts, and its problems."""
    for number, one in enumerate(examined):
        if number:
            yield ""
        word = "good" if one.is_good else "not good" if one.report is not None else "no answer"
        head = f"{one.target.name}: {word}"
        yield f"{palette.strong(head)}  ({summary(one.target)})"
        for name, value in facts_of(one):
            yield f"  {name:<8} {shown_text(value)}"
        for problem in one.problems:
            yield f"  {_word(problem, palette)} {shown_text(problem.message)}{_code(problem)}"


def as_json(examined: Iterable[Examined]) -> str:
    """Write all that is known of each target."""
    targets = [_target_json(one) for one in examined]
    return json.dumps({"targets": targets}, indent=2, ensure_ascii=False) + "\n"


def _word(problem: HostProblem, palette: Palette) -> str:
    return palette.severity(_SEVERITIES[problem.severity], f"{problem.severity.value}:")


def _code(problem: HostProblem) -> str:
    return f" ({problem.code})" if problem.code else ""


def _target_json(one: Examined) -> dict[str, Any]:
    return {
        "name": one.target.name,
        "launcher": one.target.launcher.value,
        "good": one.is_good,
        "seconds": round(one.seconds, 3),
        "clock_ahead": round(one.clock_ahead, 3) if one.report is not None else None,
        "report": encode(one.report) if one.report is not None else None,
        "problems": [
            {"severity": item.severity.value, "message": item.message, "code": item.code}
            for item in one.problems
        ],
    }
