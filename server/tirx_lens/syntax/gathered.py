"""What reading a kernel adds up, in the order of reading, besides the statements themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tirx_lens.model.expr import Id
    from tirx_lens.model.kernel import Mention, Problem, WrittenCall
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span

MOST_STATEMENTS = 40_000  # after inlining; beyond it the kernel is cut short, with a Problem
MOST_EVENTS = 2_000  # rules compare them in pairs; real kernels stay below 400
MOST_NODES = 300_000  # expression nodes of one kernel after inlining; real ones stay below 60,000


class Mark(NamedTuple):
    """How much had been gathered at a moment, field by field."""

    places: int
    mentions: int
    calls: int
    unbound: int
    problems: int
    scope_ids: int
    objects: int
    barriers: int
    asked: int
    nodes: int
    events: int
    statements: int
    unrepeatable: int


@dataclass(slots=True)
class Gathered:
    """All of it for one kernel, or the part of a few statements.

    `places` are the spans that were made. `objects` count from 1; `barriers` are those inside
    pipelines, by the pipeline's number and the side, and `asked` are their uses. `nodes`,
    `statements` and `events` (operations that threads wait, copy or compute by) count what was
    read, functions at each of their calls. `unrepeatable` counts what depends on more than the
    text of its statement and what the words in it stand for, or changes more than is listed here.
    """

    places: list[Span] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    calls: list[WrittenCall] = field(default_factory=list)
    unbound: list[Span] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    scope_ids: list[Id] = field(default_factory=list)
    objects: list[KernelObject] = field(default_factory=list)
    barriers: dict[tuple[int, str], KernelObject] = field(default_factory=dict)
    asked: list[tuple[int, str]] = field(default_factory=list)
    nodes: int = 0
    events: int = 0
    statements: int = 0
    unrepeatable: int = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether so much has been read that the rest is left unread."""
        return self.nodes > MOST_NODES

    def mark(self) -> Mark:
        """Return how much there is now."""
        return Mark(
            len(self.places),
            len(self.mentions),
            len(self.calls),
            len(self.unbound),
            len(self.problems),
            len(self.scope_ids),
            len(self.objects),
            len(self.barriers),
            len(self.asked),
            self.nodes,
            self.events,
            self.statements,
            self.unrepeatable,
        )

    def since(self, mark: Mark) -> Gathered:
        """Return what came after a mark."""
        return Gathered(
            self.places[mark.places :],
            self.mentions[mark.mentions :],
            self.calls[mark.calls :],
            self.unbound[mark.unbound :],
            self.problems[mark.problems :],
            self.scope_ids[mark.scope_ids :],
            self.objects[mark.objects :],
            dict(islice(self.barriers.items(), mark.barriers, None)),
            self.asked[mark.asked :],
            self.nodes - mark.nodes,
            self.events - mark.events,
            self.statements - mark.statements,
            self.unrepeatable - mark.unrepeatable,
        )

    def has_room_for(self, part: Gathered) -> bool:
        """Tell whether no limit is met within a part, read here."""
        return (
            self.nodes + part.nodes <= MOST_NODES
            and self.events + part.events <= MOST_EVENTS
            and self.statements + part.statements <= MOST_STATEMENTS
        )

    def add(self, part: Gathered) -> None:
        """Gather what a part holds."""
        self.places += part.places
        self.mentions += part.mentions
        self.calls += part.calls
        self.unbound += part.unbound
        self.problems += part.problems
        self.scope_ids += part.scope_ids
        self.objects += part.objects
        self.barriers.update(part.barriers)
        self.asked += part.asked
        self.nodes += part.nodes
        self.events += part.events
        self.statements += part.statements
        self.unrepeatable += part.unrepeatable
