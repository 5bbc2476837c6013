"""What a run of the handoffs shows of a mutant, and of which mutants it must show something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from unittest.mock import patch

from tests.protocol.endings import End, ending_in
from tests.protocol.replay import replay

from tirx_lens import analysis
from tirx_lens.analysis import Analysis, analyse
from tirx_lens.protocol.simulated import simulated
from tirx_lens.rules.rule import KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText

    from .verdict import Verdict

HANDOFF_RULES = {
    "TX101": "a barrier that nobody initialises",
    "TX102": "a meeting of the CTA to which not all come",
    "TX103": "a named barrier to which too few or too many come",
    "TX104": "arrivals that end no phase, or end one too early",
    "TX105": "roles that stop at different tiles",
    "TX106": "roles that go round differently often",
    "TX107": "a first wait that passes, or never does",
    "TX108": "waits that wait for each other",
    "TX109": "a barrier that nobody arrives at or initialises",
    "TX110": "bytes that never come, or come too early",
    "TX111": "a slot past the end, which nobody initialises",
    "TX112": "a barrier that starts anew while it is used",
    "TX113": "a state that stays where it is",
    "TX115": "a phase that no bytes are armed for",
    "TX203": "TMEM that is freed while it is used",
    "TX301": "commits by lanes that issued no MMA",
    "TX302": "writes that no proxy fence shows to an engine",
    "TX303": "a store that nobody waits for",
    "TX305": "registers that are used before they are loaded",
    "TX306": "barriers that are used before they are initialised",
    "TX308": "copies that every lane issues",
    "TX309": "storage that is used too early, or overwritten too early",
    "TX401": "a copy that tells no barrier",
}
"""Rules whose mistakes a run shows, and as what.

The others are about where storage lies and how much there is (TX201, TX204-TX208), who executes
an instruction of whole warps (TX202), the order of one thread's own instructions (TX304), scalars
that threads pass to each other (TX209), sums and not their time (TX307), or the text.
"""


def is_matter_of_handoffs(verdict: Verdict) -> bool:
    """Tell whether a run ought to show a mutant: one of the rules that might say so is of these."""
    return any(code in HANDOFF_RULES for code in verdict.codes)


@dataclass(frozen=True)
class Run:
    """How the handoffs of a text end, of several kernels the worst; and what is illegal in it.

    `illegal` is where the second reading of the rules (`tests.protocol.replay`) does not agree with
    a history that stops or has a race.
    """

    end: End
    illegal: str = ""


def checked_and_run(source: SourceText) -> tuple[Analysis, Run]:
    """Check a text and run its kernels, each followed once for both."""
    ends: set[End] = set()
    illegal: list[str] = []

    class Runs(Rule):
        """Asked as the rules are, of the same view: what they run is not run again."""

        code, name = "TX000", "runs"

        def check(self, view: KernelView) -> Iterator[Finding]:
            end = ending_in(view).end
            ends.add(end)
            if end.is_bad:
                illegal.extend(_illegal(view))
            yield from ()

    with patch.object(analysis, "RULES", (*analysis.RULES, Runs)):
        checked = analyse(source)
    end = next((end for end in _WORST_FIRST if end in ends), End.UNFOLLOWED)
    return checked, Run(end, "; ".join(illegal))


def _illegal(view: KernelView) -> Iterator[str]:
    history = simulated(view).history
    assert history is not None
    try:
        replay(history)
    except AssertionError as error:
        yield str(error) or "illegal"


_WORST_FIRST = (End.HANG, End.RACE, End.UNFOLLOWED, End.UNREAD, End.WELL)
