"""The smallest and largest values that an index of a kernel takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Apply,
    Const,
    Id,
    Member,
    Operator,
    Ref,
    Select,
    Variable,
    constant_int,
)
from tirx_lens.model.record import record
from tirx_lens.rules.facts.nesting import counts, turns

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.nesting import Placed

_TILES = {"m_idx": "num_m_tiles", "n_idx": "num_n_tiles"}


@record()
class Interval:
    """All values from `low` to `high`, both of which are taken."""

    low: int
    high: int


class Intervals:
    """What indices range over at a place: parts that several share are worked out once."""

    def __init__(self, place: Placed) -> None:
        self._place = place
        self._known: dict[int, Interval | None] = {}  # by the identity of the expression

    def of(self, expr: Expr) -> Interval | None:
        """Return what an index ranges over; None where the text does not say."""
        if id(expr) not in self._known:
            self._known[id(expr)] = self._of(expr)
        return self._known[id(expr)]

    def _of(self, expr: Expr) -> Interval | None:
        match expr:
            case Const():
                value = constant_int(expr)
                return Interval(value, value) if value is not None else None
            case Apply(operator=operator, operands=(left, right)):
                first, second = self.of(left), self.of(right)
                if first is None or second is None:
                    return None
                return _apply(operator, first, second)
            case Variable():
                ranges = [turns(loop) for loop in self._place.loops if counts(loop, expr)]
                values = ranges[0] if len(ranges) == 1 else None
                return Interval(values[0], values[-1]) if values else None
            case Id(extents=extents, component=component) if component < len(extents):
                extent = constant_int(extents[component])
                return Interval(0, extent - 1) if extent else None
            case Member(base=Ref(target=target), name=name):
                return _tile(target, name)
            case Select(then=then, otherwise=otherwise):
                one, other = self.of(then), self.of(otherwise)
                if one is None or other is None:
                    return None
                return Interval(min(one.low, other.low), max(one.high, other.high))
        return None


def _tile(scheduler: KernelObject, name: str) -> Interval | None:
    if scheduler.class_name != "ClusterPersistentScheduler2D" or name not in _TILES:
        return None
    tiles = constant_int(dict(scheduler.keywords).get(_TILES[name]))
    return Interval(0, tiles - 1) if tiles else None


def _apply(operator: Operator, left: Interval, right: Interval) -> Interval | None:
    match operator:
        case Operator.ADD:
            return Interval(left.low + right.low, left.high + right.high)
        case Operator.SUBTRACT:
            return Interval(left.low - right.high, left.high - right.low)
        case Operator.MULTIPLY:
            corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
            return Interval(min(corners), max(corners))
        case Operator.FLOOR_DIVIDE if right.low == right.high > 0:
            return Interval(left.low // right.low, left.high // right.low)
        case Operator.MODULO if right.low == right.high > 0 and left.low == 0:
            return Interval(0, min(left.high, right.low - 1))
    return None
