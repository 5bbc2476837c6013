"""Tile copies: between which memories, and which barrier they report to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, memory_of, region_of
from tirx_lens.model.expr import Call, Const, Expr, Item, Member, Ref
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind

if TYPE_CHECKING:
    from collections.abc import Iterable


def destination(copy: Operation) -> Region | None:
    """Return the part of a buffer that a copy writes."""
    return region_of(copy.argument(0, "dst"))


def origin(copy: Operation) -> Region | None:
    """Return the part of a buffer that a copy reads."""
    return region_of(copy.argument(1, "src"))


def goes(copy: Operation, src: Memory, dst: Memory) -> bool:
    """Tell whether a copy surely goes from one memory to another."""
    read, written = origin(copy), destination(copy)
    if read is None or written is None:
        return False
    return memory_of(read.buffer) is src and memory_of(written.buffer) is dst


def given(operation: Operation, keyword: str) -> Expr | None:
    """Return a keyword argument that is there and is not None."""
    value = dict(operation.keywords).get(keyword)
    return None if isinstance(value, Const) and value.value is None else value


def leaves_dispatch_open(operation: Operation, position: int) -> bool:
    """Tell whether an operation surely leaves the choice of its variant to TVM.

    `position` is that of `dispatch` among the arguments.
    """
    chosen = operation.argument(position, "dispatch")
    return operation.complete and (
        chosen is None or (isinstance(chosen, Const) and chosen.value is None)
    )


def barrier_in(expr: Expr | None) -> KernelObject | None:
    """Return the barrier whose word an expression points to: `full.ptr_to([stage])`."""
    match expr:
        case Ref(target=target) if target.kind in BARRIERS:
            return target
        case Call(callee=Member(base=base)):
            return barrier_in(base)
        case Call(arguments=(argument, *_)):  # T.address_of(full.buf[stage]), a mapped address
            return barrier_in(argument)
        case Item(base=base) | Member(base=base):
            return barrier_in(base)
    return None


def expected_bytes(arrival: Operation) -> tuple[KernelObject | None, Expr] | None:
    """Return the barrier that an arrival arms with a number of bytes, and that number.

    The barrier is None where the text does not say which it is.
    """
    barrier = arrival.receiver
    if barrier is not None:
        tma = barrier.kind is ObjectKind.TMA_BARRIER and arrival.op is Op.BARRIER_ARRIVE
        count = arrival.argument(1, "tx_count") if tma else None
        return (barrier, count) if count is not None else None
    raw = arrival.name.startswith("T.ptx.mbarrier") and ".expect_tx" in arrival.name
    if raw and len(arrival.arguments) > 1:
        return barrier_in(arrival.arguments[0]), arrival.arguments[1]
    return None


def armed(barrier: KernelObject, program: Iterable[Operation]) -> Operation | None:
    """Return the first arrival that makes a barrier wait for bytes."""
    for operation in program:
        expected = expected_bytes(operation)
        if expected is not None and expected[0] == barrier:
            return operation
    return None
