"""TX309: storage that is read before its data is there, or written before its reader is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.history import Hazard
from tirx_lens.protocol.program import Place
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.races import Race, unmet_reuses, unmet_writes
from tirx_lens.rules.facts.unwaited import unwaited
from tirx_lens.rules.histories import RaceFound, races_at_other_sizes, races_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.rules.facts.races import Found
    from tirx_lens.threads.reach import ReachMap

_DOES = {
    Hazard.READ_EARLY: ("reads", "writes it"),
    Hazard.OVERWRITTEN: ("writes", "reads it"),
    Hazard.WRITTEN_TWICE: ("writes", "writes it"),
}

_WRITEBACK = """
    pool = T.SMEMPool()
    Ds = pool.alloc((128, 8), "float16")
    f16 = T.wg_reg_tile(8, dtype="float16")
    pool.commit()
    if wg_id == 0:
        for i in range(4):
            Tx.wg.copy(Ds[:, :], f16[:, :]){first}
            T.ptx.fence.proxy.async_.shared__cta()
            {written}
            if warp_id == 0:
                if T.cuda.elect_sync():
                    Tx.copy_async(A[0:1024], Ds[:, :], dispatch="tma_auto"){second}
                    T.ptx.cp.async_.bulk.commit_group()
                    T.ptx.cp.async_.bulk.wait_group.read(0)
            {read}
"""
_MEET = "T.cuda.warpgroup_sync(1)"
_TILE_DONE = "acc_full.arrive(0)"
_RING = """
    pool = T.SMEMPool()
    full = TMABar(pool, 2)
    empty = TCGen05Bar(pool, 2)
    acc_full = TCGen05Bar(pool, 1)
    acc_empty = MBarrier(pool, 1)
    As = pool.alloc((2, 128, 8), "float16")
    pool.commit()
    full.init(1)
    empty.init(1)
    acc_full.init(1)
    acc_empty.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
    f32 = T.wg_reg_tile(128)
    if wg_id == 1 and warp_id == 3 and lane_id == 0:
        load = PipelineState(2, phase=1)
        for tile in range(4):
            for k in range(8):
                {room}
                full.arrive(load.stage, 2048)
                Tx.copy_async(  # load
                    As[load.stage, :, :],
                    A[k * 1024 : k * 1024 + 1024],
                    dispatch="tma_auto",
                    mbar=full.ptr_to([load.stage]),
                )
                load.advance()
    elif wg_id == 1 and warp_id == 0 and lane_id == 0:
        mma = PipelineState(2, phase=0)
        acc_free = PipelineState(1, phase=1)
        for tile in range(4):
            {free}
            acc_free.advance()
            for k in range(8):
                {data}
                {before}
                Tx.gemm_async(  # gemm
                    acc[:, :],
                    As[mma.stage, :, :],
                    As[mma.stage, :, :],
                    accum=(k != 0),
                    dispatch="tcgen05",
                )
                {after}
                mma.advance()
            acc_full.arrive(0)
    elif wg_id == 0:
        done = PipelineState(1, phase=0)
        for tile in range(4):
            {result}
            T.ptx.tcgen05.fence__after_thread_sync()
            done.advance()
            Tx.wg.copy_async(f32[:, :], acc[:, :], dispatch="tmem<->local")  # read
            T.ptx.tcgen05.wait__ld.sync.aligned()
            acc_empty.arrive(0)
"""
_PARTS = {
    "room": "empty.wait(load.stage, load.phase)",
    "free": "acc_empty.wait(0, acc_free.phase)",
    "data": "full.wait(mma.stage, mma.phase)",
    "before": "pass",
    "after": "empty.arrive(mma.stage)",
    "result": "acc_full.wait(0, done.phase)",
}


def _writeback(
    written: str = _MEET, read: str = _MEET, *, first: str = "", second: str = ""
) -> str:
    body = _WRITEBACK.replace("{written}", written).replace("{read}", read)
    return in_finished_kernel(body.replace("{first}", first).replace("{second}", second))


def _ring(mark: str = "", **changed: str) -> str:
    """Return an example of three roles, with some of its statements changed."""
    body = _RING
    for name, statement in (_PARTS | changed).items():
        body = body.replace(f"{{{name}}}", statement)
    for name in ("load", "gemm", "read"):
        body = body.replace(f"  # {name}", "  # <-" if name == mark else "")
    return in_finished_kernel(body).replace("import MBarrier,", "import MBarrier, PipelineState,")


class StorageRace(Rule):
    """Storage is read before its data is there, or written while it is still being read.

    ## What it does
    Follows what is handed over between threads, the TMA engine and the tensor core, and finds
    accesses with nothing at all between them that makes one come after the other:

    - a TMA store or an MMA of SMEM that threads of other warps wrote, and the issuing thread does
      not meet them after the write,
    - threads that write SMEM again after a TMA store of it: the `wait_group` holds the thread that
      stored, and nobody meets it afterwards,
    - threads that write an operand of an MMA again without having waited for the MMA,
    - an MMA, or a copy by threads, of SMEM that TMA loads fill, and a load of an accumulator, by
      threads that have not waited for the barrier that tells when the data is there,
    - a TMA load that comes round to a stage again, or an MMA that starts on an accumulator again,
      in a loop with no wait for those who read it, or a load that comes before that wait,
    - a commit that comes before the MMAs it is for: nothing is under way, so it arrives at once.

    ## Why it is bad
    Warps and engines run at their own pace. What comes out is a mixture of old and new data, in
    other places each run: on hardware 4 % of a matrix was wrong without the second barrier of a
    writeback, and small shapes came out right. TVM compiles it without a word, and sanitizers do
    not see what the engines read.

    ## Example
    ```python
    for i in T.unroll(2):
        Tx.wg.copy(Ds[:, :], d_f16[:, :])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.warpgroup_sync(1)
        if warp_id == 0:
            if T.cuda.elect_sync():
                Tx.copy_async(D[m : m + 128, n : n + 64], Ds[:, :], dispatch="tma_auto")
                T.ptx.cp.async_.bulk.commit_group()
                T.ptx.cp.async_.bulk.wait_group.read(0)
    ```

    ## Use instead
    ```python
    for i in T.unroll(2):
        Tx.wg.copy(Ds[:, :], d_f16[:, :])
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.warpgroup_sync(1)
        if warp_id == 0:
            if T.cuda.elect_sync():
                Tx.copy_async(D[m : m + 128, n : n + 64], Ds[:, :], dispatch="tma_auto")
                T.ptx.cp.async_.bulk.commit_group()
                T.ptx.cp.async_.bulk.wait_group.read(0)
        T.cuda.warpgroup_sync(1)  # Ds has been read: the next round may overwrite it
    ```

    ## When not to
    Any barrier on a thread's way that might order the two accesses makes this rule silent, and so
    does a function whose body is not known, or a loop that polls memory. Waits for the wrong slot
    or phase are not looked at here.

    ## References
    - PTX ISA, *Memory Consistency Model: Proxies*, *Asynchronous operations*, and *mbarrier*
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.commit*
    """

    code: ClassVar[str] = "TX309"
    name: ClassVar[str] = "storage-race"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.NAN)

    VALID = (
        _writeback(),
        _ring(),
        # Each warp sends what it wrote itself; a meeting of the cluster; one group after another.
        in_finished_kernel("""
            pool = T.SMEMPool()
            Ds = pool.alloc((8, 32, 8), "float16")
            row = T.alloc_local((8,), "float16")
            pool.commit()
            for i in range(4):
                Tx.copy(Ds[wg_id * 4 + warp_id, lane_id, :], row[:])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.warp_sync()
                if T.cuda.elect_sync():
                    Tx.copy_async(A[0:256], Ds[wg_id * 4 + warp_id, :, :], dispatch="tma_auto")
                    T.ptx.cp.async_.bulk.commit_group()
                    T.ptx.cp.async_.bulk.wait_group.read(0)
                T.cuda.warp_sync()
        """),
        # Two buffers in turns: one meeting a round is enough, for the older store is over by then.
        in_finished_kernel("""
            pool = T.SMEMPool()
            Ds = pool.alloc((2, 128, 8), "float16")
            f16 = T.wg_reg_tile(8, dtype="float16")
            pool.commit()
            if wg_id == 0:
                for i in range(8):
                    Tx.wg.copy(Ds[i % 2, :, :], f16[:, :])
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(1)
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            Tx.copy_async(A[0:1024], Ds[i % 2, :, :], dispatch="tma_auto")
                            T.ptx.cp.async_.bulk.commit_group()
                            T.ptx.cp.async_.bulk.wait_group.read(0)
        """),
        # The meeting stands at the start of the round, or the wait in one warp before a meeting.
        _writeback().replace(
            "            Tx.wg.copy(Ds[:, :], f16[:, :])\n",
            f"            {_MEET}\n            Tx.wg.copy(Ds[:, :], f16[:, :])\n",
        ),
        _ring(
            result="if warp_id == 0:\n                acc_full.wait(0, done.phase)\n"
            "            T.cuda.warpgroup_sync(1)"
        ),
        # A load that is waited for at once: its stage is read before the next turn.
        _ring(room="pass")
        .replace("PipelineState(2, phase=1)", "PipelineState(2, phase=0)")
        .replace("load.advance()", f"{_PARTS['room']}\n                load.advance()"),
        # A function that may wait; a commit that is for the MMA of the turn before.
        "from kernels import room\n\n\n" + _ring(room="room(empty, load)"),
        _ring(
            before="if k > 0:\n                    empty.arrive(mma.stage ^ 1)", after="pass"
        ).replace(_TILE_DONE, f"empty.arrive(mma.stage ^ 1)\n            {_TILE_DONE}"),
    )

    INVALID = (
        # Nobody makes the storing thread wait for the other warps.
        Invalid(_writeback(written="pass", second="  # <-")),
        # Nobody makes the other warps wait for the storing thread.
        Invalid(_writeback(read="pass", first="  # <-")),
        # The wait for data, for the accumulator, for room, for the accumulator's readers.
        Invalid(_ring("gemm", data="pass")),
        Invalid(_ring("read", result="pass")),
        Invalid(_ring("load", room="pass")),
        Invalid(_ring("gemm", free="pass")),
        # The wait for room comes after the load.
        Invalid(
            _ring("load", room="pass").replace(
                "load.advance()", f"{_PARTS['room']}\n                load.advance()"
            )
        ),
        # One warp of four waits.
        Invalid(
            _ring("read", result="if warp_id == 0:\n                acc_full.wait(0, done.phase)")
        ),
        # The commit stands before its MMA.
        Invalid(_ring(before="empty.arrive(mma.stage)  # <-", after="pass")),
        # Threads bring an operand, and bring the next while the MMA reads; nobody waits for it.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                As = pool.alloc((128, 8), "float16")
                done = TCGen05Bar(pool, 1)
                pool.commit()
                done.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                for k in range(4):
                    Tx.cta.copy(As[:, :], A[0:1024])  # <-
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.cta_sync()
                    if wg_id == 0 and warp_id == 0 and lane_id == 0:
                        Tx.gemm_async(
                            acc[:, :], As[:, :], As[:, :], accum=(k != 0), dispatch="tcgen05"
                        )
                        done.arrive(0)
                done.wait(0, 1)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for accesses that nothing keeps apart."""
        reach = view.reach
        if reach is None:
            return
        seen: set[tuple[Race, int, int]] = set()
        races = list(unmet_writes(view))
        if is_finished(view):  # the wait, or the role that signals, may not be typed yet
            races += [*unmet_reuses(view), *unwaited(view)]
        for found in races:
            span = found.at.operation.span
            if (found.race, span.start, span.end) not in seen:
                seen.add((found.race, span.start, span.end))
                yield self._finding(view, reach, found)

    def check_history(self, view: KernelView) -> Iterator[Finding]:
        """Tell of accesses in a run that nothing puts in order."""
        places = (Place.SHARED, Place.TENSOR)
        for found in races_of(view, _DOES, places):
            message = _told(view, found)
            yield self.finding(Severity.ERROR, message, found.at, related=found.related)
        for size, found in races_at_other_sizes(view, _DOES, places):
            message = f"With {size}: {_told(view, found)}"
            yield self.finding(Severity.INFORMATION, message, found.at, related=found.related)

    def _finding(self, view: KernelView, reach: ReachMap, found: Found) -> Finding:
        who = place(found.threads, reach.shape)
        line = view.line(found.other.operation.span)
        message, other = {
            Race.READ_EARLY: (
                f"this reads what {who} wrote on line {line}, and no barrier stands between: the "
                "engine may start before they have written. Let writers and issuer meet in between",
                "written here",
            ),
            Race.WRITTEN_OVER_STORE: (
                f"{who} may write here while the TMA store on line {line} is still reading: "
                "`wait_group` holds back the thread that stored, and nothing makes the others wait "
                "for that thread. Let them meet after the `wait_group`",
                "still reading, perhaps",
            ),
            Race.WRITTEN_OVER_MMA: (
                f"{who} may write here while the MMA on line {line} is still reading: they wait "
                "for no barrier after it. Wait for its commit first",
                "still reading, perhaps",
            ),
            Race.NOT_WAITED: (
                f"{who} may get here before what line {line} starts is done: they have waited for "
                "no barrier that tells. Wait for it first",
                "still writing, perhaps",
            ),
            Race.REFILLED: (
                f"this comes round to the same storage while line {line} may still be reading it: "
                "nothing in the loop waits for its readers. Wait for the barrier they signal",
                "still reading, perhaps",
            ),
            Race.REFILLED_FIRST: (
                f"line {line} may still be reading this stage: the wait for its readers comes "
                "after the load. Wait first",
                "still reading, perhaps",
            ),
            Race.EARLY_COMMIT: (
                f"no MMA is under way when this commit is executed first, so it arrives at once: "
                f"it says nothing of those on line {line}. Commit after the MMAs",
                "issued after the commit",
            ),
        }[found.race]
        related = [Related(found.other.operation.span, other), *guards_and_calls(found.at)]
        return self.finding(Severity.ERROR, message, found.at.operation.span, related=related)


def _told(view: KernelView, found: RaceFound) -> str:
    does, still = _DOES[found.race.hazard]
    return (
        f"{found.who} {does} {found.area} here, perhaps while {found.first_who} {still} on line "
        f"{view.line(found.other)}: nothing that it has waited for tells that this is over. Wait "
        "for a barrier that does"
    )
