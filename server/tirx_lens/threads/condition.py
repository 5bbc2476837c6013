"""What a guard lets through: a split of the threads into yes, no and not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Apply, Const, Elect, Expr, Id, Operator, Select
from tirx_lens.model.kind import Kind
from tirx_lens.model.record import record
from tirx_lens.threads.values import Evaluator, Hidden, PerThread, Same, threads_where
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from tirx_lens.threads.shape import Shape


class Unsure(Kind):
    """What is known of the threads whose answer the text does not tell."""

    UNKNOWN = "any of them may answer yes"
    UNIFORM = "they answer alike: the value is the host's, or shared by the CTA"
    ELECTED = "exactly one lane of each warp answers yes"
    NOT_ELECTED = "all but one lane of each warp answer yes"


_NEGATED = {Unsure.ELECTED: Unsure.NOT_ELECTED, Unsure.NOT_ELECTED: Unsure.ELECTED}


@record()
class Condition:
    """How a condition comes out, thread by thread; the three sets part the threads of a shape.

    `maybe` holds the threads whose answer the text does not tell, `unsure` what is known of them.
    """

    yes: int
    no: int
    maybe: int = 0
    unsure: Unsure = Unsure.UNKNOWN

    @property
    def negated(self) -> Condition:
        """The condition of the `else` side."""
        return Condition(self.no, self.yes, self.maybe, _NEGATED.get(self.unsure, self.unsure))

    @property
    def selective(self) -> bool:
        """Whether it surely keeps some thread out."""
        return bool(self.no) or self.unsure in (Unsure.ELECTED, Unsure.NOT_ELECTED)


class Conditions:
    """Evaluates conditions over the threads of one shape."""

    def __init__(self, shape: Shape, evaluator: Evaluator) -> None:
        self._shape = shape
        self.evaluator = evaluator
        self._known: dict[Expr, Condition] = {}
        self._asked: dict[int, tuple[Expr, Condition]] = {}  # by identity: to hash is to walk

    def of(self, expr: Expr) -> Condition:
        """Return how an expression comes out as a condition."""
        asked = self._asked.get(id(expr))
        if asked is not None:
            return asked[1]
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._of(expr)
        self._asked[id(expr)] = expr, found
        return found

    def _of(self, expr: Expr) -> Condition:
        match expr:
            case Elect():
                return Condition(0, 0, self._shape.everyone, Unsure.ELECTED)
            case Apply(operator=Operator.NOT, operands=(operand,)):
                return self.of(operand).negated
            case Apply(operator=Operator.AND, operands=operands):
                return self._all(operands)
            case Apply(operator=Operator.OR, operands=operands):
                negated = [Apply(Operator.NOT, (operand,)) for operand in operands]
                return self._all(tuple(negated)).negated
            case Apply(operator=Operator.BIT_AND, operands=operands) if _logical(operands):
                return self._all(operands)
            case Apply(operator=Operator.BIT_OR, operands=operands) if _logical(operands):
                return self.of(Apply(Operator.OR, operands))
            case Apply(operator=Operator.NOT_EQUAL | Operator.EQUAL, operands=(Elect(), _)):
                unsure = Unsure.ELECTED if _asks_for_elected(expr) else Unsure.NOT_ELECTED
                return Condition(0, 0, self._shape.everyone, unsure)
            case Apply(operator=Operator.EQUAL, operands=(Id() | Apply() as asked, Const(value=v))):
                column = self.evaluator.value(asked)
                if isinstance(column, PerThread):
                    return self._split(self.evaluator.holders(column).get(v, 0), column)
            case Select(condition=condition, then=then, otherwise=otherwise):
                first = Apply(Operator.AND, (condition, then))
                second = Apply(Operator.AND, (Apply(Operator.NOT, (condition,)), otherwise))
                return self.of(Apply(Operator.OR, (first, second)))
        return self._by_value(expr)

    def _split(self, yes: int, column: PerThread) -> Condition:
        """Part the threads by those of a column, which may speak of one CTA for all."""
        if len(column.values) < self._shape.total:
            yes *= self._shape.thread_zeros
        return Condition(yes, self._shape.everyone & ~yes)

    def _all(self, operands: tuple[Expr, ...]) -> Condition:
        parts = [self.of(operand) for operand in operands]
        everyone = self._shape.everyone
        yes, no = everyone, 0
        for part in parts:
            yes &= part.yes
            no |= part.no
        maybe = everyone & ~yes & ~no
        undecided = [part for part in parts if part.maybe & maybe]
        unsure = Unsure.UNKNOWN
        if all(part.unsure is Unsure.UNIFORM for part in undecided):
            unsure = Unsure.UNIFORM
        elif len(undecided) == 1 and warps_touched(no, self._shape) == no:
            unsure = undecided[0].unsure  # the other guards are known and cut no warp in two
        return Condition(yes, no, maybe, unsure)

    def _by_value(self, expr: Expr) -> Condition:
        everyone = self._shape.everyone
        match self.evaluator.value(expr):
            case Same(value=value):
                return Condition(everyone, 0) if value else Condition(0, everyone)
            case PerThread(values=values) as column:
                return self._split(threads_where(values), column)
            case Hidden(uniform=uniform):
                unsure = Unsure.UNIFORM if uniform else Unsure.UNKNOWN
                return Condition(0, 0, everyone, unsure)


def _logical(operands: tuple[Expr, ...]) -> bool:
    """Tell whether the operands of a bitwise operator are conditions."""
    comparisons = (
        Operator.EQUAL,
        Operator.NOT_EQUAL,
        Operator.LESS,
        Operator.LESS_EQUAL,
        Operator.GREATER,
        Operator.GREATER_EQUAL,
        Operator.AND,
        Operator.OR,
        Operator.NOT,
        Operator.BIT_AND,
        Operator.BIT_OR,
    )
    return all(
        isinstance(operand, Elect)
        or (isinstance(operand, Apply) and operand.operator in comparisons)
        for operand in operands
    )


def _asks_for_elected(expr: Apply) -> bool:
    """Tell whether `elect_sync() != 0`, `== 1` or `== True` asks for the elected lane."""
    other = expr.operands[1]
    value = getattr(other, "value", None)
    return value == (0 if expr.operator is Operator.NOT_EQUAL else 1)
