"""Sets of threads seen warp by warp."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tirx_lens.threads.shape import WARP

if TYPE_CHECKING:
    from tirx_lens.threads.shape import Shape


_WHOLE = (1 << WARP) - 1


@lru_cache(maxsize=64)
def warps_of(shape: Shape) -> tuple[int, ...]:
    """Return the set of threads of every warp of the cluster, in order."""
    warps = []
    for cta in range(shape.ctas):
        for start in range(0, shape.threads, WARP):
            size = min(WARP, shape.threads - start)
            warps.append(((1 << size) - 1) << (cta * shape.threads + start))
    return tuple(warps)


def lowest_lanes(threads: int, shape: Shape) -> int:
    """Return the lowest thread of each warp that the set touches."""
    starts = shape.warp_starts
    if starts:  # `threads & -threads`, in each warp by itself: no borrow leaves its highest bit
        highest = starts << (WARP - 1)
        negated = (highest - (threads & ~highest)) ^ (~threads & highest)
        return threads & negated
    lowest = 0
    for warp in warps_of(shape):
        inside = threads & warp
        lowest |= inside & -inside
    return lowest


def warps_touched(threads: int, shape: Shape) -> int:
    """Return all threads of the warps that the set touches."""
    starts = shape.warp_starts
    if starts:
        if threads in (0, shape.everyone):
            return threads
        for step in (16, 8, 4, 2, 1):  # the first bit of a warp becomes that any of its bits is set
            threads |= threads >> step
        return (threads & starts) * _WHOLE
    touched = 0
    for warp in warps_of(shape):
        if threads & warp:
            touched |= warp
    return touched
