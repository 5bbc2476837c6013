"""Calls that are only values: casts, logic, elections, host arithmetic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Const,
    Elect,
    Expr,
    Id,
    IdKind,
    Operator,
    Path,
    Sequence,
    constant_int,
)
from tirx_lens.model.record import record
from tirx_lens.syntax.fold import fold, select
from tirx_lens.syntax.scope import Table

if TYPE_CHECKING:
    from tirx_lens.model.span import Span


@record()
class Arguments:
    """What a call is given. `complete` is false when a `*` or `**` hides some of it."""

    positional: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    complete: bool = True

    def get(self, position: int, keyword: str) -> Expr | None:
        """Return an argument by its position or its keyword."""
        for name, value in self.keywords:
            if name == keyword:
                return value
        return self.positional[position] if position < len(self.positional) else None


_DTYPES = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "boolean",
)
_PASS_THROUGH = {f"T.{name}": 0 for name in (*_DTYPES, "meta_var", "likely", "evaluate")} | {
    "T.Cast": 1,
    "T.cast": 0,
    "T.filter": 1,  # the predicate decides which threads go on; the variable is for TVM's analysis
}
_LOGIC = {
    "T.And": Operator.AND,
    "T.Or": Operator.OR,
    "T.all": Operator.AND,
    "T.any": Operator.OR,
    "tvm.all": Operator.AND,
    "tvm.any": Operator.OR,
    "T.Not": Operator.NOT,
    "T.floordiv": Operator.FLOOR_DIVIDE,
    "T.truncdiv": Operator.FLOOR_DIVIDE,  # the same for ids and extents, which are not negative
    "T.floormod": Operator.MODULO,
    "T.truncmod": Operator.MODULO,
    "T.bitwise_and": Operator.BIT_AND,
    "T.bitwise_or": Operator.BIT_OR,
    "T.bitwise_xor": Operator.BIT_XOR,
    "T.shift_left": Operator.LEFT_SHIFT,
    "T.shift_right": Operator.RIGHT_SHIFT,
}
_LONGEST_RANGE = 64
_ROUNDED = {"int": int, "math.ceil": math.ceil, "math.floor": math.floor, "bool": bool}
_COMPUTED = frozenset(
    {"range", "min", "max", "T.min", "T.max", "T.ceildiv", "tvm.ceildiv", "len", "tuple", "list"}
    | _ROUNDED.keys()
)


def known_call(callee: Expr, arguments: Arguments, span: Span) -> Expr | None:
    """Return the value of a call that executes nothing, or None when it is another kind."""
    if not isinstance(callee, Path):
        return None
    name, given = callee.dotted, arguments.positional
    if name == "dict" and not given:
        return Table(False, dict(arguments.keywords))
    if name in _PASS_THROUGH:
        position = _PASS_THROUGH[name]
        return given[position] if position < len(given) else None
    if name in _LOGIC and given:
        return fold(_LOGIC[name], *given)
    if name in ("T.Select", "T.if_then_else") and len(given) == 3:
        return select(*given)
    if name == "T.cuda.elect_sync" or (name == "T.ptx.elect_sync" and not given):
        return Elect(span, span=span)
    if name == "T.cuda.thread_rank":
        return Id(IdKind.THREAD, span=span)
    return _host_call(name, given)


def _host_call(name: str, given: tuple[Expr, ...]) -> Expr | None:
    if name not in _COMPUTED:
        return None
    if name in _ROUNDED and len(given) == 1:
        return _rounded(name, given[0])
    constants = [constant_int(value) for value in given]
    known = [value for value in constants if value is not None]
    if name == "range" and given and len(known) == len(given):
        try:
            values = range(*known)
        except (TypeError, ValueError):
            return None
        if values[_LONGEST_RANGE:]:  # it may have no length that Python could tell
            return None
        return Sequence(tuple(map(Const, values)))
    if name in ("min", "max", "T.min", "T.max") and len(known) == len(given) >= 2:
        return Const(min(known) if name.endswith("min") else max(known))
    if name in ("T.ceildiv", "tvm.ceildiv") and len(known) == len(given) == 2 and known[1]:
        return Const(-(-known[0] // known[1]))
    if name == "len" and len(given) == 1 and isinstance(given[0], Sequence):
        return Const(len(given[0].items))
    if name in ("tuple", "list") and len(given) == 1 and isinstance(given[0], Sequence):
        return given[0]
    return None


def _rounded(name: str, value: Expr) -> Expr | None:
    """Compute `int(...)` and its kin; of a value that is not known they keep what it is."""
    if not isinstance(value, Const):
        return value if name in ("int", "bool") else None
    try:
        return Const(_ROUNDED[name](value.value))  # type: ignore[operator]
    except (TypeError, ValueError, OverflowError):
        return None
