"""Short words to show in the text: how many threads pass a guard, how many arrivals there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.explain.arriving import arrivals_at, arrivals_in_a_phase
from tirx_lens.explain.barriers import bytes_of_load, bytes_of_phase
from tirx_lens.explain.uses import Role, uses
from tirx_lens.explain.visits import visits
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.kernel import Branch
from tirx_lens.model.queries import statement_span
from tirx_lens.rules.facts.barriers import arrivals_of
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.explain.uses import Use
    from tirx_lens.explain.visits import Passage
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.shape import Shape

_ELSE = re.compile(rb"(?:^|\n)[ \t]*else[ \t]*:")
_COLON = re.compile(rb"[\s)]*(?:as\s[^:\n]*)?:")  # not behind all but the last item of a `with`


class HintKind(Enum):
    """What a hint is about."""

    PARTICIPANTS = "participants"
    ARRIVALS = "arrivals"


@dataclass(frozen=True, slots=True)
class Hint:
    """Words at a place: `128 threads` behind a guard; `said` are the same in full."""

    kind: HintKind
    at: int
    label: str
    said: str


def hints(view: KernelView, kinds: Iterable[HintKind]) -> tuple[Hint, ...]:
    """Return the hints of some kinds, in the order of the text. Those in other files are left out.

    A place in a function that is called more than once has one hint, with the words for each call.
    """
    wanted = set(kinds)
    found: list[Hint] = []
    if HintKind.PARTICIPANTS in wanted:
        found += _participants(view)
    if HintKind.ARRIVALS in wanted:
        found += _arrivals(view)
    return _joined(found)


def _joined(found: Iterable[Hint]) -> tuple[Hint, ...]:
    groups: dict[tuple[int, HintKind], list[Hint]] = {}
    for hint in found:
        groups.setdefault((hint.at, hint.kind), []).append(hint)
    return tuple(
        Hint(
            kind,
            at,
            " or ".join(dict.fromkeys(hint.label for hint in group)),
            "\n".join(dict.fromkeys(hint.said for hint in group)),
        )
        for (at, kind), group in sorted(
            groups.items(), key=lambda one: (one[0][0], one[0][1].value)
        )
    )


def _participants(view: KernelView) -> Iterator[Hint]:
    found = visits(view)
    for passage in found.passages if found is not None else ():
        if not passage.is_selective or not isinstance(passage.at, Branch) or found is None:
            continue
        at = _end_of_header(view.source, passage)
        label = _count(passage, found.shape)
        if at is not None and label:
            said = describe(passage.who, found.shape) if passage.who.possible else "no thread"
            yield Hint(HintKind.PARTICIPANTS, at, label, f"Comes here: {said}")


def _count(passage: Passage, shape: Shape) -> str:
    """Say how many threads come, of one CTA where it is the same in each; empty if not known."""
    if not passage.who.possible:
        return "no thread"
    said = re.search(r"\((\d+) of \d+ threads\)$", describe(passage.who, shape))
    if said is None:
        return ""
    return "1 thread" if said[1] == "1" else f"{said[1]} threads"


def _end_of_header(source: SourceText, passage: Passage) -> int | None:
    """Return the place behind the colon of an `if`, `elif` or `else`."""
    branch = passage.at
    if not isinstance(branch, Branch) or is_elsewhere(branch.span):
        return None
    if passage.taken:
        end = branch.condition_span.end
        colon = _COLON.match(source.data, end)
        return colon.end() if colon is not None else None
    if not branch.orelse.statements or not branch.then.statements:
        return None
    above = statement_span(branch.then.statements[-1])
    below = statement_span(branch.orelse.statements[0])
    if above is None or below is None or not above.end < below.start:
        return None
    colons = list(_ELSE.finditer(source.data, above.end, below.start))
    return colons[-1].end() if colons else None


def _arrivals(view: KernelView) -> Iterator[Hint]:
    if view.reach is None:
        return
    for use in uses(view).all:
        if is_elsewhere(use.operation.span):
            continue
        words = arrival_words(view, use)
        if words is not None:
            yield Hint(HintKind.ARRIVALS, use.operation.span.end, *words)


def arrival_words(view: KernelView, use: Use) -> tuple[str, str] | None:
    """Say what a place gives of what a phase needs, in short and in full; None if not known."""
    name = use.barrier.name
    count = arrivals_of(view.reach, use.barrier) if view.reach is not None else None
    if use.role is Role.ARRIVE and count is not None:
        given = arrivals_at(view, use)
        if given is not None:
            said = f"Gives {given} of the {count} arrivals that end a phase of {name}"
            return f"{given} of {count}", said
    if use.role is Role.INIT and count is not None:
        given = arrivals_in_a_phase(view, use.barrier)
        if given is not None:
            said = f"A phase of {name} gets {given} of the {count} arrivals that end it"
            return f"{given} of {count}", said
    if use.role is Role.LOAD:
        expected, size = bytes_of_phase(view, use.barrier), bytes_of_load(use)
        if expected is not None and size is not None:
            said = f"Brings {size} of the {expected} bytes that a phase of {name} waits for"
            return f"{size} of {expected} bytes", said
    return None
