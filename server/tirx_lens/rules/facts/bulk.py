"""Copies that the TMA engine makes, as tile operations and as instructions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, memory_of, region_of
from tirx_lens.model.expr import Const
from tirx_lens.model.kernel import Op

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation


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
    to, source = region_of(operation.argument(0, "dst")), region_of(operation.argument(1, "src"))
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
