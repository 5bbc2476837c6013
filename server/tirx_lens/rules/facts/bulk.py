"""Copies that the TMA engine makes, and the barriers that count their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, memory_of
from tirx_lens.model.expr import Call, Const, Expr, Item, Member, Ref
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.rules.facts.copies import destination, origin

if TYPE_CHECKING:
    from collections.abc import Iterable


class Direction(Enum):
    """Which way a bulk copy goes."""

    LOAD = "TMA load"
    STORE = "TMA store"


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """A bulk copy between GMEM and SMEM.

    `shared` is the part of SMEM, None where the text does not tell. `mbar` is what a load signals.
    """

    direction: Direction
    shared: Region | None
    mbar: Expr | None

    @property
    def barrier(self) -> KernelObject | None:
        """The barrier whose word `mbar` points to; None where the text does not say."""
        return barrier_in(self.mbar)


def bulk_copy(operation: Operation) -> BulkCopy | None:
    """Return what an operation copies by TMA, if it surely does."""
    if operation.op is Op.COPY_ASYNC:
        return _tile_copy(operation)
    name = operation.name.removeprefix("T.ptx.")
    if name.startswith(("cp.async.bulk.tensor.", "cp.reduce.async.bulk.tensor.")):
        if ".shared::cluster.global" in name or ".shared::cta.global" in name:
            return BulkCopy(Direction.LOAD, None, None)
        if ".global.shared::cta" in name:
            return BulkCopy(Direction.STORE, None, None)
    return None


def _tile_copy(operation: Operation) -> BulkCopy | None:
    """Tell a TMA copy by its `dispatch=`; such copies are of one thread, `Tx.copy_async`."""
    dispatch = operation.argument(99, "dispatch")
    if operation.name != "Tx.copy_async" or not isinstance(dispatch, Const):
        return None
    if not str(dispatch.value).startswith("tma"):
        return None
    to, source = destination(operation), origin(operation)
    to_memory = memory_of(to.buffer) if to is not None else None
    from_memory = memory_of(source.buffer) if source is not None else None
    mbar = operation.argument(99, "mbar")
    if to_memory is Memory.SHARED or (from_memory is Memory.GLOBAL and mbar is not None):
        return BulkCopy(Direction.LOAD, to, mbar)
    if to_memory is Memory.GLOBAL and from_memory in (Memory.SHARED, None):
        return BulkCopy(Direction.STORE, source, None)
    if from_memory is Memory.SHARED:
        return BulkCopy(Direction.STORE, source, None)
    return None


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
