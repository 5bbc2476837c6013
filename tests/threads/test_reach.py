"""Who reaches a statement: each `T.cuda.warp_sync()` below says it in its comment."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tirx_lens.model.source import SourceText
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.describe import describe
from tirx_lens.threads.reach import ReachMap, reach

HEAD = """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.warp_role import WarpgroupRole, WarpRole
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D

LOADER = 3


class Roles:
    LOADER = 2
    HALF = 1 / 2


ROLES = Roles(LOADER=0)
TABLE = {"lane": 7, "lanes": 2}
MORE = dict(**TABLE)


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16"), n: T.int32):
    bx, by = T.cta_id([4, 2])
"""
TWO_WARPGROUPS = """\
    wg = T.warpgroup_id([2])
    warp = T.warp_id_in_wg([4])
    lane = T.lane_id([32])
    tid = T.thread_id([256])
    sched = ClusterPersistentScheduler2D("tiles", 4, 4)
"""
TWO_CTAS = """\
    rank = T.cta_id_in_cluster([2])
    tid = T.thread_id([128])
    warp = T.warp_id([4])
"""
MARK = "T.cuda.warp_sync()  #: "


def follow(text: str) -> ReachMap:
    (kernel,) = read_kernels(SourceText(text)).kernels
    reached = reach(kernel, compute)
    assert reached is not None
    return reached


def check(ids: str, body: str) -> None:
    """Compare what each marked call says with who reaches it."""
    text = HEAD + ids + indent(dedent(body).strip("\n") + "\n", "    ")
    source = SourceText(text)
    found = follow(text)
    said = {i: line.partition(MARK)[2] for i, line in enumerate(text.splitlines()) if MARK in line}
    assert said
    got = {
        source.line_of(r.operation.span.start): describe(r.participants, found.shape)
        for r in found.reached
        if r.operation.name == "T.cuda.warp_sync"
    }
    assert got == said


CASES = {
    "no guard": "T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)",
    "warpgroup": """
        if wg == 1:
            T.cuda.warp_sync()  #: warpgroup 1 (128 of 256 threads)
        else:
            T.cuda.warp_sync()  #: warpgroup 0 (128 of 256 threads)
    """,
    "a warp of each warpgroup": """
        if warp == 0:
            T.cuda.warp_sync()  #: warp 0 of every warpgroup (64 of 256 threads)
    """,
    "nested and elif": """
        if wg == 1 and warp == LOADER:
            if lane == 0:
                T.cuda.warp_sync()  #: thread 224 of the CTA (1 of 256 threads)
        elif wg == 1:
            T.cuda.warp_sync()  #: warps 0-2 of warpgroup 1 (96 of 256 threads)
        else:
            T.cuda.warp_sync()  #: warpgroup 0 (128 of 256 threads)
    """,
    "or, not, chained comparison": """
        if wg == 0 or warp == 2:
            T.cuda.warp_sync()  #: warps 0, 1, 2, 3 and 6 (160 of 256 threads)
        if not (wg == 0):
            T.cuda.warp_sync()  #: warpgroup 1 (128 of 256 threads)
        if 32 <= tid < 64:
            T.cuda.warp_sync()  #: warp 1 of warpgroup 0 (32 of 256 threads)
    """,
    "arithmetic on ids": """
        if tid // 128 == 1 and tid % 32 < 16:
            T.cuda.warp_sync()  #: lanes 0-15 of warps 0-3 of warpgroup 1 (64 of 256 threads)
        if wg * 128 + warp * 32 + lane == tid:
            T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)
        if (warp & 1) == 1:
            T.cuda.warp_sync()  #: warps 1 and 3 of every warpgroup (128 of 256 threads)
    """,
    "aliases": """
        group = wg
        is_loader = T.meta_var(group == 1)
        first: T.let[T.bool] = lane == 0
        if is_loader and first:
            T.cuda.warp_sync()  #: lane 0 of warps 0-3 of warpgroup 1 (4 of 256 threads)
    """,
    "election": """
        if wg == 1 and warp != 0:
            if T.cuda.elect_sync():
                T.cuda.warp_sync()  #: one elected lane of each of warps 1-3 of warpgroup 1 (3 of 256 threads)
        if tid < 32:
            if T.cuda.elect_sync():
                pass
            else:
                T.cuda.warp_sync()  #: all lanes but the elected one of warp 0 of warpgroup 0 (31 of 256 threads)
        if wg == 1 and warp == 3 and T.ptx.elect_sync():
            T.cuda.warp_sync()  #: one elected lane of warp 3 of warpgroup 1 (1 of 256 threads)
    """,
    "filter": """
        if T.filter(lane, wg == 0 and T.cuda.elect_sync() != 0):
            T.cuda.warp_sync()  #: one elected lane of each warp of warpgroup 0 (4 of 256 threads)
        if T.filter(tid, tid < 32):
            T.cuda.warp_sync()  #: warp 0 of warpgroup 0 (32 of 256 threads)
    """,
    "host constants are no thread guards": """
        if LOADER == 3:
            T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)
        if n > 4 and wg == 1:
            T.cuda.warp_sync()  #: warpgroup 1 (128 of 256 threads)
        if bx == 0:
            T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)
    """,
    "data": """
        if A[tid] > T.float16(0):
            if wg == 0:
                T.cuda.warp_sync()  #: some threads of warpgroup 0
    """,
    "loops": """
        if wg == 0:
            while sched.valid():
                T.cuda.warp_sync()  #: warpgroup 0 (128 of 256 threads)
                for k in range(n):
                    T.cuda.warp_sync()  #: warpgroup 0 (128 of 256 threads)
        for k in range(tid):
            T.cuda.warp_sync()  #: some threads of the whole CTA
    """,
    "early exits": """
        for k in range(4):
            if wg == 1:
                continue
            T.cuda.warp_sync()  #: warpgroup 0 (128 of 256 threads)
        T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)
        if wg == 0:
            if warp == 0:
                return
        T.cuda.warp_sync()  #: warps 1-7 (224 of 256 threads)
    """,
    "roles": """
        loader = WarpRole(warp, 1)
        with loader:
            T.cuda.warp_sync()  #: warp 1 of every warpgroup (64 of 256 threads)
        with WarpgroupRole(wg, (0, 2)):
            T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)
    """,
    "inlined functions": """
        @T.inline
        def only(group, count):
            if wg == group:
                for _ in T.serial(count):
                    step()

        @T.inline
        def step():
            T.cuda.warp_sync()  #: warp 2 of warpgroup 1 (32 of 256 threads)

        if warp == 2:
            only(1, count=4)
    """,
    "an id with one value": """
        one = T.warp_id_in_wg([4])
        zero = T.cta_id_in_cluster([1])
        if zero == 0:
            T.cuda.warp_sync()  #: the whole CTA (256 of 256 threads)
    """,
    "a scalar that changes is not known": """
        turn: T.int32 = 0
        turn = turn + 1
        if turn == 1 and wg == 1:
            T.cuda.warp_sync()  #: some threads of warpgroup 1
    """,
    "a name stored to in a branch is not known": """
        who = wg
        if wg == 1:
            who = lane
        if who == 0:
            T.cuda.warp_sync()  #: some threads of the whole CTA
    """,
    "an annotated scalar with one value": """
        group: T.int32 = wg
        if group == 1:
            T.cuda.warp_sync()  #: warpgroup 1 (128 of 256 threads)
    """,
    "a warp's number by shuffle": """
        number = T.cuda.__shfl_sync(T.uint32(0xFFFFFFFF), tid // 32, 0, 32)
        if number == 5:
            T.cuda.warp_sync()  #: warp 1 of warpgroup 1 (32 of 256 threads)
        if T.cuda.__shfl_sync(T.uint32(0xFFFFFFFF), tid, 1, 32) == 33:
            T.cuda.warp_sync()  #: warp 1 of warpgroup 0 (32 of 256 threads)
    """,
    "constants of a class": """
        if warp == Roles.LOADER and wg == int(Roles.HALF * 2):
            T.cuda.warp_sync()  #: warp 2 of warpgroup 1 (32 of 256 threads)
        if warp == ROLES.LOADER and lane == TABLE["lane"]:
            T.cuda.warp_sync()  #: lane 7 of warp 0 of every warpgroup (2 of 256 threads)
        if T.And(*(wg == 0, lane < MORE["lanes"])):
            T.cuda.warp_sync()  #: lanes 0 and 1 of warps 0-3 of warpgroup 0 (8 of 256 threads)
    """,
    "a store in an inlined function": """
        turn = 0

        @T.inline
        def step():
            turn = 1

        step()
        if turn == 0:
            T.cuda.warp_sync()  #: some threads of the whole CTA
    """,
    "select": """
        group = T.Select(warp == 0, 1, 0)
        if group == 1 and wg == 0:
            T.cuda.warp_sync()  #: warp 0 of warpgroup 0 (32 of 256 threads)
        if (wg == 1) if LOADER == 3 else (wg == 0):
            T.cuda.warp_sync()  #: warpgroup 1 (128 of 256 threads)
    """,
}

CLUSTER_CASES = {
    "one CTA": """
        if rank == 1:
            T.cuda.warp_sync()  #: CTA 1 (128 of 256 threads)
    """,
    "a thread of each": """
        if tid == 0:
            T.cuda.warp_sync()  #: thread 0 of the CTA (1 of 128 threads)
    """,
    "everyone": "T.cuda.warp_sync()  #: the whole cluster (128 of 128 threads)",
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES.keys())
def test_who_reaches_it(body: str) -> None:
    check(TWO_WARPGROUPS, body)


@pytest.mark.parametrize("body", CLUSTER_CASES.values(), ids=CLUSTER_CASES.keys())
def test_who_reaches_it_in_a_cluster(body: str) -> None:
    check(TWO_CTAS, body)


@pytest.mark.parametrize(
    "ids",
    [
        "    wg = T.warpgroup_id([WARPGROUPS])\n",  # a name nothing binds
        "    tid = T.thread_id([256])\n    wg = T.warpgroup_id([3])\n",  # a contradiction
        "    lane = T.lane_id([32])\n",  # how many warps?
        "    tid = T.thread_id([4096])\n",  # more than a CTA can have
    ],
)
def test_without_a_thread_count_there_is_nothing_to_say(ids: str) -> None:
    text = HEAD + ids + "    T.cuda.cta_sync()\n"
    (kernel,) = read_kernels(SourceText(text)).kernels
    assert reach(kernel, compute) is None
