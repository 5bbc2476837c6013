"""Sets of threads seen warp by warp, against what the words say."""

from __future__ import annotations

import random

import pytest

from tirx_lens.threads.shape import WARP, Shape
from tirx_lens.threads.warps import lowest_lanes, warps_touched

SHAPES = (
    Shape(32),
    Shape(384, 2),
    Shape(1024, 16),
    Shape(100, 3),  # the last warp of each CTA has four threads
    Shape(20, 2),
)


def warp_of(thread: int, shape: Shape) -> tuple[int, int]:
    cta, number = divmod(thread, shape.threads)
    return cta, number // WARP


def sets(shape: Shape) -> list[int]:
    rng = random.Random(shape.total)
    dense = [rng.getrandbits(shape.total) for _ in range(20)]
    sparse = [one & rng.getrandbits(shape.total) & rng.getrandbits(shape.total) for one in dense]
    few = [1 << rng.randrange(shape.total) for _ in range(20)]
    return [0, shape.everyone, *dense, *sparse, *few]


@pytest.mark.parametrize("shape", SHAPES)
def test_warps_touched_are_all_threads_of_them(shape: Shape):
    for threads in sets(shape):
        inside = [thread for thread in range(shape.total) if threads >> thread & 1]
        warps = {warp_of(thread, shape) for thread in inside}
        touched = [thread for thread in range(shape.total) if warp_of(thread, shape) in warps]
        assert warps_touched(threads, shape) == sum(1 << thread for thread in touched)


@pytest.mark.parametrize("shape", SHAPES)
def test_lowest_lanes_are_one_of_each_warp(shape: Shape):
    for threads in sets(shape):
        lowest: dict[tuple[int, int], int] = {}
        for thread in range(shape.total):
            if threads >> thread & 1:
                lowest.setdefault(warp_of(thread, shape), thread)
        assert lowest_lanes(threads, shape) == sum(1 << thread for thread in lowest.values())
