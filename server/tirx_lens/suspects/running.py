"""How a kernel's handoffs end when they are run in small, as suspects of a stop or of a race."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.protocol.simulated import is_bad, simulated
from tirx_lens.protocol.sizes import sizes
from tirx_lens.protocol.worksheet.cells import in_order
from tirx_lens.suspects import topics
from tirx_lens.suspects.suspect import Case, Standing, Suspect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.history import History
    from tirx_lens.protocol.simulated import Simulated
    from tirx_lens.protocol.worksheet.cells import Said


def odd_unless_run(case: Case) -> Standing:
    """Return how what is unusual stands: the handoffs, run to a good end, speak for it."""
    return Standing.LOOK if simulated(case.view).ends_well else Standing.ODD


def good_if_run(case: Case) -> Standing:
    """Return how a handoff that is there stands: only a run shows its slots and phases right."""
    return Standing.GOOD if simulated(case.view).ends_well else Standing.LOOK


def stops(case: Case) -> Iterator[Suspect]:
    """Yield whether runs come to their end."""
    yield from _runs(case, lambda history: bool(history.blocked))


def races(case: Case) -> Iterator[Suspect]:
    """Yield whether runs have accesses that nothing orders."""
    yield from _runs(case, lambda history: not history.blocked)


def _runs(case: Case, is_about: Callable[[History], bool]) -> Iterator[Suspect]:
    """Yield bad runs that are about the symptom, and good ones."""
    sheet = case.sheet
    if sheet.unfollowed is not None:
        fact = f"the handoffs could not be run: {sheet.unfollowed.text}"
        yield Suspect(Standing.OPEN, topics.RUNS, fact, sheet.unfollowed.places)
    if not sheet.runs:
        return
    ran = [simulated(case.view), *(simulated(size.view) for size in sizes(case.view))]
    for said, one in zip(sheet.runs, ran, strict=False):
        suspect = _suspect(case, said, one)
        if suspect is not None and (
            suspect.standing is Standing.GOOD or one.history is None or is_about(one.history)
        ):
            yield suspect


def _suspect(case: Case, said: Said, ran: Simulated) -> Suspect | None:
    text = said.text.removesuffix(".")
    if ran.history is None:
        return None
    if not is_bad(ran.history):
        return Suspect(Standing.GOOD, topics.RUNS, text, (case.sheet.place,))
    return Suspect(Standing.ODD, topics.RUNS, text, _places(said, ran.history))


def _places(said: Said, history: History) -> tuple[Span, ...]:
    """Return where a run stops, or the two sides of its race."""
    stopped = (blocked.step.at for blocked in history.blocked)
    raced = (
        history.events[number].step.at
        for race in history.races[:1]
        for number in (race.first, race.second)
        if number is not None
    )
    return in_order((*said.places, *stopped, *raced))
