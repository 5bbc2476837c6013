"""The typed objects of a kernel: barriers, pools, pipelines, schedulers, buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kind import Kind
from tirx_lens.model.record import record

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.span import Span


class ObjectKind(Kind):
    """What an object is; the value is what a message calls it."""

    MBARRIER = "mbarrier"
    TMA_BARRIER = "TMA barrier"
    TCGEN05_BARRIER = "tcgen05 barrier"
    PIPELINE = "pipeline"
    PIPELINE_STATE = "pipeline state"
    SMEM_POOL = "SMEM pool"
    TMEM_POOL = "TMEM pool"
    SCHEDULER = "tile scheduler"
    WARP_ROLE = "warp role"
    WARPGROUP_ROLE = "warpgroup role"
    BUFFER = "buffer"


BARRIERS = frozenset({ObjectKind.MBARRIER, ObjectKind.TMA_BARRIER, ObjectKind.TCGEN05_BARRIER})
"""The kinds that wrap mbarrier words and have `init`, `wait` and `arrive`."""


@record(eq=False)  # has its own, which look at the serial number alone
class KernelObject:
    """One object. Two are equal when they come from the same construction (`serial`).

    `name` is the variable it was first bound to (`full`, `pipe.empty`), or what constructed it.
    `span` is the constructing call; `arguments` and `keywords` are what it was given. Where it is
    seen through a `remote_view`, `cta` is the rank of the CTA whose copy is meant.
    """

    serial: int
    kind: ObjectKind
    name: str
    span: Span
    class_name: str = ""
    arguments: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    cta: Expr | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelObject) and self.serial == other.serial

    def __hash__(self) -> int:
        return self.serial

    def argument(self, position: int, keyword: str) -> Expr | None:
        """Return a constructor argument by its position or its keyword."""
        for name, value in self.keywords:
            if name == keyword:
                return value
        return self.arguments[position] if position < len(self.arguments) else None
