"""TX104: a barrier waits for another number of arrivals than it gets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import constant_int
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.arrivals import Mismatch, all_known, mismatch
from tirx_lens.rules.facts.balance import Imbalance, Trouble, imbalance
from tirx_lens.rules.facts.barriers import arrivals_of, inits_of
from tirx_lens.rules.facts.finished import is_finished
from tirx_lens.rules.facts.handoffs import Handoff, handoffs
from tirx_lens.rules.related import calls_around, guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import ReachMap

_PLAIN_INIT = re.compile(r"(.*\.init\s*\()\s*([\w.]+)\s*\)", re.DOTALL)

_PAIR = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TCGen05Bar


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    rank = T.cta_id_in_cluster([2])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    pool = T.SMEMPool()
    acc_full = TCGen05Bar(pool, 1)
    acc_empty = MBarrier(pool, 1)
    pool.commit()
    acc_full.init(1)
    acc_empty.init({count})
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cluster_sync()
    if wg_id == 1:
        if warp_id == 0 and rank == 0:
            if T.cuda.elect_sync():
                free = PipelineState(1, phase=1)
                for tile in range(8):
                    acc_empty.wait(0, free.phase)
                    free.advance()
                    acc_full.arrive(0, cta_group=2{mask})
    else:
        done = PipelineState(1, phase=0)
        for tile in range(8):
            acc_full.wait(0, done.phase)
            done.advance()
            Tx.wg.copy(A[0:128], A[128:256])
            acc_empty.arrive(0, remote=0){mark}
    T.cuda.cluster_sync()


print(kernel)
"""


class ArrivalCountMismatch(Rule):
    """A barrier gets another number of arrivals than it was initialised for.

    ## What it does
    Counts the threads that execute `arrive` on a barrier in one turn of the loop that waits for it,
    and compares them with the count it was initialised with. It speaks only where all places that
    arrive are known, and each is executed in every turn: a `Pipeline`'s counts are `init_full` and
    `init_empty`; a TMA barrier counts its armings, a tcgen05 barrier its commits.

    Where every role can be followed from its first round to its last, all that arrives at a slot,
    from every CTA of the cluster, is compared with all that is waited for there. A count below 1
    is reported by itself.

    ## Why it is bad
    An mbarrier's phase ends when as many arrivals have come as `init` was told. With fewer, the
    phase does not end, the wait does not return, and the kernel hangs. With more, the phase ends
    with the first of them, and the rest are counted for the next one: the waiter goes on while
    others still read or write, and the count runs below zero. On an H200 a ring whose `empty`
    expects 128 and gets 1 hangs; one that expects 1 and gets 128 fails the launch. TVM compiles
    both without a word.

    ## Example
    ```python
    empty.init(1)
    ...
    if wg_id == 0:  # 128 threads
        for k in range(K_TILES):
            full.wait(state.stage, state.phase)
            empty.arrive(state.stage)  # 128 arrivals
            state.advance()
    ```

    ## Use instead
    ```python
    empty.init(128)
    ```

    ## Fix
    Changes the count to the sum. Never safe: it may be the guard around an `arrive` that is wrong.

    ## When not to
    `remote_view`, `pred=` and `count=`, branches that the text does not decide, and pointers to the
    barrier that go elsewhere leave open how many arrive per phase: nothing is said. Arrivals from
    another CTA (`remote=`, multicast commits) and in other loops than the waits count only where
    roles can be followed to their end. Commits of more than one lane of a warp are TX301's.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.init, phase of
      the mbarrier object*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `MBarrier`
    """

    code: ClassVar[str] = "TX104"
    name: ClassVar[str] = "arrival-count-mismatch"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.CRASH, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Change the count to the sum"

    VALID = (
        _PAIR.format(count=256, mark="", mask=", cta_mask=0b11"),
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            empty = MBarrier(pool, 2)
            full.init(1)
            empty.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 1:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        load = PipelineState(2, phase=1)
                        for k in range(16):
                            empty.wait(load.stage, load.phase)
                            full.arrive(load.stage, 64)
                            load.advance()
            else:
                read = PipelineState(2, phase=0)
                for k in range(16):
                    full.wait(read.stage, read.phase)
                    empty.arrive(read.stage)
                    read.advance()
        """),
        # One lane of each warp; two roles together; a slot for each warpgroup.
        in_kernel("""
            pool = T.SMEMPool()
            lanes = MBarrier(pool, 1)
            both = MBarrier(pool, 1)
            own = MBarrier(pool, 2)
            lanes.init(8)
            both.init(160)
            own.init(128)
            pool.commit()
            T.cuda.cta_sync()
            state = PipelineState(1, phase=0)
            for k in T.serial(16):
                if T.cuda.elect_sync():
                    lanes.arrive(0)
                if wg_id == 0:
                    both.arrive(0)
                elif warp_id == 2:
                    both.arrive(0)
                own.arrive(wg_id)
                lanes.wait(0, state.phase)
                both.wait(0, state.phase)
                own.wait(wg_id, state.phase)
                state.advance()
        """),
        # Once a tile, in the last turn of an inner loop; every turn of it, counted.
        in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            tiles.init(bx)
            pool = T.SMEMPool()
            last = MBarrier(pool, 1)
            each = MBarrier(pool, 1)
            last.init(128)
            each.init(512)
            pool.commit()
            T.cuda.cta_sync()
            state = PipelineState(1, phase=0)
            if wg_id == 0:
                while tiles.valid():
                    for i in T.unroll(4):
                        each.arrive(0)
                        if i == 3:
                            last.arrive(0)
                    tiles.next_tile()
            else:
                while tiles.valid():
                    last.wait(0, state.phase)
                    each.wait(0, state.phase)
                    state.advance()
                    tiles.next_tile()
        """),
        # Not known: arrivals of another CTA, predicated ones, some turns only, other loops.
        in_kernel("""
            pool = T.SMEMPool()
            far = MBarrier(pool, 1)
            some = MBarrier(pool, 1)
            rare = MBarrier(pool, 1)
            much = MBarrier(pool, 1)
            far.init(512)
            some.init(8)
            rare.init(128)
            much.init(32)
            pool.commit()
            T.cuda.cta_sync()
            state = PipelineState(1, phase=0)
            if wg_id == 0:
                for k in range(16):
                    far.arrive(0, remote=0)
                    some.arrive(0, pred=lane_id == 0)
                    if k % 2 == 0:
                        rare.arrive(0)
                    much.arrive(0)
            else:
                for k in range(16):
                    far.wait(0, state.phase)
                    some.wait(0, state.phase)
                    rare.wait(0, state.phase)
                    state.advance()
                for k in range(64):
                    much.wait(0, k % 2)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                empty = MBarrier(pool, 2)
                full.init(1)
                empty.init(1)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            load = PipelineState(2, phase=1)
                            for k in range(16):
                                empty.wait(load.stage, load.phase)
                                full.arrive(load.stage, 64)
                                load.advance()
                else:
                    read = PipelineState(2, phase=0)
                    for k in range(16):
                        full.wait(read.stage, read.phase)
                        empty.arrive(read.stage)  # <-
                        read.advance()
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                empty = MBarrier(pool, 2)
                full.init(1)
                empty.init(128)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            load = PipelineState(2, phase=1)
                            for k in range(16):
                                empty.wait(load.stage, load.phase)
                                full.arrive(load.stage, 64)
                                load.advance()
                else:
                    read = PipelineState(2, phase=0)
                    for k in range(16):
                        full.wait(read.stage, read.phase)
                        empty.arrive(read.stage)
                        read.advance()
            """),
        ),
        # One elected lane of each warp; a pipeline's count; a T.inline function.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="mbar", empty="mbar", init_full=4, init_empty=128)
                pool.commit()
                T.cuda.cta_sync()
                state = PipelineState(2, phase=0)

                @T.inline
                def release(bar, stage):
                    if T.ptx.elect_sync():
                        bar.arrive(stage)  # <-

                if wg_id == 0:
                    for k in T.serial(16):
                        pipe.full.wait(state.stage, state.phase)
                        release(pipe.empty, state.stage)
                        state.advance()
                elif T.filter(lane_id, lane_id == 0):
                    for k in T.serial(16):
                        pipe.empty.wait(state.stage, state.phase ^ 1)
                        pipe.full.arrive(state.stage)
                        state.advance()
            """)
        ),
        # Every turn of an inner loop; a slot for each warpgroup; two places together.
        Invalid(
            in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                N = 128
                pool = T.SMEMPool()
                each = MBarrier(pool, 1)
                own = MBarrier(pool, 2)
                both = MBarrier(pool, 1)
                each.init(N)
                own.init(256)
                both.init(N)
                pool.commit()
                T.cuda.cta_sync()
                state = PipelineState(1, phase=0)
                while tiles.valid():
                    for i in T.unroll(4):
                        if wg_id == 0:
                            each.arrive(0)  # <-
                    own.arrive(wg_id)  # <-
                    if wg_id == 0 and (warp_id == 0 or warp_id == 1):
                        both.arrive(0)  # <-
                    elif wg_id == 1 and warp_id == 3:
                        both.arrive(0)
                    each.wait(0, state.phase)
                    own.wait(wg_id, state.phase)
                    both.wait(0, state.phase)
                    state.advance()
                    tiles.next_tile()
            """),
            replacement=in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                N = 128
                pool = T.SMEMPool()
                each = MBarrier(pool, 1)
                own = MBarrier(pool, 2)
                both = MBarrier(pool, 1)
                each.init(512)
                own.init(128)
                both.init(96)
                pool.commit()
                T.cuda.cta_sync()
                state = PipelineState(1, phase=0)
                while tiles.valid():
                    for i in T.unroll(4):
                        if wg_id == 0:
                            each.arrive(0)
                    own.arrive(wg_id)
                    if wg_id == 0 and (warp_id == 0 or warp_id == 1):
                        both.arrive(0)
                    elif wg_id == 1 and warp_id == 3:
                        both.arrive(0)
                    each.wait(0, state.phase)
                    own.wait(wg_id, state.phase)
                    both.wait(0, state.phase)
                    state.advance()
                    tiles.next_tile()
            """),
        ),
        # No arrivals at all.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                done = MBarrier(pool, 1)
                done.init(0)  # <-
                pool.commit()
            """)
        ),
        # Warpgroups of both CTAs tell the leader; a commit tells one CTA where both wait.
        Invalid(_PAIR.format(count=128, mark="  # <-", mask=", cta_mask=0b11")),
        Invalid(_PAIR.format(count=512, mark="  # <-", mask=", cta_mask=0b11")),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare, slot by slot, what a barrier gets in one turn with what it waits for."""
        reach = view.reach
        if reach is not None:
            yield from self._no_arrivals(reach)
        found = handoffs(view) if reach is not None else None
        if reach is None or found is None or found.is_open:
            return
        by_operation = reach.by_operation
        for handoff in found.barriers:
            count = arrivals_of(reach, handoff.barrier)
            if count is None or not all_known(handoff):
                continue
            arrivals = [by_operation[id(place.operation)] for place in handoff.arrivals]
            waits = [by_operation[id(place.operation)] for place in handoff.waits]
            found_here = mismatch(reach, handoff, arrivals, waits, count)
            if found_here is not None:
                yield self._finding(view, reach, handoff, found_here)

    def _no_arrivals(self, reach: ReachMap) -> Iterator[Finding]:
        for init in reach.of(Op.BARRIER_INIT):
            barrier = init.operation.receiver
            if barrier is None:
                continue
            count = constant_int(init.operation.argument(0, "count"))
            if count is not None and count < 1:
                message = (
                    f"`{barrier.name}` is initialised for {count} arrivals, and `mbarrier.init` "
                    "takes 1 and more: no phase of it ever ends as it should. Give the number of "
                    "arrivals that end a phase"
                )
                yield self.finding(
                    Severity.ERROR,
                    message,
                    init.operation.span,
                    related=calls_around(init.operation),
                )

    def check_run(self, view: KernelView) -> Iterator[Finding]:
        """Compare all that arrives at a slot with all that is waited for there."""
        found = imbalance(view)
        if found is None or found.trouble is not Trouble.COUNT or not is_finished(view):
            return
        if view.reach is not None:
            yield self._uneven(view, view.reach, found)

    def _uneven(self, view: KernelView, reach: ReachMap, found: Imbalance) -> Finding:
        name, count = found.handoff.barrier.name, found.count
        init = next(inits_of(reach, found.handoff.barrier)).operation
        signal, wait = found.signals[0].reached.operation, found.shown.operation
        if found.needed > found.ended:
            means = "the wait there never returns"
        else:
            means = "phases end early, and the waiting side falls behind by more than one"
        message = (
            f"`{name}` expects {_times(count, 'arrival')} per phase (line {view.line(init.span)}); "
            f"each time, slot {found.slot} gets {found.per_pass}, from all places and CTAs "
            f"together: {found.ended} phases end{found.run}, and {found.needed} are waited for on "
            f"line {view.line(wait.span)}, so {means}. Change the count, or who arrives"
        )
        related = [
            Related(init.span, f"`{name}` is initialised here for {count}"),
            Related(wait.span, "waits for the phase"),
            *guards_and_calls(found.signals[0].reached),
        ]
        return self.finding(Severity.ERROR, message, signal.span, related=related)

    def _finding(
        self, view: KernelView, reach: ReachMap, handoff: Handoff, found: Mismatch
    ) -> Finding:
        name, count, first = handoff.barrier.name, found.count, found.arrivals[0]
        init = next(inits_of(reach, handoff.barrier))
        who = describe(found.who, reach.shape)
        if len(found.arrivals) == 1 and found.times == 1:
            gets = f"this gives {found.sum} ({who})"
        elif len(found.arrivals) == 1:
            gets = f"this gives {found.sum} ({who}, {found.times} times a turn)"
        else:
            gets = f"{len(found.arrivals)} places give {found.sum} together, this one by {who}"
        wait = view.line(found.wait.operation.span)
        if found.sum < count:
            means = f"the phase does not end with them, and the wait on line {wait} does not return"
        else:
            means = (
                f"the phase ends with the first {'of them' if count == 1 else count}, the rest "
                f"are counted for the next one, and the wait on line {wait} returns too early"
            )
        message = (
            f"`{name}` expects {_times(count, 'arrival')} per phase (line "
            f"{view.line(init.operation.span)}); {gets}: {means}. Change the count, or who arrives"
        )
        related = [
            Related(init.operation.span, f"`{name}` is initialised here for {count}"),
            Related(found.wait.operation.span, "waits for the phase"),
            *(Related(other.operation.span, "also arrives") for other in found.arrivals[1:]),
            *guards_and_calls(first),
        ]
        return self.finding(
            Severity.ERROR,
            message,
            first.operation.span,
            fix=_fix(view, reach, handoff, found.sum),
            related=related,
        )


def _times(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _fix(view: KernelView, reach: ReachMap, handoff: Handoff, total: int) -> Fix | None:
    inits = [init.operation for init in inits_of(reach, handoff.barrier)]
    if len(inits) != 1 or inits[0].op is not Op.BARRIER_INIT or inits[0].stack:
        return None
    written = _PLAIN_INIT.fullmatch(view.source.slice(inits[0].span))
    if written is None:
        return None
    start = inits[0].span.start + len(written.group(1).encode())
    return Fix(
        f"Initialise `{handoff.barrier.name}` for {_times(total, 'arrival')}",
        Applicability.UNSAFE,
        (Edit(Span(start, inits[0].span.end - 1), str(total)),),
    )
