"""How many threads a kernel has, and how they are numbered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Id, IdKind, constant_int

if TYPE_CHECKING:
    from collections.abc import Iterable

WARP = 32
WARPGROUP = 128
_LARGEST_CTA = 1024
_LARGEST_CLUSTER = 16

_UNIT = {IdKind.THREAD: 1, IdKind.WARP: WARP, IdKind.WARPGROUP: WARPGROUP}


@dataclass(frozen=True)
class Shape:
    """The threads that a cluster-wide statement speaks of.

    A thread's number is `cta * threads + t`, with `cta` its CTA's rank in the cluster and `t` its
    number in the CTA: `warpgroup * 128 + warp_in_warpgroup * 32 + lane`. Sets of threads are
    integers with one bit a thread.

    `cluster_known` is false when the kernel names CTAs of a cluster without saying how many; then
    one CTA stands for all, and ids of CTAs have no known value.
    """

    threads: int
    ctas: int = 1
    cluster_known: bool = True

    @property
    def total(self) -> int:
        """The number of threads in the cluster."""
        return self.threads * self.ctas

    @cached_property
    def everyone(self) -> int:
        """The set of all threads of the cluster."""
        return (1 << self.total) - 1

    def cta(self, rank: int) -> int:
        """Return the set of all threads of one CTA."""
        return ((1 << self.threads) - 1) << (rank * self.threads)

    @cached_property
    def warp_starts(self) -> int:
        """The set of the first thread of each warp; 0 where a warp may have fewer threads."""
        return (
            sum(1 << first for first in range(0, self.total, WARP))
            if not self.threads % WARP
            else 0
        )

    @cached_property
    def thread_zeros(self) -> int:
        """The set of the threads number 0 of each CTA."""
        return sum(1 << (rank * self.threads) for rank in range(self.ctas))

    @property
    def warpgroups(self) -> int:
        """The number of warpgroups in a CTA, the last perhaps not full."""
        return -(-self.threads // WARPGROUP)

    def warpgroup(self, number: int, cta: int = 0) -> int:
        """Return the set of the threads of one warpgroup of one CTA."""
        start = number * WARPGROUP
        size = min(WARPGROUP, self.threads - start)
        return ((1 << size) - 1) << (cta * self.threads + start)


def shape_of(scope_ids: Iterable[Id]) -> Shape | None:
    """Return the shape that a kernel's scope ids declare; None when the text does not say.

    TVM infers an extent left open from its siblings (`LowerTIRx`): so do we. Declarations that
    contradict each other give None; TVM refuses them.
    """
    sizes: set[int] = set()
    clusters: set[int] = set()
    cluster_named = False
    for scope_id in scope_ids:
        known = [constant_int(extent) for extent in scope_id.extents]
        product = 1
        for extent in known:
            product *= extent if extent is not None and extent > 0 else 0
        if scope_id.kind in _UNIT and known and product:
            sizes.add(product * _UNIT[scope_id.kind])
        elif scope_id.kind in _UNIT and known:
            return None  # an extent that is not known
        elif scope_id.kind is IdKind.CTA_IN_CLUSTER and product and known:
            clusters.add(product)
        elif scope_id.kind in (IdKind.CTA_IN_CLUSTER, IdKind.CTA_IN_PAIR, IdKind.CLUSTER):
            cluster_named = True
    if len(sizes) != 1:
        return None
    (threads,) = sizes
    if threads > _LARGEST_CTA:
        return None
    if len(clusters) == 1 and max(clusters) <= _LARGEST_CLUSTER:
        return Shape(threads, max(clusters))
    return Shape(threads, 1, cluster_known=not cluster_named and not clusters)
