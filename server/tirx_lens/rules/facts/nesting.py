"""Operations with the loops and branches around them, whether or not threads are known."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from tirx_lens.model.expr import (
    Apply,
    Call,
    Expr,
    Operator,
    Path,
    Ref,
    Variable,
    constant_int,
    is_host,
    objects_in,
)
from tirx_lens.model.kernel import Block, Branch, Exit, Loop, LoopKind, Operation
from tirx_lens.model.queries import blocks_of
from tirx_lens.model.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.objects import KernelObject

_MOST_TURNS = 1 << 48  # nothing is known of a loop that no GPU would ever finish
_COUNTING = ("range", "T.serial", "T.unroll", "T.vectorized")


@record()
class Placed:
    """An operation and what stands around it, outermost first, the `loops` of that by themselves.

    `index` is its place among all operations, `given` are the objects that its arguments name. It
    `is_chosen` where the host decides if it exists, and the text does not say how.
    """

    operation: Operation
    around: tuple[Branch | Loop, ...]
    loops: tuple[Loop, ...] = field(compare=False)
    index: int = field(compare=False)
    given: tuple[KernelObject, ...] = field(compare=False)
    is_chosen: bool = field(compare=False)

    def is_in(self, loop: Loop) -> bool:
        """Tell whether it stands in a loop."""
        return loop in self.around  # each is equal to itself alone

    def is_beside(self, other: Placed) -> bool:
        """Tell whether the same loops and branches stand around both: they go together."""
        return self.around == other.around

    def is_in_one_turn(self, loop: Loop) -> bool:
        """Tell whether a guard lets it through in one turn of a loop: `if i == 1`."""
        return any(_picks_a_turn(branch.condition, loop) for branch in self.branches_in(loop))

    def branches_in(self, loop: Loop) -> Iterator[Branch]:
        """Yield the branches between a loop and the operation."""
        inside = False
        for part in self.around:
            if inside and isinstance(part, Branch):
                yield part
            inside = inside or part is loop


def placed(block: Block) -> list[Placed]:
    """Return every operation of a block, in program order."""
    found: list[Placed] = []
    _place(block, _Around((), (), is_chosen=False), found)
    return found


class _Around(NamedTuple):
    """What stands around the statements of a block."""

    parts: tuple[Branch | Loop, ...]
    loops: tuple[Loop, ...]
    is_chosen: bool


def _place(block: Block, around: _Around, found: list[Placed]) -> None:
    parts, loops, is_chosen = around
    for statement in block.statements:
        if isinstance(statement, Operation):
            given = _given_to(statement)
            found.append(Placed(statement, parts, loops, len(found), given, is_chosen))
        elif isinstance(statement, Branch):
            chosen = is_chosen or is_host(statement.condition)
            inner = _Around((*parts, statement), loops, chosen)
            _place(statement.then, inner, found)
            _place(statement.orelse, inner, found)
        elif isinstance(statement, Loop):
            inner = _Around((*parts, statement), (*loops, statement), is_chosen)
            _place(statement.body, inner, found)
        else:
            for below in blocks_of(statement):
                _place(below, around, found)


def _given_to(operation: Operation) -> tuple[KernelObject, ...]:
    given: list[KernelObject] = []
    for value in (*operation.arguments, *[value for _, value in operation.keywords]):
        if value.weight > 1:
            given += objects_in(value)
        elif isinstance(value, Ref):
            given.append(value.target)
    return tuple(given)


def turns(loop: Loop) -> range | None:
    """Return the values that the variable of a counting loop takes; None when not known."""
    control = loop.control
    if loop.kind is LoopKind.WHILE or not isinstance(control, Call):
        return None
    if not isinstance(control.callee, Path) or control.callee.dotted not in _COUNTING:
        return None
    bounds: list[int] = []
    for argument in control.arguments:
        bound = constant_int(argument)
        if bound is None:
            return None
        bounds.append(bound)
    if not 1 <= len(bounds) <= 2:
        return None
    values = range(*bounds)
    return None if values[_MOST_TURNS:] else values


def repeats(loop: Loop) -> bool:
    """Tell whether a loop may run more than once."""
    values = turns(loop)
    if values is not None and len(values) <= 1:
        return False
    return not any(isinstance(statement, Exit) for statement in loop.body.statements)


def _picks_a_turn(condition: Expr, loop: Loop) -> bool:
    match condition:
        case Apply(operator=Operator.AND, operands=operands):
            return any(_picks_a_turn(operand, loop) for operand in operands)
        case (
            Apply(operator=Operator.EQUAL, operands=(Variable() as variable, other))
            | Apply(operator=Operator.EQUAL, operands=(other, Variable() as variable))
        ):
            return counts(loop, variable) and is_host(other)
    return False


def counts(loop: Loop, variable: Variable) -> bool:
    """Tell whether a variable is the one of a loop."""
    return any(place.start == variable.declared for place in loop.variables)
