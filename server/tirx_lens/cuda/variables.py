"""What the names in a kernel's CUDA stand for: thread numbers, values that never change, others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const, Expr, Id, IdKind, Unknown, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Launch:
    """How a kernel is started: threads of a block along x, CTAs of a cluster; None: not known.

    `flat` says that the block has no second dimension, so that `threadIdx.x` counts all threads.
    """

    threads: int | None
    cluster: int | None = None
    flat: bool = True

    def scope_ids(self) -> tuple[Id, ...]:
        """Return the ids that give a kernel this shape."""
        ids = []
        if self.threads is not None and self.flat:
            ids.append(self.thread)
        if self.cluster is not None and self.cluster > 1:
            ids.append(self.cta_in_cluster)
        return tuple(ids)

    @property
    def thread(self) -> Id:
        """The number of a thread in its CTA."""
        return Id(IdKind.THREAD, (Const(self.threads),) if self.threads is not None else ())

    @property
    def cta_in_cluster(self) -> Id:
        """The rank of a CTA in its cluster."""
        extents = (Const(self.cluster),) if self.cluster is not None else ()
        return Id(IdKind.CTA_IN_CLUSTER, extents)

    def builtin(self, variable: str, axis: str) -> Expr:
        """Return what `threadIdx.x` and its like stand for."""
        if variable == "threadIdx":
            if self.flat:
                return self.thread if axis == "x" else Const(0)
            return Unknown("a thread number of a block with several dimensions")
        if variable == "blockIdx":
            return Id(IdKind.CTA)
        return Variable(f"{variable}.{axis}", uniform=True)


@dataclass(frozen=True, slots=True)
class Scope:
    """The names known at a place: what each constant stands for, and which arrays are uniform.

    A scalar array (`int stage_ptr[1]`) is uniform when every value ever stored in it is the same in
    all threads of the CTA: each role then keeps a copy of its own, and all step alike.
    """

    values: Mapping[str, Expr] = field(default_factory=dict)
    changing: frozenset[str] = frozenset()
    uniform: frozenset[str] = frozenset()

    def of(self, name: str) -> Expr:
        """Return what a name stands for."""
        known = self.values.get(name)
        if known is not None and name not in self.changing:
            return known
        return Variable(name, uniform=name in self.uniform)
