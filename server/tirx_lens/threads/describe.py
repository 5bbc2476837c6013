"""Sets of threads in words, for messages: "warpgroup 0 (128 of 256 threads)"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.threads.participants import Participants, Pick
from tirx_lens.threads.shape import WARP, WARPGROUP, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable


def describe(who: Participants, shape: Shape) -> str:
    """Say who comes, with the numbers: "one elected lane of warp 3 of warpgroup 1 (1 of 256)"."""
    total = shape.threads if _same_in_each_cta(who.possible, shape) else shape.total
    folded = Participants(
        who.possible & shape.cta(0) if total == shape.threads else who.possible,
        who.typical & shape.cta(0) if total == shape.threads else who.typical,
        who.pick,
        who.conditional,
    )
    where = place(who.possible, shape)
    count = folded.count(shape)
    if who.pick is Pick.ONE_PER_WARP:
        where = f"one elected lane of {_each(where)}"
    elif who.pick is Pick.ALL_BUT_ONE:
        where = f"all lanes but the elected one of {_each(where)}"
    elif who.pick is Pick.SOME:
        return f"some threads of {where}"
    return f"{where} ({count} of {total} threads)"


def place(threads: int, shape: Shape) -> str:
    """Name a set of threads as the field does, by the largest units it is made of."""
    if not threads:
        return "no thread"
    if threads == shape.everyone:
        return "the whole cluster" if shape.ctas > 1 else "the whole CTA"
    if not _same_in_each_cta(threads, shape):
        ranks = [rank for rank in range(shape.ctas) if threads & shape.cta(rank)]
        inside = {(threads & shape.cta(rank)) >> (rank * shape.threads) for rank in ranks}
        if len(inside) == 1:
            only = inside.pop()
            whole = only == shape.cta(0)
            return (
                f"{_numbered('CTA', ranks)}"
                if whole
                else f"{_in_cta(only, shape)} of CTA {ranks[0]}"
            )
        return "several CTAs"
    return _in_cta(threads & shape.cta(0), shape)


def _in_cta(threads: int, shape: Shape) -> str:
    if threads == shape.cta(0):
        return "every thread of the CTA"
    groups = [number for number in range(shape.warpgroups) if threads & shape.warpgroup(number)]
    parts = {number: threads & shape.warpgroup(number) for number in groups}
    if all(part == shape.warpgroup(number) for number, part in parts.items()):
        return _numbered("warpgroup", groups)
    warps = [warp for warp in range(shape.threads // WARP) if _warp(threads, warp)]
    if threads.bit_count() == 1:
        return f"thread {threads.bit_length() - 1} of the CTA"
    full = all(_warp(threads, warp) == (1 << WARP) - 1 for warp in warps)
    if full:
        return _warps(warps, shape)
    lanes = {_warp(threads, warp) for warp in warps}
    if len(lanes) == 1:
        return f"{_lanes(lanes.pop())} of {_warps(warps, shape)}"
    return f"{threads.bit_count()} threads"


def _warps(warps: list[int], shape: Shape) -> str:
    per_group = WARPGROUP // WARP
    groups = sorted({warp // per_group for warp in warps})
    inside = {tuple(w % per_group for w in warps if w // per_group == g) for g in groups}
    if shape.warpgroups > 1 and len(inside) == 1:
        numbers = list(inside.pop())
        every = (
            "every warpgroup" if len(groups) == shape.warpgroups else _numbered("warpgroup", groups)
        )
        return f"{_numbered('warp', numbers)} of {every}"
    return _numbered("warp", warps)


def _lanes(lanes: int) -> str:
    return _numbered("lane", [lane for lane in range(WARP) if lanes >> lane & 1])


def _numbered(unit: str, numbers: Iterable[int]) -> str:
    """Say "warp 3", "warps 0 and 2", "lanes 0-15"."""
    ordered = sorted(numbers)
    if len(ordered) == 1:
        return f"{unit} {ordered[0]}"
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{unit}s {ordered[0]}-{ordered[-1]}"
    if len(ordered) > 6:
        return f"{len(ordered)} {unit}s"
    return f"{unit}s " + ", ".join(map(str, ordered[:-1])) + f" and {ordered[-1]}"


def _each(where: str) -> str:
    """Say of how many warps an election takes one lane each."""
    if where.startswith("warps "):
        return f"each of {where}"
    several = where.startswith(("warpgroup", "the ", "every"))
    return f"each warp of {where}" if several else where


def _warp(threads: int, warp: int) -> int:
    return threads >> (warp * WARP) & ((1 << WARP) - 1)


def _same_in_each_cta(threads: int, shape: Shape) -> bool:
    first = threads & shape.cta(0)
    return all(
        (threads & shape.cta(rank)) >> (rank * shape.threads) == first for rank in range(shape.ctas)
    )
