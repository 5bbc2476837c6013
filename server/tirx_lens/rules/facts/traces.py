"""What each group of threads does at a kernel's barriers, use by use, in a small run of the kernel.

One thread's program is followed alone, from the top to the end: which slot it waits at and for
which parity, where it arrives. Nothing is said of who comes first. Loops with known bounds run as
often as they say; a loop over the tiles of a scheduler runs `TILES` times, in every role; a loop
bounded by values of the host that the text does not tell runs a number of times that is the same
wherever the same values stand. What cannot be followed spoils the barriers it touches, no others.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import Expr, Id, parts_of
from tirx_lens.model.kernel import Block, Branch, Loop, Op, Operation
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import blocks_of
from tirx_lens.model.record import record
from tirx_lens.rules.facts.arrival_targets import ArrivalTargets
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.loop_rounds import LoopRounds
from tirx_lens.rules.facts.phases import phase_offset
from tirx_lens.rules.facts.registers import Registers, Shared
from tirx_lens.threads.condition import Unsure
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.kernel import Statement
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoff, Handoffs
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.condition import Condition
    from tirx_lens.threads.reach import Reached, ReachMap

_MOST_STEPS = 6_000  # in all groups together
_MOST_GROUPS = 48
_USES = (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE)


@dataclass(frozen=True, slots=True, eq=False)  # each is one: comparing sets of threads is dear
class Group:
    """Threads of one CTA that are at the same places of a kernel with the same ids."""

    threads: int
    cta: int

    @property
    def first(self) -> int:
        """The thread that is followed for all, by its number in the cluster."""
        return (self.threads & -self.threads).bit_length() - 1


@record(eq=False)
class Use:
    """One time that a group waits or arrives at a slot; `parity` is None for arrivals.

    `ctas` are those whose copy of the barrier is used.
    """

    group: Group
    reached: Reached
    slot: int
    parity: int | None
    ctas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Traces:
    """The uses of each barrier of which all are known, in the order of each group.

    `by_tiles` says that some stand in a loop over the tiles of a scheduler.
    """

    reach: ReachMap
    uses: dict[KernelObject, list[Use]]
    by_tiles: bool


def traces(view: KernelView) -> Traces | None:
    """Return the uses of the barriers of a kernel; None where it cannot be followed."""
    return view.once(_traces)


def _traces(view: KernelView) -> Traces | None:
    if view.reach is None or not view.reach.shape.cluster_known:
        return None
    found = handoffs(view)
    follower = _Follower(view, view.reach, found)
    groups = follower.groups()
    if groups is None:
        return None
    programs = [(group, follower.program(group)) for group in groups]
    if sum(_least(steps) for _, steps in programs) > _MOST_STEPS:
        return None
    for group, steps in programs:
        if not follower.follow(group, steps):
            return None
    uses = {
        handoff.barrier: follower.uses.get(handoff.barrier, [])
        for handoff in found.barriers
        if handoff.barrier not in follower.spoiled and not _is_hidden(handoff)
    }
    return Traces(view.reach, uses, follower.loops.scheduler is not None)


def _is_hidden(handoff: Handoff) -> bool:
    """Tell whether a barrier may be used where no `wait` or `arrive` of the wrapper stands."""
    copies = handoff.copies and handoff.barrier.kind is not ObjectKind.TMA_BARRIER
    return bool(copies or handoff.elsewhere or len(handoff.pointers) > len(handoff.copies))


@dataclass(slots=True)
class _Move:
    """A state is made or moved."""

    state: KernelObject
    operation: Operation


@dataclass(slots=True)
class _Visit:
    """A wait or an arrival; `made` takes what comes of it.

    `offset` turns the phases of its barrier, None where that is not known.
    """

    barrier: KernelObject
    reached: Reached
    slot: Expr | None
    phase: Expr | None
    waits: bool
    offset: int | None
    made: list[Use]


@dataclass(slots=True)
class _Choice:
    """A branch whose outcome depends on more than who comes."""

    branch: Branch
    then: _Steps
    orelse: _Steps


@dataclass(slots=True)
class _Rounds:
    """A loop; `counters` are the places of its variables."""

    values: range
    counters: tuple[int, ...]
    body: _Steps


@dataclass(slots=True)
class _Loss:
    """Operations of which it is not known whether they happen."""

    operations: tuple[Operation, ...]


_Steps: TypeAlias = "tuple[_Move | _Visit | _Choice | _Rounds | _Loss, ...]"
"""What a thread does, without what others do and what does not matter here."""


class _Follower:
    def __init__(self, view: KernelView, reach: ReachMap, found: Handoffs) -> None:
        self.uses: dict[KernelObject, list[Use]] = defaultdict(list)
        self.spoiled: set[KernelObject] = set()
        self._view = view
        self._reach = reach
        self._found = found
        self._at = reach.by_operation
        self._offsets = {h.barrier: phase_offset(h) for h in found.barriers}
        self._all: list[Operation] = []  # that matter here
        self._inside: dict[int, range] = {}  # where those of a block are among all
        self._matter: dict[int, tuple[Statement, ...]] = {}  # of a block: what is one, or has one
        self._steps: dict[int, _Move | _Visit | _Loss] = {}  # of each operation, for all groups
        self._outcomes: dict[int, Condition] = {}
        self.loops = LoopRounds(found)
        self._targets = ArrivalTargets(reach.shape.ctas)
        self._shared = Shared(reach)
        self._done = 0
        self._survey(view.kernel.body)

    def groups(self) -> list[Group] | None:
        """Part the threads by where they come, and by the ids that they bring there."""
        everyone = self._reach.shape
        parts = [everyone.cta(rank) for rank in range(everyone.ctas)]
        masks: set[int] = set()
        for operation in self._all:
            reached = self._at.get(id(operation))
            if reached is None:
                return None
            coming = reached.participants.typical
            masks.add(coming)
            for value in (*operation.arguments, *[value for _, value in operation.keywords]):
                for one in _ids_in(value):
                    masks.update(holders & coming for holders in self._shared.holders(one))
        for mask in masks:
            parts = [half for part in parts for half in (part & mask, part & ~mask) if half]
            if len(parts) > _MOST_GROUPS:
                return None
        size = everyone.threads
        return [Group(part, (part.bit_length() - 1) // size) for part in parts]

    def program(self, group: Group) -> _Steps:
        """Return what a thread of a group does."""
        return self._steps_of(self._view.kernel.body, group.first)

    def follow(self, group: Group, steps: _Steps) -> bool:
        """Follow one thread of a group to the end; False when that takes too long."""
        thread = Registers(self._shared, group.first, group.threads)
        self._run(steps, group, thread)
        return self._done <= _MOST_STEPS

    def _survey(self, block: Block) -> None:
        """Find the operations that matter here, and which statements have them."""
        found, start = self._all, len(self._all)
        matter: list[Statement] = []
        for statement in block.statements:
            before = len(found)
            if isinstance(statement, Operation):
                if statement.op in _USES or _state_of(statement) is not None:
                    found.append(statement)
            else:
                for inner in blocks_of(statement):
                    self._survey(inner)
            if len(found) > before:
                matter.append(statement)
        self._inside[id(block)] = range(start, len(found))
        self._matter[id(block)] = tuple(matter)

    def _relevant(self, block: Block) -> Sequence[Operation]:
        """Return the operations in a block that matter here."""
        places = self._inside[id(block)]
        return self._all[places.start : places.stop]

    def _steps_of(self, block: Block, number: int) -> _Steps:
        """Return what a thread does in a block."""
        steps: list[_Move | _Visit | _Choice | _Rounds | _Loss] = []
        for statement in self._matter[id(block)]:
            match statement:
                case Operation():
                    if self._comes(statement, 1 << number):
                        step = self._steps.get(id(statement))
                        if step is None:
                            step = self._steps[id(statement)] = self._step(statement)
                        steps.append(step)
                case Branch():
                    steps += self._branch(statement, number)
                case Loop():
                    body = self._steps_of(statement.body, number)
                    values = self.loops.values(statement) if body else None
                    counters = tuple(place.start for place in statement.variables)
                    if values is not None:
                        steps.append(_Rounds(values, counters, body))
                    elif body:
                        steps.append(_Loss(tuple(self._relevant(statement.body))))
                case _:
                    for inner in blocks_of(statement):
                        steps += self._steps_of(inner, number)
        return tuple(steps)

    def _step(self, operation: Operation) -> _Move | _Visit | _Loss:
        reached = self._at[id(operation)]
        state, barrier = _state_of(operation), operation.receiver
        if reached.participants.pick is Pick.SOME or not operation.complete:
            return _Loss((operation,))
        if state is not None:
            return _Move(state, operation)
        if barrier is None:
            return _Loss(())
        slot, phase = operation.argument(0, "stage"), operation.argument(1, "phase")
        waits, offset = operation.op is Op.BARRIER_WAIT, self._offsets.get(barrier)
        return _Visit(barrier, reached, slot, phase, waits, offset, self.uses[barrier])

    def _branch(self, branch: Branch, number: int) -> _Steps:
        taken = self._holds(branch, number)
        if taken is not None:
            return self._steps_of(branch.then if taken else branch.orelse, number)
        then = self._steps_of(branch.then, number)
        orelse = self._steps_of(branch.orelse, number)
        return (_Choice(branch, then, orelse),) if then or orelse else ()

    def _run(self, steps: _Steps, group: Group, thread: Registers) -> None:
        for step in steps:
            if isinstance(step, _Visit):
                self._done += 1
                thread.at = step.reached.operation
                made = self._use(step, group, thread)
                if made is None:
                    self.spoiled.add(step.barrier)
                else:
                    step.made.append(made)
            elif isinstance(step, _Move):
                self._done += 1
                thread.at = step.operation
                thread.move(step.state, step.operation)
            elif isinstance(step, _Rounds):
                for value in step.values:
                    if self._done > _MOST_STEPS:
                        return
                    for place in step.counters:
                        thread.counters[place] = value
                    self._run(step.body, group, thread)
            elif isinstance(step, _Loss):
                self._spoil(step.operations, thread)
            else:
                thread.at = None
                taken = thread.value(step.branch.condition)
                if taken is None:
                    branch = step.branch
                    self._spoil(self._relevant(branch.then), thread)
                    self._spoil(self._relevant(branch.orelse), thread)
                else:
                    self._run(step.then if taken else step.orelse, group, thread)

    def _holds(self, branch: Branch, number: int) -> bool | None:
        """Tell whether a thread passes a branch; None where that is not the same each time."""
        outcome = self._outcomes.get(id(branch))
        if outcome is None:
            outcome = self._outcomes[id(branch)] = self._reach.condition(branch.condition)
        bit = 1 << number
        if outcome.yes & bit:
            return True
        if outcome.no & bit:
            return False
        if outcome.unsure not in (Unsure.ELECTED, Unsure.NOT_ELECTED):
            return None
        # Who is elected comes to what stands inside, unless a guard there keeps it out.
        for side in (branch.then, branch.orelse):
            if any(self._comes(operation, bit) for operation in self._relevant(side)):
                return side is branch.then
        return not self._inside[id(branch.then)]

    def _comes(self, operation: Operation, bit: int) -> bool:
        return bool(self._at[id(operation)].participants.typical & bit)

    def _use(self, step: _Visit, group: Group, thread: Registers) -> Use | None:
        slot, offset = thread.value(step.slot), step.offset
        if slot is None or offset is None:
            return None
        if step.waits:
            parity = thread.value(step.phase)
            if parity is None or len(step.reached.operation.arguments) > 2:
                return None
            parity = (parity ^ offset) & 1
            return Use(group, step.reached, slot, parity, (group.cta,))
        ctas = self._targets.of(step.barrier, step.reached.operation, thread, (group.cta,))
        return Use(group, step.reached, slot, None, ctas) if ctas is not None else None

    def _spoil(self, operations: Sequence[Operation], thread: Registers) -> None:
        for operation in operations:
            state = _state_of(operation)
            if state is not None:
                thread.lose(state)
            elif operation.receiver is not None:
                self.spoiled.add(operation.receiver)


def _least(steps: _Steps) -> int:
    """Return how many steps are taken at least: it is not known what a choice leads to."""
    total = 0
    for step in steps:
        if isinstance(step, (_Visit, _Move)):
            total += 1
        elif isinstance(step, _Rounds):
            rounds = len(step.values[: _MOST_STEPS + 1])  # a range may have more than Python counts
            total += rounds * _least(step.body)
    return total


def _state_of(operation: Operation) -> KernelObject | None:
    """Return the pipeline state that an operation makes or moves."""
    state = operation.created or operation.receiver
    return state if state is not None and state.kind is ObjectKind.PIPELINE_STATE else None


def _ids_in(expr: Expr) -> list[Id]:
    if expr.weight == 1:  # as most are
        return [expr] if isinstance(expr, Id) else []
    return [one for part in parts_of(expr) for one in _ids_in(part)]
