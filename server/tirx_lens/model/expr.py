"""The expressions of a kernel model: what a guard compares, what an operation is given.

Names are gone by the time an expression is in the model: the front end has replaced each by what
it stands for (a constant, a host value, a scope id, a typed object), as TVM's own parser does.
Equality ignores where an expression was written, so equal expressions mean equal values.
"""

from __future__ import annotations

from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tirx_lens.model.kind import Kind
from tirx_lens.model.record import record
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tirx_lens.model.objects import KernelObject

NOWHERE = Span(0, 0)


class Operator(Kind):
    """The operators a guard or an index may use, by their Python spelling."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    FLOOR_DIVIDE = "//"
    MODULO = "%"
    POWER = "**"
    LEFT_SHIFT = "<<"
    RIGHT_SHIFT = ">>"
    BIT_AND = "&"
    BIT_OR = "|"
    BIT_XOR = "^"
    NEGATE = "-x"
    INVERT = "~"
    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    AND = "and"
    OR = "or"
    NOT = "not"


class IdKind(Kind):
    """The scope ids of TIRx, by the function of `T` that declares each."""

    CLUSTER = "cluster_id"
    CTA = "cta_id"
    CTA_IN_CLUSTER = "cta_id_in_cluster"
    CTA_IN_PAIR = "cta_id_in_pair"
    WARPGROUP = "warpgroup_id"
    WARP = "warp_id"
    WARP_IN_WARPGROUP = "warp_id_in_wg"
    THREAD = "thread_id"
    THREAD_IN_WARPGROUP = "thread_id_in_wg"
    LANE = "lane_id"


@record()
class Expr:
    """Any expression; `span` is where it was written, or `NOWHERE`.

    `weight` counts the nodes it is made of, shared ones each time: expressions are bounded by it.
    """

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)
    weight: int = field(default=1, init=False, compare=False, repr=False)

    def _weigh(self, *parts: Expr | None) -> None:
        weight = 1
        for part in parts:
            if part is not None:
                weight += part.weight
        object.__setattr__(self, "weight", weight)


@record()
class Const(Expr):
    """A value known from the text."""

    value: int | float | str | bool | None


@record()
class Symbol(Expr):
    """A host value that is not known; the same symbol is the same value everywhere."""

    name: str


@record()
class Id(Expr):
    """One component of a scope id. `extents` are as declared, empty when left to TVM."""

    kind: IdKind
    extents: tuple[Expr, ...] = ()
    component: int = 0


@record()
class Elect(Expr):
    """`elect_sync()`: true in one lane of each warp. `site` tells two elections apart."""

    site: Span


@record()
class Apply(Expr):
    """An operator with its operands."""

    operator: Operator
    operands: tuple[Expr, ...]

    def __post_init__(self) -> None:
        self._weigh(*self.operands)


@record()
class Select(Expr):
    """`then if condition else otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr

    def __post_init__(self) -> None:
        self._weigh(self.condition, self.then, self.otherwise)


@record()
class Path(Expr):
    """A name of TVM's, spelled canonically: `T.cuda.cta_sync`, `Tx.wg.copy`, `lang.MBarrier`.

    `written` is its path as imports and attributes spell it, where they do:
    `tvm.script.tirx.cuda.cta_sync`.
    """

    dotted: str
    written: str = field(default="", compare=False, repr=False)


@record()
class Ref(Expr):
    """A typed object of the kernel: a barrier, a pool, a buffer."""

    target: KernelObject


@record()
class Sequence(Expr):
    """A tuple or list with known items."""

    items: tuple[Expr, ...]

    def __post_init__(self) -> None:
        self._weigh(*self.items)


@record()
class Member(Expr):
    """`base.name`, where the member is not itself known."""

    base: Expr
    name: str

    def __post_init__(self) -> None:
        self._weigh(self.base)


@record()
class Item(Expr):
    """`base[index]`, where the item is not itself known: a load from a buffer, say."""

    base: Expr
    index: Expr

    def __post_init__(self) -> None:
        self._weigh(self.base, self.index)


@record()
class Slice(Expr):
    """`start:stop:step` in an index; a part left out is None."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None = None

    def __post_init__(self) -> None:
        self._weigh(self.start, self.stop, self.step)


@record()
class Call(Expr):
    """A call whose value is not known."""

    callee: Expr
    arguments: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()

    def __post_init__(self) -> None:
        self._weigh(self.callee, *self.arguments, *(value for _, value in self.keywords))


@record()
class Variable(Expr):
    """A kernel variable whose value changes: a loop variable, a scalar, a pipeline stage.

    `place` is where it was declared, `NOWHERE` for one that is not told from others of its name.
    `let_at` is the place of the `T.let` that took the value, where it was not read in place: it is
    then the value of that moment.
    """

    name: str
    place: Span = NOWHERE
    uniform: bool = False
    let_at: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def declared(self) -> int:
        """The byte offset at which it was declared."""
        return self.place.start


@record()
class Unknown(Expr):
    """What the front end could not read, with the reason in a few words."""

    reason: str


def is_host(expr: Expr) -> bool:
    """Tell whether the value is the host's: fixed at build time, the same in every thread."""
    match expr:
        case Const() | Symbol():
            return True
        case Apply(operands=operands):
            return all(map(is_host, operands))
        case Select(condition=condition, then=then, otherwise=otherwise):
            return is_host(condition) and is_host(then) and is_host(otherwise)
        case Sequence(items=items):
            return all(map(is_host, items))
        case _:
            return False


def constant_int(expr: Expr | None) -> int | None:
    """Return the value of an integer constant, else None. A bool is no integer here."""
    if isinstance(expr, Const) and isinstance(expr.value, int) and not isinstance(expr.value, bool):
        return expr.value
    return None


def parts_of(expr: Expr) -> tuple[Expr, ...]:
    """Return the expressions directly inside an expression."""
    if expr.weight == 1:  # as most are
        return ()
    parts = _PARTS.get(type(expr))
    return parts(expr) if parts is not None else ()


def objects_in(expr: Expr) -> Collection[KernelObject]:
    """Return the typed objects that an expression names, in the order of the text."""
    if expr.weight == 1:  # as most are
        return (expr.target,) if isinstance(expr, Ref) else ()
    found: list[KernelObject] = []
    for part in parts_of(expr):
        if part.weight > 1:
            found += objects_in(part)
        elif isinstance(part, Ref):
            found.append(part.target)
    return found


def _parts_of_slice(expr: Slice) -> tuple[Expr, ...]:
    return tuple([part for part in (expr.start, expr.stop, expr.step) if part is not None])


def _parts_of_call(expr: Call) -> tuple[Expr, ...]:
    return (expr.callee, *expr.arguments, *[value for _, value in expr.keywords])


_PARTS: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Apply: attrgetter("operands"),
    Call: _parts_of_call,
    Item: attrgetter("base", "index"),
    Member: lambda expr: (expr.base,),
    Select: attrgetter("condition", "then", "otherwise"),
    Sequence: attrgetter("items"),
    Slice: _parts_of_slice,
}
"""What is directly inside an expression, of each kind that has parts in a kernel."""
