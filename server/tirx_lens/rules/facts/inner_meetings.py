"""Tile operations that meet inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.tmem import named_by

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation

_WIDE = ("Tx.cta.", "Tx.wg.", "Tx.warpgroup.")


def may_meet_inside(operation: Operation) -> bool:
    """Tell whether an operation may bring its threads together, beyond what it computes.

    What TVM makes of element-wise operations and reductions on SMEM ends with `cta_sync`, or with
    `warpgroup_sync(8)` for a warpgroup; on registers it has no barrier, and copies never have.
    Source: TVM, `backend/cuda/tile_primitive/elementwise/_common.py` and `reduction/shared.py`.
    """
    if operation.op is not Op.TILE_OP or not operation.name.startswith(_WIDE):
        return False
    return any(memory_of(buffer) in (Memory.SHARED, None) for buffer in named_by(operation))
