"""The value an expression has in each thread, as far as the text tells."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Id,
    IdKind,
    Member,
    Operator,
    Path,
    Ref,
    Select,
    Sequence,
    Symbol,
    Variable,
    constant_int,
)
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.record import record
from tirx_lens.threads.shape import WARP, WARPGROUP, Shape

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Column

Number: TypeAlias = "int | float | bool | str | None"


@record()
class Same:
    """A known value, the same in every thread."""

    value: Number


@record()
class PerThread:
    """A known value for each thread of the cluster, or of one CTA where all CTAs are alike."""

    values: tuple[Number, ...]


@record()
class Hidden:
    """A value that is not known. A `uniform` one is still the same in every thread of a CTA."""

    uniform: bool


Value: TypeAlias = Same | PerThread | Hidden

_NUMBERING: dict[IdKind, Callable[[int], int]] = {
    IdKind.THREAD: lambda t: t,
    IdKind.WARP: lambda t: t // WARP,
    IdKind.LANE: lambda t: t % WARP,
    IdKind.WARPGROUP: lambda t: t // WARPGROUP,
    IdKind.WARP_IN_WARPGROUP: lambda t: t % WARPGROUP // WARP,
    IdKind.THREAD_IN_WARPGROUP: lambda t: t % WARPGROUP,
}
_FEW = 16  # values that it pays to look for one by one
_MOST_NUMBERINGS = 64  # of ids in CTAs of some size, kept from kernel to kernel
_DIGITS = bytes.maketrans(bytes((0, 1)), b"01")

_LOGIC = (Operator.AND, Operator.OR, Operator.NOT)


class Evaluator:
    """Evaluates expressions over the threads of one shape, each distinct expression once."""

    def __init__(self, shape: Shape, compute: Callable[[Operator, object, object], object]) -> None:
        self.shape = shape
        self._compute = compute
        self._known: dict[Expr, Value] = {}
        self._holders: dict[int, _Numbers] = {}  # by the identity of a column: to hash is to walk

    def holders(self, column: PerThread) -> dict[Number, int]:
        """Return the threads that hold each value, as sets: worked out once for each column."""
        known = self._holders.get(id(column.values))
        if known is None:
            known = _Numbers(column.values, _holders(column.values))
            self._holders[id(column.values)] = known
        return known.holders

    def value(self, expr: Expr) -> Value:
        """Return the value of an arithmetic expression. Conditions are `Conditions`' work."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._value(expr)
        return found

    def _value(self, expr: Expr) -> Value:
        match expr:
            case Const(value=value):
                return Same(value)
            case Symbol():
                return Hidden(uniform=True)
            case Variable(uniform=uniform):
                return Hidden(uniform)
            case Id():
                return self._id(expr)
            case Apply(operator=operator, operands=operands) if operator not in _LOGIC:
                return self._apply(operator, [self.value(operand) for operand in operands])
            case Select(condition=condition, then=then, otherwise=otherwise):
                return self._select(*map(self.value, (condition, then, otherwise)))
            case Call(callee=Member(base=Ref(target=target))) | Member(base=Ref(target=target)):
                # Each thread keeps a tile scheduler of its own; all step through the same tiles.
                return Hidden(target.kind is ObjectKind.SCHEDULER)
            case Call(callee=Path(dotted="T.cuda.__shfl_sync"), arguments=(_, shuffled, lane, _)):
                return self._shuffled(self.value(shuffled), constant_int(lane))
            case Call(callee=Path(dotted=dotted), arguments=arguments):
                pure = not dotted.startswith(("T.cuda", "T.ptx"))
                return Hidden(pure and all(is_uniform(self.value(a)) for a in arguments))
            case Sequence(items=items):
                return Hidden(all(is_uniform(self.value(item)) for item in items))
        return Hidden(uniform=False)

    def _id(self, scope_id: Id) -> Value:
        others = [
            constant_int(e) for i, e in enumerate(scope_id.extents) if i != scope_id.component
        ]
        own = scope_id.extents[scope_id.component : scope_id.component + 1]
        if own and constant_int(own[0]) == 1:
            return Same(0)
        if scope_id.kind in (IdKind.CTA, IdKind.CLUSTER):
            return Hidden(uniform=True)
        if scope_id.kind in (IdKind.CTA_IN_CLUSTER, IdKind.CTA_IN_PAIR):
            if not self.shape.cluster_known or any(other != 1 for other in others):
                return Hidden(uniform=True)
            span = 2 if scope_id.kind is IdKind.CTA_IN_PAIR else self.shape.ctas
            ranks = [cta % span for cta in range(self.shape.ctas)]
            return _packed(tuple(chain(*(repeat(rank, self.shape.threads) for rank in ranks))))
        if any(other != 1 for other in others):
            return Hidden(uniform=False)
        numbers = _numbers(scope_id.kind, self.shape.threads)
        if len(numbers.holders) == 1:
            return Same(0)
        self._holders[id(numbers.values)] = numbers
        return PerThread(numbers.values)

    def _shuffled(self, value: Value, lane: int | None) -> Value:
        """Return what each thread has after a whole warp took the value of one of its lanes."""
        if not isinstance(value, PerThread) or lane is None or not 0 <= lane < WARP:
            return value if isinstance(value, Same) else Hidden(uniform=False)
        if self.shape.threads % WARP:
            return Hidden(uniform=False)
        column = value.values  # of whole warps, so that CTAs need no care of their own
        return _packed(tuple(column[t // WARP * WARP + lane] for t in range(len(column))))

    def _apply(self, operator: Operator, operands: list[Value]) -> Value:
        if any(isinstance(operand, Hidden) for operand in operands):
            return Hidden(all(is_uniform(operand) for operand in operands))
        if len(operands) == 1:
            sign = -1 if operator is Operator.NEGATE else None
            compute = (lambda a: self._compute(Operator.MULTIPLY, a, sign)) if sign else _invert
            return self._map(operands, compute)
        return self._map(operands, lambda a, b: self._compute(operator, a, b))

    def _map(self, operands: list[Value], compute: Callable[..., object]) -> Value:
        """Apply a function thread by thread, once for each distinct row of operands."""
        if all(isinstance(operand, Same) for operand in operands):
            result = compute(*(operand.value for operand in operands if isinstance(operand, Same)))
            return Same(result) if isinstance(result, (int, float, str)) else Hidden(uniform=True)
        varying = [operand.values for operand in operands if isinstance(operand, PerThread)]
        length = max(map(len, varying))
        rows = tuple(zip(*(_column(operand, length) for operand in operands), strict=True))
        known: dict[tuple[Number, ...], Number] = {}
        for row in set(rows):
            result = compute(*row)
            if not isinstance(result, (int, float, str)):
                return Hidden(uniform=False)
            known[row] = result
        return _packed(tuple(map(known.__getitem__, rows)))

    def _select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        operands = (condition, then, otherwise)
        if any(isinstance(operand, Hidden) for operand in operands):
            return Hidden(all(is_uniform(operand) for operand in operands))
        return self._map(list(operands), lambda c, a, b: a if c else b)


def threads_where(values: Column[object]) -> int:
    """Return the threads in which a value of a column counts as true, as a set."""
    return int(bytes(map(bool, reversed(values))).translate(_DIGITS), base=2)


@record()
class _Numbers:
    """What something is in each thread, and the threads that have each value."""

    values: tuple[Number, ...]
    holders: dict[Number, int]


@lru_cache(_MOST_NUMBERINGS)
def _numbers(kind: IdKind, threads: int) -> _Numbers:
    values = tuple(map(_NUMBERING[kind], range(threads)))
    return _Numbers(values, _holders(values))


def _holders(values: tuple[Number, ...]) -> dict[Number, int]:
    distinct = dict.fromkeys(values)
    if len(distinct) <= _FEW:
        return {one: threads_where([value == one for value in values]) for one in distinct}
    found: dict[Number, int] = {}
    for thread, value in enumerate(values):
        found[value] = found.get(value, 0) | 1 << thread
    return found


def _column(value: Value, length: int) -> tuple[Number, ...]:
    if isinstance(value, PerThread):
        return value.values * (length // len(value.values))
    return (value.value if isinstance(value, Same) else None,) * length


def _packed(values: tuple[Number, ...]) -> Value:
    """Say `Same` where every thread has the same value."""
    return Same(values[0]) if len(set(values)) == 1 else PerThread(values)


def is_uniform(value: Value) -> bool:
    """Tell whether a value is the same in every thread of a CTA, known or not."""
    return isinstance(value, Same) or (isinstance(value, Hidden) and value.uniform)


def _invert(value: object) -> object:
    return ~value if isinstance(value, int) else None
