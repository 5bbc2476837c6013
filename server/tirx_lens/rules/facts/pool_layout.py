"""Where the objects of an SMEM pool lie, in bytes, as TVM's bump allocator places them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import element_bytes, shape_of_buffer
from tirx_lens.model.expr import Const, constant_int
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.rules.facts.handoffs import handoffs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.model.expr import Expr
    from tirx_lens.rules.facts.handoffs import Handoffs
    from tirx_lens.rules.facts.nesting import Placed
    from tirx_lens.rules.rule import KernelView

LARGEST = 227 * 1024
"""The bytes of shared memory that a CTA can have on sm_90 and sm_100; no target has more."""

_WORD = 8  # bytes of an mbarrier
_ADDRESS = 4  # bytes of a TMEM address
_MATRIX = ("alloc_tcgen05_mma_AB", "alloc_mma")
_MATRIX_ALIGN = 1024  # unless told otherwise: one swizzle atom of 8 rows of 128 bytes
_DEFAULT_BYTES = {"alloc": 4} | dict.fromkeys(_MATRIX, 2)  # float32, float16


@dataclass(frozen=True, slots=True)
class Allocation:
    """One object in a pool; `end` is exclusive. `aligned` bytes before `start` are skipped.

    `alignment` is what its start is a multiple of, in bytes; 0 where nothing is asked for.
    """

    operation: Operation
    made: KernelObject
    start: int
    end: int
    aligned: int
    alignment: int = 0

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return self.end - self.start

    def overlaps(self, other: Allocation) -> bool:
        """Tell whether two objects share bytes."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class PoolLayout:
    """A pool with its allocations in order and its last commit.

    Where something of it is not known, `stopped_at` is the first such operation, `reason` says why,
    and the allocations are those above it.
    """

    pool: KernelObject
    allocations: tuple[Allocation, ...]
    commit: Operation | None
    stopped_at: Operation | None = None
    reason: str | None = None


def pool_layouts(view: KernelView) -> tuple[PoolLayout, ...]:
    """Return the layout of every pool that owns its memory, if every size in it is known."""
    program = handoffs(view).program
    if any(p.operation.op is Op.OPAQUE and p.operation.name == "half-typed" for p in program):
        return ()
    return tuple(layout for layout in layouts_as_far_as_known(view) if layout.reason is None)


def layouts_as_far_as_known(view: KernelView) -> tuple[PoolLayout, ...]:
    """Return the layout of every pool, up to the first operation that leaves its place open."""
    return view.once(_all_layouts)


def _all_layouts(view: KernelView) -> tuple[PoolLayout, ...]:
    return tuple(_layouts(handoffs(view)))


def _layouts(found: Handoffs) -> Iterator[PoolLayout]:
    for made, place in found.makers.items():
        if made.kind is ObjectKind.SMEM_POOL:
            if made.arguments or made.keywords:
                reason = "it is given memory that something else owns"
                yield PoolLayout(made, (), None, place.operation, reason)
            else:
                yield _layout(made, found.users.get(made, ()))


def _layout(pool: KernelObject, program: Sequence[Placed]) -> PoolLayout:
    offset = 0
    allocations: list[Allocation] = []
    commit: Operation | None = None
    for place in program:
        operation = place.operation
        reason = _why_open(place)
        if reason is not None:
            return PoolLayout(pool, tuple(allocations), commit, operation, reason)
        if operation.op is Op.POOL_COMMIT:
            commit = operation
        elif operation.op is Op.POOL_MOVE:
            offset = constant_int(operation.argument(0, "offset")) or 0
        else:
            made, needs = operation.created, _needs(operation)
            if made is None or needs is None:  # `_why_open` has ruled it out
                continue
            size, align = needs
            start = -(-offset // align) * align if align > 0 else offset
            skipped = start - offset
            allocations.append(Allocation(operation, made, start, start + size, skipped, align))
            offset = start + size
    return PoolLayout(pool, tuple(allocations), commit)


def _why_open(place: Placed) -> str | None:
    """Say why an operation leaves the places of what follows open; None where it does not."""
    operation = place.operation
    if place.loops:
        return "it stands in a loop"
    if place.is_chosen:
        return "the host decides if it exists"
    if not operation.complete:
        return "a `*` or `**` hides some of its arguments"
    if operation.op is Op.POOL_COMMIT:
        return None
    if operation.op is Op.POOL_MOVE:
        known = constant_int(operation.argument(0, "offset")) is not None
        return None if known else "the offset that it goes to is not known"
    if operation.created is None:
        return f"`{operation.name}` is not followed"
    return None if _needs(operation) is not None else "its size is not known from the text"


def _needs(operation: Operation) -> tuple[int, int] | None:
    """Return the bytes an operation takes from the pool and their alignment, if it is known."""
    made = operation.created
    if made is None:
        return None
    if made.kind is ObjectKind.BUFFER:
        return _buffer(operation, made)
    if made.kind in BARRIERS:
        return _words(made.argument(1, "depth"), 1)
    if made.kind is ObjectKind.PIPELINE:
        return _words(made.argument(1, "stages"), 2)
    if made.kind is ObjectKind.TMEM_POOL:
        brings_address = dict(made.keywords).get("tmem_addr") is not None
        return (0, 0) if brings_address else (_ADDRESS, _ADDRESS)
    return None  # a scheduler: its size is its own affair


def _words(depth: Expr | None, sides: int) -> tuple[int, int] | None:
    slots = constant_int(depth)
    return (sides * slots * _WORD, _WORD) if slots is not None and slots >= 0 else None


def _buffer(operation: Operation, buffer: KernelObject) -> tuple[int, int] | None:
    kind, shape = operation.name, shape_of_buffer(buffer)
    if kind not in _DEFAULT_BYTES or shape is None:
        return None
    given = buffer.argument(1, "dtype")
    size = element_bytes(buffer) if given is not None else _DEFAULT_BYTES[kind]
    extents = [constant_int(extent) for extent in shape]
    known = [extent for extent in extents if extent is not None and extent >= 0]
    position, default = (3, _MATRIX_ALIGN) if kind in _MATRIX else (4, 0)
    align = constant_int(buffer.argument(position, "align") or Const(default))
    if size is None or align is None or len(known) != len(extents):
        return None
    return size * prod(known), align
