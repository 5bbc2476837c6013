"""What an expression is the first time a statement is executed: every loop in its first round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Call, Const, Expr, Operator, Variable, constant_int
from tirx_lens.model.kernel import LoopKind

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Loop
    from tirx_lens.threads.reach import Reached, ReachMap


def first_value(expr: Expr, reached: Reached, reach: ReachMap) -> object:
    """Return a plain value, or None where the text does not tell."""
    match expr:
        case Const(value=known):
            return known
        case Variable():
            loop = loop_of(expr, reached.loops)
            return start_of(loop) if loop is not None else None
        case Apply(operator=Operator.NOT, operands=(operand,)):
            value = first_value(operand, reached, reach)
            return None if value is None else not value
        case Apply(operator=Operator.AND | Operator.OR as operator, operands=operands):
            values = [first_value(operand, reached, reach) for operand in operands]
            decided = operator is Operator.OR
            if any(value is not None and bool(value) is decided for value in values):
                return decided
            return None if None in values else not decided
        case Apply(operator=operator, operands=(left, right)):
            values = [first_value(operand, reached, reach) for operand in (left, right)]
            return None if None in values else reach.compute(operator, *values)
    return None


def loop_of(variable: Variable, loops: tuple[Loop, ...]) -> Loop | None:
    """Return the loop whose variable it is."""
    for loop in loops:
        if loop.kind is LoopKind.FOR and loop.span.start <= variable.declared < loop.header.start:
            return loop
    return None


def start_of(loop: Loop) -> int | None:
    """Return the first value of a loop's variable."""
    control = loop.control
    if not isinstance(control, Call) or control.keywords or not control.arguments:
        return None
    return 0 if len(control.arguments) == 1 else constant_int(control.arguments[0])
