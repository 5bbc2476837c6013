"""The copies of a kernel that the TMA engine makes, found once for all rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.bulk import BulkCopy, Direction, bulk_copy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.threads.reach import Reached, ReachMap

_RAW = "T.ptx.cp."


def engine_copies(reach: ReachMap) -> Mapping[int, BulkCopy]:
    """Return the bulk copies that are reached, by the operation's identity, in program order."""
    return reach.once(_engine_copies)


def engine_stores(reach: ReachMap) -> list[Reached]:
    """Return the TMA stores, in program order."""
    return [
        reach.by_operation[operation]
        for operation, copy in engine_copies(reach).items()
        if copy.direction is Direction.STORE
    ]


def _engine_copies(reach: ReachMap) -> dict[int, BulkCopy]:
    found: dict[int, BulkCopy] = {}
    for reached in reach.reached:
        operation = reached.operation
        if operation.op is Op.COPY_ASYNC or operation.name.startswith(_RAW):
            copy = bulk_copy(operation)
            if copy is not None:
                found[id(operation)] = copy
    return found
