"""Which columns of tensor memory a declared buffer takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Item,
    Operator,
    Path,
    Sequence,
    Symbol,
    Variable,
    constant_int,
)

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation

_LANES = 128
_COLUMN_BYTES = 4  # of one lane


def taken_columns(declared: Operation) -> int | None:
    """Return the columns that a declared TMEM buffer takes; None where its layout may pack them."""
    scope, shape = declared.argument(99, "scope"), declared.argument(0, "shape")
    layout, dtype = declared.argument(99, "layout"), declared.argument(1, "dtype")
    if scope != Const("tmem") or not isinstance(shape, Sequence) or len(shape.items) != 2:
        return None
    if layout is not None and not _is_named_layout(layout):
        return None
    rows, width = map(constant_int, shape.items)
    size = {"float32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2}.get(
        str(dtype.value) if isinstance(dtype, Const) else ""
    )
    if rows != _LANES or width is None or size is None:
        return None
    return -(-width * size // _COLUMN_BYTES)


def _is_named_layout(layout: Expr) -> bool:
    match layout:
        case Call(callee=Path(dotted=dotted), arguments=(Const(value="D" | "A"), *_)):
            return dotted.endswith("tmem_datapath_layout")
    return False


def first_column(declared: Operation) -> int | None:
    """Return the first column of a buffer, counted from the start of the allocation."""
    address = declared.argument(99, "allocated_addr")
    match address:
        case Const():
            return constant_int(address)
        case Item() | Variable() | Symbol():
            return 0
        case Apply(operator=Operator.ADD, operands=(Item() | Variable(), Const() as offset)):
            return constant_int(offset)
    return None
