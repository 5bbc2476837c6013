"""What one thread holds while it is followed: scope ids, loop variables, pipeline states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tirx_lens.model.expr import (
    Apply,
    Const,
    Id,
    Operator,
    Select,
    Variable,
    constant_int,
)
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.handoffs import made_at, state_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.threads.reach import ReachMap


MOST_VALUES = 16
"""Of an id by which threads are told apart."""

_LOGIC = (Operator.AND, Operator.OR, Operator.NOT)


@dataclass(slots=True)
class StateRegisters:
    """A pipeline state of one thread; None for what is not known."""

    depth: int | None
    stage: int | None
    phase: int | None
    moved_by: Operation | None = None


@dataclass(slots=True)
class Shared:
    """What is the same for all threads that are followed.

    `taken` says which state a variable is of, and whether it is its phase, by the identity of the
    expression. `ids` has, for each scope id, the threads that have each of its values.
    """

    reach: ReachMap
    taken: dict[int, tuple[tuple[str, int], bool]] = field(default_factory=dict)
    ids: dict[Id, list[int]] = field(default_factory=dict)

    def holders(self, scope_id: Id) -> list[int]:
        """Return the threads that have each value of a scope id, if it has few."""
        if scope_id not in self.ids:
            extent = extent_of(scope_id)
            values = range(extent if extent <= MOST_VALUES else 0)
            asked = (Apply(Operator.EQUAL, (scope_id, Const(value))) for value in values)
            self.ids[scope_id] = [self.reach.condition(one).yes for one in asked]
        return self.ids[scope_id]


@dataclass(slots=True)
class Registers:
    """The registers of the thread `number` of the cluster; `at` is what it executes now.

    It stands for `threads`: a scope id is known where all of them have the same. `counters` are the
    loop variables, by the place where each is bound.
    """

    shared: Shared
    number: int
    threads: int
    at: Operation | None = None
    counters: dict[int, int] = field(default_factory=dict)
    states: dict[tuple[str, int], StateRegisters] = field(default_factory=dict)

    def move(self, state: KernelObject, operation: Operation) -> None:
        """Make a state, initialise it or advance it, as an operation says."""
        if operation.created is not None:
            start = state.argument(1, "phase")
            phase = self.value(start) if start is not None else None
            depth = constant_int(state.argument(0, "depth"))
            stage = 0 if phase is not None else None
            self.states[made_at(state)] = StateRegisters(depth, stage, phase)
            return
        held = self.states.get(made_at(state))
        if held is None:
            return
        held.moved_by = operation
        if operation.op is Op.STATE_ADVANCE:
            if held.depth is None or held.stage is None or held.phase is None:
                held.stage = held.phase = None
                return
            held.stage += 1
            if held.stage >= held.depth:
                held.stage, held.phase = 0, held.phase ^ 1
        elif operation.name == "init":
            given = operation.argument(0, "phase")
            held.phase = self.value(given) if given is not None else None
            held.stage = 0
        else:
            held.stage = held.phase = None

    def lose(self, state: KernelObject) -> None:
        """Forget where a state stands."""
        depth = constant_int(state.argument(0, "depth"))
        self.states[made_at(state)] = StateRegisters(depth, None, None)

    def value(self, expr: Expr | None) -> int | None:
        """Return what an expression is for a thread at this moment."""
        evaluate = _EVALUATED.get(type(expr))
        return evaluate(self, expr) if evaluate is not None else None

    def _constant(self, expr: Const) -> int | None:
        return int(expr.value) if isinstance(expr.value, int) else None

    def _variable(self, expr: Variable) -> int | None:
        counter = self.counters.get(expr.declared)
        if counter is not None:
            return counter
        taken = self.shared.taken.get(id(expr))
        if taken is None:
            taken = self.shared.taken[id(expr)] = state_key(expr), expr.name.endswith(".phase")
        key, is_phase = taken
        held = self.states.get(key)
        if held is None or (expr.let_at is not None and self._is_stale(expr.let_at, held)):
            return None
        return held.phase if is_phase else held.stage

    def _select(self, expr: Select) -> int | None:
        chosen = self.value(expr.condition)
        if chosen is None:
            return None
        return self.value(expr.then if chosen else expr.otherwise)

    def _apply(self, expr: Apply) -> int | None:
        operator, operands = expr.operator, expr.operands
        if len(operands) == 2 and operator not in _LOGIC:
            left, right = self.value(operands[0]), self.value(operands[1])
            if left is None or right is None:
                return None
            computed = self.shared.reach.compute(operator, left, right)
            return int(computed) if isinstance(computed, int) else None
        values = [self.value(operand) for operand in operands]
        if operator is Operator.AND or operator is Operator.OR:
            decides = operator is Operator.OR
            if any(value is not None and bool(value) is decides for value in values):
                return int(decides)
            return None if None in values else int(not decides)
        if operator is Operator.NOT:
            return None if values[0] is None else int(not values[0])
        return None

    def _is_stale(self, taken_at: Span, held: StateRegisters) -> bool:
        """Tell whether a state may have moved since a `T.let` took a value of it."""
        if held.moved_by is None:
            return False
        if self.at is None or self.at.stack or held.moved_by.stack:
            return True
        return taken_at.start < held.moved_by.span.start < self.at.span.start

    def _id(self, scope_id: Id) -> int | None:
        """Return a scope id of the threads, if all of them have the same."""
        for value, holders in enumerate(self.shared.holders(scope_id)):
            if holders >> self.number & 1:
                return value if not self.threads & ~holders else None
        return None


_EVALUATED: dict[type, Callable[[Registers, Any], int | None]] = {
    Const: Registers._constant,
    Variable: Registers._variable,
    Id: Registers._id,
    Select: Registers._select,
    Apply: Registers._apply,
}
"""How each kind of expression is evaluated: thousands are, in a run."""


def extent_of(scope_id: Id) -> int:
    """Return how many values a scope id has; 0 when the text does not say."""
    known = scope_id.extents[scope_id.component : scope_id.component + 1]
    return (constant_int(known[0]) or 0) if known else 0
