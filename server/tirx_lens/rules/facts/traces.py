"""What each group of threads does at a kernel's barriers, use by use, in a small run of the kernel.

One thread's program is followed alone, from the top to the end: which slot it waits at and for
which parity, where it arrives. Nothing is said of who comes first. Loops with known bounds run as
often as they say; a loop over the tiles of a scheduler runs `TILES` times, in every role; a loop
bounded by values of the host that the text does not tell runs a number of times that is the same
wherever the same values stand. What cannot be followed spoils the barriers it touches, no others.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tirx_lens.model.expr import (
    Apply,
    Const,
    Expr,
    Id,
    Operator,
    Select,
    Symbol,
    Variable,
    constant_int,
    is_host,
)
from tirx_lens.model.kernel import Block, Branch, Loop, LoopKind, Op, Operation
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import blocks_of
from tirx_lens.rules.facts.first_round import start_of
from tirx_lens.rules.facts.handoffs import handoffs, made_at, objects_in, parts_of, state_key
from tirx_lens.rules.facts.nesting import turns
from tirx_lens.rules.facts.phases import phase_offset
from tirx_lens.rules.facts.totals import length_of
from tirx_lens.threads.condition import Unsure
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Statement
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.handoffs import Handoff, Handoffs
    from tirx_lens.rules.facts.totals import Polynomial
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.condition import Condition
    from tirx_lens.threads.reach import Reached, ReachMap

TILES = 4  # of one CTA: enough for phases to come round; even, as an author may count on
_UNKNOWN_TURNS = 48  # an even number of rounds through rings of 2, 3, 4, 6, 8 and 12 slots
_MOST_STEPS = 6_000  # in all groups together
_MOST_GROUPS = 48
_MOST_VALUES = 16  # of an id by which threads are parted
_USES = (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE)


@dataclass(frozen=True, slots=True, eq=False)  # each is one: comparing sets of threads is dear
class Group:
    """Threads of one CTA that are at the same places of a kernel with the same ids."""

    threads: int
    cta: int


class Use(NamedTuple):
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
    for group in groups:
        if not follower.follow(group):
            return None
    uses = {
        handoff.barrier: follower.uses.get(handoff.barrier, [])
        for handoff in found.barriers
        if handoff.barrier not in follower.spoiled and not _is_hidden(handoff)
    }
    return Traces(view.reach, uses, follower.scheduler is not None)


def _is_hidden(handoff: Handoff) -> bool:
    """Tell whether a barrier may be used where no `wait` or `arrive` of the wrapper stands."""
    copies = handoff.copies and handoff.barrier.kind is not ObjectKind.TMA_BARRIER
    return bool(copies or handoff.elsewhere or len(handoff.pointers) > len(handoff.copies))


@dataclass(slots=True)
class _State:
    depth: int | None
    stage: int | None
    phase: int | None


@dataclass(slots=True)
class _Thread:
    """The registers of one thread: scope ids, loop variables by their place, pipeline states."""

    group: Group
    number: int
    own: tuple[int, ...]
    at: Operation | None = None
    ids: dict[tuple[int, int], int | None] = field(default_factory=dict)
    counters: dict[int, int] = field(default_factory=dict)
    states: dict[tuple[str, int], _State] = field(default_factory=dict)


@dataclass(slots=True)
class _Move:
    """A state is made or moved."""

    state: KernelObject
    operation: Operation


@dataclass(slots=True)
class _Visit:
    """A wait or an arrival."""

    barrier: KernelObject
    reached: Reached
    slot: Expr | None
    phase: Expr | None
    waits: bool


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
        self._at = {id(reached.operation): reached for reached in reach.reached}
        self._remote = {h.barrier for h in found.barriers if h.remotes}
        self._offsets = {h.barrier: phase_offset(h) for h in found.barriers}
        self._inside: dict[int, tuple[Operation, ...]] = {}
        self._matter: dict[int, tuple[Statement, ...]] = {}
        self._variables: dict[int, tuple[str, int]] = {}
        self._outcomes: dict[int, Condition] = {}
        self._aims: dict[int, tuple[Expr, Expr] | None] = {}
        self._turns: dict[tuple[Expr, ...], int] = {}
        self.scheduler: KernelObject | None = None
        depths = {h.depth for h in found.barriers}
        depths |= {
            constant_int(made.argument(0, "depth"))
            for made in found.makers
            if made.kind is ObjectKind.PIPELINE_STATE
        }
        self._depths = {depth for depth in depths if depth}
        self._ids: set[tuple[int, Id]] = set()  # by the operation that is given it
        self._done = 0

    def groups(self) -> list[Group] | None:
        """Part the threads by where they come, and by the ids that they bring there."""
        everyone = self._reach.shape
        parts = [everyone.cta(rank) for rank in range(everyone.ctas)]
        masks: set[int] = set()
        for operation in self._relevant(self._view.kernel.body):
            reached = self._at.get(id(operation))
            if reached is None:
                return None
            coming = reached.participants.typical
            masks.add(coming)
            given = (*operation.arguments, *(value for _, value in operation.keywords))
            ids = [one for value in given for one in _ids_in(value)]
            for one in (one for one in ids if _extent(one) <= _MOST_VALUES):
                self._ids.add((id(operation), one))
                for value in range(_extent(one)):
                    outcome = self._reach.condition(Apply(Operator.EQUAL, (one, Const(value))))
                    masks.add(outcome.yes & coming)
        for mask in masks:
            parts = [half for part in parts for half in (part & mask, part & ~mask) if half]
            if len(parts) > _MOST_GROUPS:
                return None
        size = everyone.threads
        return [Group(part, (part.bit_length() - 1) // size) for part in parts]

    def follow(self, group: Group) -> bool:
        """Follow one thread of a group to the end; False when that takes too long."""
        number = (group.threads & -group.threads).bit_length() - 1
        thread = _Thread(group, number, (group.cta,))
        self._run(self._steps_of(self._view.kernel.body, thread), thread)
        return self._done <= _MOST_STEPS

    def _relevant(self, block: Block) -> tuple[Operation, ...]:
        """Return the operations in a block that matter here."""
        known = self._inside.get(id(block))
        if known is None:
            known = self._inside[id(block)] = tuple(self._relevant_in(block))
        return known

    def _relevant_in(self, block: Block) -> Iterator[Operation]:
        for statement in block.statements:
            if isinstance(statement, Operation):
                if statement.op in _USES or _state_of(statement) is not None:
                    yield statement
            else:
                for inner in blocks_of(statement):
                    yield from self._relevant(inner)

    def _steps_of(self, block: Block, thread: _Thread) -> _Steps:
        """Return what a thread does in a block."""
        steps: list[_Move | _Visit | _Choice | _Rounds | _Loss] = []
        for statement in self._statements(block):
            match statement:
                case Operation():
                    if self._comes(statement, 1 << thread.number):
                        steps.append(self._step(statement))
                case Branch():
                    steps += self._branch(statement, thread)
                case Loop():
                    body = self._steps_of(statement.body, thread)
                    values = self._values(statement) if body else None
                    counters = tuple(place.start for place in statement.variables)
                    if values is not None:
                        steps.append(_Rounds(values, counters, body))
                    elif body:
                        steps.append(_Loss(self._relevant(statement.body)))
                case _:
                    for inner in blocks_of(statement):
                        steps += self._steps_of(inner, thread)
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
        return _Visit(barrier, reached, slot, phase, operation.op is Op.BARRIER_WAIT)

    def _branch(self, branch: Branch, thread: _Thread) -> _Steps:
        taken = self._holds(branch, thread)
        if taken is not None:
            return self._steps_of(branch.then if taken else branch.orelse, thread)
        then = self._steps_of(branch.then, thread)
        orelse = self._steps_of(branch.orelse, thread)
        return (_Choice(branch, then, orelse),) if then or orelse else ()

    def _run(self, steps: _Steps, thread: _Thread) -> None:
        for step in steps:
            if isinstance(step, _Visit):
                self._done += 1
                thread.at = step.reached.operation
                made = self._use(step, thread)
                if made is None:
                    self.spoiled.add(step.barrier)
                else:
                    self.uses[step.barrier].append(made)
            elif isinstance(step, _Move):
                self._done += 1
                thread.at = step.operation
                self._move(step.state, step.operation, thread)
            elif isinstance(step, _Rounds):
                for value in step.values:
                    if self._done > _MOST_STEPS:
                        return
                    for place in step.counters:
                        thread.counters[place] = value
                    self._run(step.body, thread)
            elif isinstance(step, _Loss):
                self._spoil(step.operations, thread)
            else:
                thread.at = None
                taken = self._value(step.branch.condition, thread)
                if taken is None:
                    branch = step.branch
                    self._spoil(self._relevant(branch.then), thread)
                    self._spoil(self._relevant(branch.orelse), thread)
                else:
                    self._run(step.then if taken else step.orelse, thread)

    def _statements(self, block: Block) -> tuple[Statement, ...]:
        """Return the statements of a block that are, or hold, operations that matter here."""
        known = self._matter.get(id(block))
        if known is None:
            here = set(map(id, self._relevant(block)))
            known = self._matter[id(block)] = tuple(
                statement
                for statement in block.statements
                if id(statement) in here or any(map(self._relevant, blocks_of(statement)))
            )
        return known

    def _holds(self, branch: Branch, thread: _Thread) -> bool | None:
        """Tell whether a thread passes a branch; None where that is not the same each time."""
        outcome = self._outcomes.get(id(branch))
        if outcome is None:
            outcome = self._outcomes[id(branch)] = self._reach.condition(branch.condition)
        bit = 1 << thread.number
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
        return not self._relevant(branch.then)

    def _comes(self, operation: Operation, bit: int) -> bool:
        return bool(self._at[id(operation)].participants.typical & bit)

    def _values(self, loop: Loop) -> range | None:
        if loop.kind is LoopKind.WHILE:
            schedulers = [o for o in objects_in(loop.control) if o.kind is ObjectKind.SCHEDULER]
            if len(schedulers) != 1 or not self._is_plain(schedulers[0]):
                return None
            return range(TILES)
        known = turns(loop)
        if known is not None:
            return known
        length = length_of(loop.control)
        number = self._number(length) if length is not None else None
        first = start_of(loop)
        return range(first, first + number) if number is not None and first is not None else None

    def _is_plain(self, scheduler: KernelObject) -> bool:
        """Tell whether all walks are over one scheduler, each by single steps of `next_tile`."""
        if self.scheduler is None:
            self.scheduler = scheduler
        calls = [call.operation for call in self._found.calls.get(scheduler, ())]
        inits = [call for call in calls if call.name == "init"]
        steps = [call for call in calls if call.op is Op.NEXT_TILE]
        plain = len(inits) <= 1 and all(step.name == "next_tile" for step in steps)
        return plain and scheduler == self.scheduler

    def _number(self, length: Polynomial) -> int | None:
        """Return how often a loop runs whose bound is the host's."""
        total = 0
        for values, factor in length.items():
            product = factor
            for value in values:
                turns_of = self._turns_of(value)
                if turns_of is None:
                    return None
                product *= turns_of
            total += product
        return total if total >= 0 else None

    def _turns_of(self, value: Expr) -> int | None:
        key = (value,)
        if key not in self._turns:
            mine = set(_symbols_in(value))
            if not is_host(value) or any(mine & set(_symbols_in(e)) for (e,) in self._turns):
                return None  # two values that depend on each other
            if any(_UNKNOWN_TURNS % (2 * depth) for depth in self._depths):
                return None  # it may be meant for whole rounds of the ring
            self._turns[key] = _UNKNOWN_TURNS
        return self._turns[key]

    def _move(self, state: KernelObject, operation: Operation, thread: _Thread) -> None:
        if operation.created is not None:
            start = state.argument(1, "phase")
            phase = self._value(start, thread) if start is not None else None
            depth = constant_int(state.argument(0, "depth"))
            stage = 0 if phase is not None else None
            thread.states[made_at(state)] = _State(depth, stage, phase)
            return
        held = thread.states.get(made_at(state))
        if held is None:
            return
        if operation.op is Op.STATE_ADVANCE:
            if held.depth is None or held.stage is None or held.phase is None:
                held.stage = held.phase = None
                return
            held.stage += 1
            if held.stage >= held.depth:
                held.stage, held.phase = 0, held.phase ^ 1
        elif operation.name == "init":
            given = operation.argument(0, "phase")
            held.phase = self._value(given, thread) if given is not None else None
            held.stage = 0
        else:
            held.stage = held.phase = None

    def _use(self, step: _Visit, thread: _Thread) -> Use | None:
        slot, offset = self._value(step.slot, thread), self._offsets.get(step.barrier)
        if slot is None or offset is None:
            return None
        if step.waits:
            parity = self._value(step.phase, thread)
            if parity is None or len(step.reached.operation.arguments) > 2:
                return None
            parity = (parity ^ offset) & 1
            return Use(thread.group, step.reached, slot, parity, thread.own)
        ctas = self._targets(step.barrier, step.reached.operation, thread)
        return Use(thread.group, step.reached, slot, None, ctas) if ctas is not None else None

    def _targets(
        self, barrier: KernelObject, operation: Operation, thread: _Thread
    ) -> tuple[int, ...] | None:
        """Return the CTAs at whose copy of the barrier an arrival counts."""
        if id(operation) not in self._aims:
            self._aims[id(operation)] = self._aim(barrier, operation)
        aim, ctas = self._aims[id(operation)], self._reach.shape.ctas
        if aim is None:
            return None
        far, mask = aim
        if far != _NONE:
            rank = self._value(far, thread)
            return (rank,) if rank is not None and 0 <= rank < ctas else None
        if mask == _NONE:
            return thread.own
        bits = self._value(mask, thread)
        if bits is None or not 0 < bits < 1 << ctas:
            return None
        if bits.bit_count() == 1:
            return thread.own  # TVM takes the unicast form, to the CTA's own barrier
        return tuple(rank for rank in range(ctas) if bits >> rank & 1)

    def _aim(self, barrier: KernelObject, operation: Operation) -> tuple[Expr, Expr] | None:
        """Return the `remote` and the `cta_mask` of an arrival that is plain in all else."""
        names = _OPERANDS[barrier.kind]
        given = dict(zip(names, operation.arguments, strict=False)) | dict(operation.keywords)
        if len(operation.arguments) > len(names) or not given.keys() <= set(names):
            return None
        if any(given.get(name, _NONE) != _NONE for name in ("pred", "count")):
            return None
        if barrier in self._remote and not self._view.source.slice(operation.span).startswith(
            f"{barrier.name}."
        ):
            return None  # of a view in another CTA, perhaps
        far, mask = given.get("remote", _NONE), given.get("cta_mask", _NONE)
        if self._reach.shape.ctas == 1 and (far, mask) != (_NONE, _NONE):
            return None  # of a cluster that the text does not speak of
        return far, mask

    def _spoil(self, operations: tuple[Operation, ...], thread: _Thread) -> None:
        for operation in operations:
            state = _state_of(operation)
            if state is not None:
                depth = constant_int(state.argument(0, "depth"))
                thread.states[made_at(state)] = _State(depth, None, None)
            elif operation.receiver is not None:
                self.spoiled.add(operation.receiver)

    def _value(self, expr: Expr | None, thread: _Thread) -> int | None:
        """Return what an expression is for a thread at this moment."""
        match expr:
            case Const(value=value):
                return int(value) if isinstance(value, int) else None
            case Variable():
                if expr.declared in thread.counters:
                    return thread.counters[expr.declared]
                if id(expr) not in self._variables:
                    self._variables[id(expr)] = state_key(expr)
                held = thread.states.get(self._variables[id(expr)])
                if held is None:
                    return None
                return held.phase if expr.name.endswith(".phase") else held.stage
            case Id():
                key = (id(thread.at), id(expr))
                if key not in thread.ids:
                    thread.ids[key] = self._id(expr, thread)
                return thread.ids[key]
            case Select(condition=condition, then=then, otherwise=otherwise):
                chosen = self._value(condition, thread)
                if chosen is None:
                    return None
                return self._value(then if chosen else otherwise, thread)
            case Apply(operator=Operator.NOT, operands=(operand,)):
                value = self._value(operand, thread)
                return None if value is None else int(not value)
            case Apply(operator=Operator.AND | Operator.OR as operator, operands=operands):
                values = [self._value(operand, thread) for operand in operands]
                decides = operator is Operator.OR
                if any(value is not None and bool(value) is decides for value in values):
                    return int(decides)
                return None if None in values else int(not decides)
            case Apply(operator=operator, operands=(left, right)):
                one, other = self._value(left, thread), self._value(right, thread)
                if one is None or other is None:
                    return None
                computed = self._reach.compute(operator, one, other)
                return int(computed) if isinstance(computed, int) else None
        return None

    def _id(self, scope_id: Id, thread: _Thread) -> int | None:
        """Return a scope id of a thread, if the group is parted by it where it is."""
        parted = (id(thread.at), scope_id) in self._ids
        for value in range(_extent(scope_id)) if parted else ():
            asked = Apply(Operator.EQUAL, (scope_id, Const(value)))
            if self._reach.condition(asked).yes >> thread.number & 1:
                return value
        return None


_NONE = Const(None)
_OPERANDS = {  # of `arrive`, in order
    ObjectKind.MBARRIER: ("stage", "remote", "pred", "count"),
    ObjectKind.TMA_BARRIER: ("stage", "tx_count", "remote", "pred"),
    ObjectKind.TCGEN05_BARRIER: ("stage", "cta_group", "cta_mask", "pred"),
}


def _state_of(operation: Operation) -> KernelObject | None:
    """Return the pipeline state that an operation makes or moves."""
    state = operation.created or operation.receiver
    return state if state is not None and state.kind is ObjectKind.PIPELINE_STATE else None


def _extent(scope_id: Id) -> int:
    known = scope_id.extents[scope_id.component : scope_id.component + 1]
    return (constant_int(known[0]) or 0) if known else 0


def _ids_in(expr: Expr) -> Iterator[Id]:
    if isinstance(expr, Id):
        yield expr
    for part in parts_of(expr):
        yield from _ids_in(part)


def _symbols_in(expr: Expr) -> Iterator[Symbol]:
    if isinstance(expr, Symbol):
        yield expr
    for part in parts_of(expr):
        yield from _symbols_in(part)
