"""The mistakes of `peers.py`: changes of a step-7 GEMM, and what the peers said of each.

Changes keep the number of lines. The columns of the peers are recorded, not computed: what
synccheck and racecheck of tirx-harness 0.1.2 said with TVM 0.27.0.post1, which builds them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Row:
    """A mistake: texts that occur once, each with what takes its place, and the peers' words."""

    what: str
    synccheck: str
    racecheck: str
    changes: tuple[tuple[str, str], ...] = ()

    def made_in(self, text: str) -> str:
        """Return a text with the mistake in it."""
        for old, new in self.changes:
            assert text.count(old) == 1, (self.what, old)
            assert old.count("\n") == new.count("\n"), (self.what, old)
            text = text.replace(old, new)
        return text


_ACQUIRE = "empty.wait(load.stage, load.phase)"
_ARMED = "full.arrive(load.stage, STAGE_BYTES)"
_CONSUME = "full.wait(mma.stage, mma.phase)"
_TAKE_ACC = "acc_empty.wait(0, acc_free.phase)"
_READ_ACC = "acc_full.wait(0, acc_done.phase)"
_RELEASE = "acc_empty.arrive(0)"
_NEXT = "tiles.next_tile()"
_COMMITTED = f"acc_full.arrive(0)\n                        {_NEXT}"
_WAIT_LD = "T.ptx.tcgen05.wait__ld.sync.aligned()"
_FENCE = "T.ptx.fence.proxy.async_.shared__cta()"
_SYNC, _MEET = "T.cuda.cta_sync()", "T.cuda.warpgroup_sync(WRITEBACK_BARRIER)"
_PUBLISH = f"{_SYNC}\n        tmem_base"
_BEFORE_STORE = f"{_FENCE}\n                    {_MEET}"
_AFTER_STORE = (
    f"# Ds has been read: the next columns may overwrite it.\n                    {_MEET}"
)
_COMMIT, _DRAIN = "T.ptx.cp.async_.bulk.commit_group()", "T.ptx.cp.async_.bulk.wait_group.read(0)"
_INITS = ("full.init(1)", "acc_full.init(1)", "acc_empty.init(WRITEBACK)")
_LAST_ALLOC = 'Ds = pool.alloc_tcgen05_mma_AB((BM, EPI_N), "float16")'
_WARP_0 = "if warp_id == 0:\n                T.ptx"

_MMA_ROLE = """\
                if T.cuda.elect_sync():
                    mma = PipelineState(DEPTH, phase=0)
                    acc_free = PipelineState(1, phase=1)
                    while tiles.valid():
"""
_MMA_ROLE_OF_A_WARP = """\
                mma = PipelineState(DEPTH, phase=0)
                acc_free = PipelineState(1, phase=1)
                while tiles.valid():
                    if T.cuda.elect_sync():
"""
_LOADED = """\
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
                    if i == BN // EPI_N - 1:
                        # The last columns are in registers: the next tile may overwrite acc.
                        T.ptx.tcgen05.fence__before_thread_sync()
                        acc_empty.arrive(0)
"""
_GIVEN_BACK_EARLY = """\
                    if i == BN // EPI_N - 1:
                        # The last columns are in registers: the next tile may overwrite acc.
                        T.ptx.tcgen05.fence__before_thread_sync()
                        acc_empty.arrive(0)
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
"""
_END = """\
        T.cuda.cta_sync()
        if wg_id == 0:
            if warp_id == 0:
                T.ptx["tcgen05.relinquish"""


def _found(what: str, *changes: tuple[str, str]) -> Row:
    return Row(what, "found", "found, often with no line", changes)


def _found_nowhere(what: str, *changes: tuple[str, str]) -> Row:
    return Row(what, "found, no line", "found, no line", changes)


def _missed(what: str, *changes: tuple[str, str]) -> Row:
    return Row(what, "missed", "missed", changes)


def _raced(what: str, *changes: tuple[str, str]) -> Row:
    return Row(what, "missed", "found, both lines", changes)


def _rows() -> Iterator[Row]:
    yield Row("nothing: the correct kernel", "clean", "clean")
    yield _found("one thread of 128 arrives", (_RELEASE, f"if warp_id + lane_id == 0: {_RELEASE}"))
    yield _found(
        "inits in warpgroup 1",
        *((f"        {init}\n", f"        if wg_id == 1: {init}\n") for init in _INITS),
        ("        empty.init(1)\n", "        if wg_id == 1: empty.init(1)\n"),
    )
    yield _found(
        "cta_sync in warpgroup 0",
        (_BEFORE_STORE, _BEFORE_STORE.replace(_MEET, _SYNC)),
    )
    yield _found("next_tile left out by a role", (_COMMITTED, _COMMITTED.replace(_NEXT, "pass")))
    for role, state, phase in (
        ("loads start", "load = PipelineState(DEPTH, phase={})", 1),
        ("MMAs start", "mma = PipelineState(DEPTH, phase={})", 0),
        ("MMAs take the accumulator", "acc_free = PipelineState(1, phase={})", 1),
        ("writeback starts", "acc_done = PipelineState(1, phase={})", 0),
    ):
        wrong = 1 - phase
        yield _found(f"{role} at phase {wrong}", (state.format(phase), state.format(wrong)))
    yield _found("half the bytes expected", (_ARMED, _ARMED.replace("BYTES", "BYTES // 2")))
    yield _found("twice the bytes expected", (_ARMED, _ARMED.replace("BYTES", "BYTES * 2")))
    yield _found("no cta_sync after the inits", (_PUBLISH, _PUBLISH.replace(_SYNC, "")))
    yield _found(
        "ring depth 1, for the loads",
        ("load = PipelineState(DEPTH, phase=1)", "load = PipelineState(1, phase=1)"),
    )
    for wait in (_ACQUIRE, _CONSUME, _TAKE_ACC, _READ_ACC):
        yield _found(f"no wait at {wait.partition('.')[0]}", (wait, "pass"))
    rounds = "for k in range(K_TILES):\n                            full"
    yield Row(
        "MMA loop runs K_TILES - 1",
        "missed at 2 tiles a CTA, found at 4",
        "missed at 2 tiles a CTA",
        ((rounds, rounds.replace("K_TILES", "K_TILES - 1")),),
    )
    after_commit = f"pool.commit()\n        {_LAST_ALLOC}"
    yield Row(
        "allocation after commit",
        "incomplete",
        "incomplete",
        ((f"{_LAST_ALLOC}\n        pool.commit()", after_commit),),
    )
    alone = "if warp_id == 0 and lane_id == 0:\n                T.ptx"
    for what, instruction in (("TMEM allocation", "alloc"), ("TMEM dealloc", "relinquish")):
        name = f'["tcgen05.{instruction}'
        yield _found_nowhere(f"lane guard on the {what}", (_WARP_0 + name, alone + name))
    yield _found_nowhere(
        "commit outside elect",
        (_MMA_ROLE, _MMA_ROLE_OF_A_WARP),
        (f"    {_COMMITTED}", _COMMITTED.replace("\n    ", "\n")),
    )
    yield _missed("TMA load out of the tensor", ("A[m : m + BM,", "A[m + BM : m + 2 * BM,"))
    yield _missed("TMA store out of the tensor", ("D[m : m + BM,", "D[m + BM : m + 2 * BM,"))
    yield Row(
        "SMEM row out of range",
        "found, no line",
        "found",
        (("Tx.wg.copy(Ds[:, :]", "Tx.wg.copy(Ds[1 : BM + 1, :]"),),
    )
    stage = "As[load.stage, :, :]"
    yield Row(
        "SMEM stage out of range",
        "found, no line",
        "found",
        ((stage, stage.replace("stage", "stage + 1")),),
    )
    yield _raced("no proxy fence", (_FENCE, "pass"))
    yield _raced("no commit_group and wait_group", (_COMMIT, "pass"), (_DRAIN, "pass"))
    yield _raced("no sync before the store", (_BEFORE_STORE, f"{_FENCE}\n"))
    yield _raced("no sync after the store", (_AFTER_STORE, "\n                    pass"))
    after = f"acc_done.advance()\n                {'T.ptx.tcgen05.fence__after_thread_sync()'}"
    yield _missed("no after_thread_sync", (after, "acc_done.advance()\n"))
    yield Row("no wait.ld", "missed", "review", ((_WAIT_LD, "pass"),))
    yield Row("arrive before wait.ld", "missed", "review", ((_LOADED, _GIVEN_BACK_EARLY),))
    each = _END.replace("        if wg_id == 0:\n", "        if True:\n")
    yield Row("dealloc by a warp of each warpgroup", "error", "error", ((_END, each),))


ROWS = tuple(_rows())
