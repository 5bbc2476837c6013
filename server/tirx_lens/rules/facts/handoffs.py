"""Everything that a kernel does with each of its barriers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Const,
    Expr,
    Variable,
    constant_int,
    parts_of,
)
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.rules.facts.nesting import Placed, placed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tirx_lens.rules.rule import KernelView

_WORDS_TAKEN = re.compile(rb"\.(?:buf|mbar)\b(?!\s*=)")
_METHODS = {Op.BARRIER_INIT: "inits", Op.BARRIER_WAIT: "waits", Op.BARRIER_ARRIVE: "arrivals"}


@dataclass(slots=True)
class Handoff:
    """The places that use one barrier, in program order.

    `copies` give it as `mbar=`; `pointers` are the `ptr_to` calls, those of copies among them;
    `remotes` make a view of it in another CTA; `elsewhere` hand it, a pointer to it or its pipeline
    to something that is no copy.
    """

    barrier: KernelObject
    pipeline: KernelObject | None = None
    made: Placed | None = None
    inits: list[Placed] = field(default_factory=list)
    waits: list[Placed] = field(default_factory=list)
    arrivals: list[Placed] = field(default_factory=list)
    copies: list[Placed] = field(default_factory=list)
    pointers: list[Placed] = field(default_factory=list)
    remotes: list[Placed] = field(default_factory=list)
    elsewhere: list[Placed] = field(default_factory=list)

    @property
    def depth(self) -> int | None:
        """The number of slots; None when the text does not say."""
        if self.pipeline is not None:
            return constant_int(self.pipeline.argument(1, "stages"))
        return constant_int(self.barrier.argument(1, "depth")) if self.barrier.class_name else None


@dataclass(frozen=True)
class Handoffs:
    """The barriers of a kernel.

    `is_open` says that something may use them where the model does not see it: a function whose
    body is not known, or their words taken out of the wrapper. `states` are the pipeline states, by
    their name and the place where they are made.
    """

    program: tuple[Placed, ...]
    barriers: tuple[Handoff, ...]
    is_open: bool
    states: Mapping[tuple[str, int], KernelObject]
    """The pipeline states, by name and place, where that is one."""
    makers: Mapping[KernelObject, Placed]
    """Where each object is made."""
    calls: Mapping[KernelObject, list[Placed]]
    """The calls of methods of each object, in program order."""
    users: Mapping[KernelObject, list[Placed]]
    """The operations that name each object, as whose method it is or in arguments, in order."""

    def state_of(self, variable: Variable) -> KernelObject | None:
        """Return the pipeline state whose stage or phase a variable is; None where it may be two.

        A `T.inline` function that makes a state makes one in each of its calls.
        """
        return self.states.get(state_key(variable))


def made_at(state: KernelObject) -> tuple[str, int]:
    """Return the name of a pipeline state and the place where it is made."""
    return state.name, state.span.start


def state_key(variable: Variable) -> tuple[str, int]:
    """Return the same of the state whose stage or phase a variable is."""
    return variable.name.rpartition(".")[0], variable.declared


def handoffs(view: KernelView) -> Handoffs:
    """Return the barriers of a kernel, followed through its operations."""
    return view.once(_handoffs)


def _handoffs(view: KernelView) -> Handoffs:
    program = placed(view.kernel.body)
    found: dict[KernelObject, Handoff] = {}
    pipelines: dict[tuple[str, int], Placed] = {}
    makers: dict[KernelObject, Placed] = {}
    calls: dict[KernelObject, list[Placed]] = {}
    users: dict[KernelObject, list[Placed]] = {}
    for place in program:
        made, receiver = place.operation.created, place.operation.receiver
        if made is not None:
            makers.setdefault(made, place)
            if made.kind is ObjectKind.PIPELINE:
                pipelines[made.name, made.span.start] = place
            if made.kind in BARRIERS and made not in found:
                found[made] = Handoff(made, made=place)
        if receiver is not None:
            calls.setdefault(receiver, []).append(place)
        for named in (receiver, *place.given) if receiver is not None else place.given:
            places = users.setdefault(named, [])
            if places and places[-1] is place:
                continue  # it names this twice
            places.append(place)
            if named.kind in BARRIERS:
                handoff = found.get(named)
                if handoff is None:
                    handoff = found[named] = Handoff(named)
                if handoff.made is None and not named.class_name:
                    handoff.made = pipelines.get((named.name.rpartition(".")[0], named.span.start))
                    handoff.pipeline = handoff.made.operation.created if handoff.made else None
                _note(handoff, place)
    _note_whole_pipelines(program, found)
    opaque = any(place.operation.op is Op.OPAQUE for place in program)
    taken = view.mentions(_WORDS_TAKEN)
    states: dict[tuple[str, int], KernelObject] = {}
    twice: set[tuple[str, int]] = set()  # in a function that is called from two places
    for made in makers:
        if made.kind is ObjectKind.PIPELINE_STATE:
            twice |= {made_at(made)} & states.keys()
            states.setdefault(made_at(made), made)
    states = {key: made for key, made in states.items() if key not in twice}
    barriers, is_open = tuple(found.values()), opaque or taken
    return Handoffs(tuple(program), barriers, is_open, states, makers, calls, users)


def _note(handoff: Handoff, place: Placed) -> None:
    operation = place.operation
    if operation.receiver is not handoff.barrier and operation.receiver != handoff.barrier:
        copies = operation.op in (Op.COPY_ASYNC, Op.COPY)
        (handoff.copies if copies else handoff.elsewhere).append(place)
    elif operation.op in _METHODS:
        uses: list[Placed] = getattr(handoff, _METHODS[operation.op])
        uses.append(place)
    elif operation.name == "ptr_to":
        handoff.pointers.append(place)
    elif operation.name == "remote_view":
        handoff.remotes.append(place)
    else:
        handoff.elsewhere.append(place)


def _note_whole_pipelines(program: list[Placed], found: dict[KernelObject, Handoff]) -> None:
    """Take a pipeline that is handed on as a whole for its barriers."""
    sides: dict[KernelObject, list[Handoff]] = {}
    for handoff in found.values():
        if handoff.pipeline is not None:
            sides.setdefault(handoff.pipeline, []).append(handoff)
    for place in program if sides else ():
        for target in place.given:
            for handoff in sides.get(target, ()):
                handoff.elsewhere.append(place)


def variables_in(expr: Expr) -> Iterator[Variable]:
    """Yield the variables that an expression reads."""
    pending = [expr]
    while pending:
        part = pending.pop()
        if isinstance(part, Variable):
            yield part
        elif not isinstance(part, Const):
            pending.extend(reversed(parts_of(part)))
