"""Buffers: in which memory they lie, what shape they have, and what part of them is meant."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Item,
    Member,
    Operator,
    Ref,
    Sequence,
    Slice,
    constant_int,
)
from tirx_lens.model.kind import Kind
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.model.record import record

if TYPE_CHECKING:
    from collections.abc import Callable


class Memory(Kind):
    """Where a buffer lies."""

    GLOBAL = "GMEM"
    SHARED = "SMEM"
    TENSOR = "TMEM"
    LOCAL = "registers"


_NO_POSITION = 99  # of an argument that is given by its keyword alone
_BY_SCOPE = {
    "global": Memory.GLOBAL,
    "shared": Memory.SHARED,
    "shared.dyn": Memory.SHARED,
    "tmem": Memory.TENSOR,
    "local": Memory.LOCAL,
}
_BYTES = {
    "float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "tf32": 4,
    "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1,
}  # fmt: skip


def memory_of(buffer: KernelObject) -> Memory | None:
    """Return the memory a buffer lies in; None when the text does not say."""
    if buffer.kind is not ObjectKind.BUFFER:
        return None
    maker = buffer.class_name
    if not maker or maker == "T.match_buffer":  # a parameter of the kernel
        return Memory.GLOBAL
    scope = buffer.argument(_NO_POSITION, "scope")
    if isinstance(scope, Const):
        return _BY_SCOPE.get(str(scope.value))
    if maker in ("T.alloc_local", "T.local_scalar", "T.wg_reg_tile"):
        return Memory.LOCAL
    if maker == "T.alloc_shared":
        return Memory.SHARED
    if maker.startswith("tmem."):
        return Memory.TENSOR
    return None if maker.startswith("T.") else Memory.SHARED  # else a method of an SMEM pool


def shape_of_buffer(buffer: KernelObject) -> tuple[Expr, ...] | None:
    """Return a buffer's dimensions as written, outermost first."""
    shape = buffer.argument(0, "shape")
    return shape.items if isinstance(shape, Sequence) else None


def element_bytes(buffer: KernelObject) -> int | None:
    """Return the size of one element in bytes; None for sub-byte and unknown types."""
    dtype = buffer.argument(1, "dtype")
    return _BYTES.get(str(dtype.value)) if isinstance(dtype, Const) else None


@record()
class Region:
    """A part of a buffer: one index or slice a dimension, none where all of it is meant."""

    buffer: KernelObject
    indices: tuple[Expr, ...] = ()

    def extents(self) -> tuple[int, ...] | None:
        """Return how many elements it spans in each dimension; None when that is not known."""
        shape = shape_of_buffer(self.buffer)
        if shape is None:
            return None
        found: list[int] = []
        for position, size in enumerate(shape):
            index = self.indices[position] if position < len(self.indices) else Slice(None, None)
            extent = _extent(index, size)
            if extent is None:
                return None
            found.append(extent)
        return tuple(found)

    def bytes(self) -> int | None:
        """Return how many bytes it holds; None when that is not known."""
        extents, size = self.extents(), element_bytes(self.buffer)
        if extents is None or size is None:
            return None
        for extent in extents:
            size *= extent
        return size


def region_of(expr: Expr | None) -> Region | None:
    """Return the part of a buffer that an argument names: `As[stage, :, :]`, or all of `As`."""
    index: Expr | None = None
    if isinstance(expr, Item):
        index = expr.index
        expr = expr.base
    if not isinstance(expr, Ref) or expr.target.kind is not ObjectKind.BUFFER:
        return None
    if index is None:
        return Region(expr.target)
    return Region(expr.target, index.items if isinstance(index, Sequence) else (index,))


def buffers_in(expr: Expr) -> list[KernelObject]:
    """Return the buffers that an expression names, views of them included."""
    if isinstance(expr, Ref):
        return [expr.target] if expr.target.kind is ObjectKind.BUFFER else []
    found: list[KernelObject] = []
    if expr.weight > 1 and type(expr) in _NAMING:
        for part in _NAMING[type(expr)](expr):
            if part.weight > 1 or isinstance(part, Ref):  # as few are
                found += buffers_in(part)
    return found


_NAMING: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Apply: attrgetter("operands"),
    Call: lambda call: (call.callee, *call.arguments),
    Item: attrgetter("base", "index"),
    Member: lambda member: (member.base,),
    Sequence: attrgetter("items"),
}
"""The parts of each kind of expression that may be buffers: not bounds, nor what is a keyword's."""


def _extent(index: Expr, size: Expr) -> int | None:
    """Return the length of `start:stop` where their difference is a constant; an index has 1."""
    if not isinstance(index, Slice):
        return 1
    if index.step is not None and constant_int(index.step) != 1:
        return None
    if index.stop is None:
        whole, skipped = constant_int(size), constant_int(index.start or Const(0))
        return whole - skipped if whole is not None and skipped is not None else None
    start, stop = index.start or Const(0), index.stop
    known_start, known_stop = constant_int(start), constant_int(stop)
    if known_start is not None and known_stop is not None:
        return known_stop - known_start
    match stop:
        case Apply(operator=Operator.ADD, operands=(first, Const(value=int(length)))) if (
            first == start and not isinstance(length, bool)
        ):
            return length
    base, offset = _split(start)
    other, further = _split(stop)
    return further - offset if base == other else None


def _split(expr: Expr) -> tuple[frozenset[tuple[Expr, int]], int]:
    """Part a sum into its terms that are not known, each with its count, and a constant."""
    terms: dict[Expr, int] = {}
    constant = 0
    pending = [(expr, 1)]
    while pending:
        part, sign = pending.pop()
        value = constant_int(part)
        if value is not None:
            constant += sign * value
        elif isinstance(part, Apply) and part.operator is Operator.ADD:
            pending += [(operand, sign) for operand in part.operands]
        elif isinstance(part, Apply) and part.operator is Operator.SUBTRACT:
            pending += [(part.operands[0], sign), (part.operands[1], -sign)]
        else:
            terms[part] = terms.get(part, 0) + sign
    return frozenset((term, count) for term, count in terms.items() if count), constant
