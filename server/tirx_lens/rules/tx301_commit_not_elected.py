"""TX301: a tcgen05 commit that every lane of a warp issues."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.elect import elected
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.barriers import arrivals_of
from tirx_lens.rules.facts.tmem_balance import cta_group
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.issuers import issuers, most_in_a_warp
from tirx_lens.threads.participants import Participants, Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import Reached, ReachMap


_PAIR = """
    rank = T.cta_id_in_cluster([2])
    pool = T.SMEMPool()
    done = TCGen05Bar(pool, 1)
    done.init({count})
    T.cuda.cluster_sync()
    if wg_id == 1 and warp_id == 0 and {guard}:
        if T.cuda.elect_sync():
            done.arrive(0, cta_group={group}, cta_mask=3){mark}
"""


class CommitNotElected(Rule):
    """A tcgen05 commit is issued by more than one thread of a warp, or in both CTAs of a pair.

    ## What it does
    Finds `TCGen05Bar.arrive` and `tcgen05.commit` where two or more lanes of one warp get to them,
    and those for `cta_group` 2 where threads of both CTAs of a pair do, more than the barrier
    expects.

    ## Why it is bad
    A commit tracks the tcgen05 instructions that *its own thread* has issued, and arrives once when
    they are complete. MMAs are issued by one thread; the other 31 have issued nothing, so their
    commits arrive at once. The barrier, which expects one arrival, ends its phase before the tensor
    core is done, then others that nobody counts: readers get half a result, or the kernel hangs.

    What is issued for `cta_group` 2 is issued by one thread for both CTAs: PTX gives it the
    granularity of a single thread of the pair. Where both issue, the work is done twice and arrives
    twice.

    ## Example
    ```python
    if warp_id == 0:
        if T.cuda.elect_sync():
            Tx.gemm_async(acc[:, :], As[:, :], Bs[:, :], dispatch="tcgen05")
        acc_full.arrive(0)  # 32 commits
    ```

    ## Use instead
    ```python
    if warp_id == 0:
        if T.cuda.elect_sync():
            Tx.gemm_async(acc[:, :], As[:, :], Bs[:, :], dispatch="tcgen05")
            acc_full.arrive(0)  # one commit, by the thread that issued the MMA
    ```

    ## Fix
    Wraps the commit in `if T.cuda.elect_sync():` (`T.ptx.elect_sync()` in a file written for 0.26),
    where whole warps come: the election picks the same lane each time.

    ## When not to
    Guards that leave one thread (`tid == 0`, `lane_id == 0`) and `pred=T.cuda.elect_sync()` are
    right, as is one elected thread in each of several warps with a barrier that counts them all.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.commit*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `TCGen05Bar`
    """

    code: ClassVar[str] = "TX301"
    name: ClassVar[str] = "commit-not-elected"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.NAN, Symptom.CRASH)
    fix_title: ClassVar[str | None] = "Elect one thread"

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            done = TCGen05Bar(pool, 2)
            pool.commit()
            done.init(1)
            T.cuda.cta_sync()
            if wg_id == 1:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        done.arrive(0)
        """),
        # pred=, in the wrapper and in the instruction; one thread by its number, by its lane.
        in_kernel("""
            tid = T.thread_id([256])
            pool = T.SMEMPool()
            done = TCGen05Bar(pool, 2)
            leader: T.let = T.cuda.elect_sync()
            if wg_id == 1 and warp_id == 0:
                done.arrive(0, pred=leader)
                done.arrive(0, 1, None, T.cuda.elect_sync())
                T.ptx["tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"](
                    done.ptr_to([0]), pred=leader
                )
            if tid == 0:
                done.arrive(0)
            if warp_id == 2:
                if lane_id == 0:
                    T.ptx[
                        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"
                    ](done.ptr_to([1]))
        """),
        # One elected thread in each of two warps: a barrier that counts two.
        in_kernel("""
            pool = T.SMEMPool()
            done = TCGen05Bar(pool, 1)
            done.init(2)
            T.cuda.cta_sync()
            if wg_id == 1:
                if warp_id < 2:
                    if T.filter(lane_id, T.cuda.elect_sync()):
                        done.arrive(0)
        """),
        # All 32 lanes commit, and the barrier counts 32: the phase ends with the last of them.
        in_kernel("""
            pool = T.SMEMPool()
            done = TCGen05Bar(pool, 1)
            done.init(32)
            T.cuda.cta_sync()
            if wg_id == 1 and warp_id == 0:
                done.arrive(0)
        """),
        # Arrivals of threads are no commits.
        in_kernel("""
            pool = T.SMEMPool()
            empty = MBarrier(pool, 2)
            full = TMABar(pool, 2)
            pipe = Pipeline(pool, 2, full="tma", empty="mbar")
            T.cuda.cta_sync()
            if wg_id == 0:
                empty.arrive(0)
                pipe.empty.arrive(1)
        """),
        # The leader CTA commits for the pair; each CTA for itself; two arrivals that are counted.
        in_kernel(_PAIR.format(count=1, guard="rank == 0", group=2, mark="")),
        in_kernel(_PAIR.format(count=1, guard="rank < 2", group=1, mark="")),
        in_kernel(_PAIR.format(count=2, guard="rank < 2", group=2, mark="")),
        # A predicate that may let one thread through; the older scope blocks.
        in_kernel("""
            pool = T.SMEMPool()
            done = TCGen05Bar(pool, 1)
            flag = T.alloc_local([1], "int32")
            if flag[0] == 1:
                done.arrive(0)
            done.arrive(0, pred=flag[0] == 2)
            with T.thread()[T.ptx.elect_sync()]:
                T.ptx.tcgen05.commit(done.ptr_to([0]), cta_group=1)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 2)
                done.init(1)
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        done.arrive(0)  # <-
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 2)
                done.init(1)
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            done.arrive(0)
            """),
        ),
        # After the election, in 0.26; over several lines.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 2)
                if wg_id == 1:
                    if warp_id == 0:
                        for k in range(4):
                            if T.ptx.elect_sync():
                                T.cuda.nano_sleep(1)
                            T.ptx.tcgen05.commit(  # <-
                                done.ptr_to([0]),
                                cta_group=1,
                            )
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 2)
                if wg_id == 1:
                    if warp_id == 0:
                        for k in range(4):
                            if T.ptx.elect_sync():
                                T.cuda.nano_sleep(1)
                            if T.ptx.elect_sync():
                                T.ptx.tcgen05.commit(
                                    done.ptr_to([0]),
                                    cta_group=1,
                                )
            """),
        ),
        # Strings and constants, a pipeline's barrier.
        Invalid(
            in_kernel("""
                GROUP = 2
                ONE = "mbarrier::arrive::one.shared::cluster.b64"
                COMMIT = f"tcgen05.commit.cta_group::{GROUP}.{ONE}"
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                if wg_id == 1 and warp_id == 3:
                    T.ptx[COMMIT](pipe.empty.ptr_to([0]))  # <-
            """),
            replacement=in_kernel("""
                GROUP = 2
                ONE = "mbarrier::arrive::one.shared::cluster.b64"
                COMMIT = f"tcgen05.commit.cta_group::{GROUP}.{ONE}"
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                if wg_id == 1 and warp_id == 3:
                    if T.cuda.elect_sync():
                        T.ptx[COMMIT](pipe.empty.ptr_to([0]))
            """),
        ),
        # One thread in each CTA of a pair, for the pair.
        Invalid(in_kernel(_PAIR.format(count=1, guard="rank < 2", group=2, mark="  # <-"))),
        # A `pred=` that picks two lanes.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                if wg_id == 0:
                    T.cuda.warpgroup_sync(1)
                elif T.filter(wg_id, wg_id == 1) and warp_id == 0:
                    pipe.empty.arrive(1, pred=lane_id < 2)  # <-
            """)
        ),
        # The lanes that were not elected, inside a T.inline function.
        Invalid(
            in_kernel("""
                @T.inline
                def signal(bar):
                    bar.arrive(0)  # <-

                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 1)
                if warp_id == 0 and not T.cuda.elect_sync():
                    signal(done)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Count, for each commit, the threads of one warp that issue it."""
        if view.reach is None:
            return
        for reached in view.reach.of(Op.TCGEN05_COMMIT, Op.BARRIER_ARRIVE):
            if not _commits(reached.operation):
                continue
            who = issuers(reached, view.reach)
            most = most_in_a_warp(who, view.reach.shape)
            if most is not None and most > 1 and not self._are_counted(view.reach, reached, who):
                receiver = reached.operation.receiver
                what = f"`{receiver.name}.arrive`" if receiver is not None else "`tcgen05.commit`"
                message = (
                    f"{what} is a commit, which arrives for the MMAs that its own thread issued; "
                    f"{most} lanes of a warp get here ({describe(who, view.reach.shape)}), and "
                    "those that issued nothing arrive at once: the barrier's phase ends before the "
                    "MMAs do. Let one elected thread issue MMAs and commit"
                )
                yield self.finding(
                    Severity.ERROR,
                    message,
                    reached.operation.span,
                    fix=elected(view, reached) if who.pick is Pick.ALL else None,
                    related=guards_and_calls(reached),
                )

            elif _comes_twice(view.reach, reached, who):
                message = (
                    f"this commit is for `cta_group` 2, and {describe(who, view.reach.shape)} get "
                    "here in both CTAs of the pair: one thread issues and commits for both, so its "
                    "barrier hears twice of work that is started twice. Let the leader CTA alone "
                    "issue: a guard on its rank"
                )
                related = guards_and_calls(reached)
                yield self.finding(Severity.ERROR, message, reached.operation.span, related=related)

    def _are_counted(self, reach: ReachMap, reached: Reached, who: Participants) -> bool:
        """Tell whether the barrier expects an arrival of each thread, idle ones included."""
        barrier, count = reached.operation.receiver, who.count(reach.shape)
        expected = arrivals_of(reach, barrier) if barrier is not None else None
        return expected is not None and count is not None and 1 < count <= expected


def _comes_twice(reach: ReachMap, reached: Reached, who: Participants) -> bool:
    """Tell whether both CTAs of a pair commit for the pair, more often than the barrier expects."""
    barrier, shape = reached.operation.receiver, reach.shape
    expected = arrivals_of(reach, barrier) if barrier is not None else None
    if cta_group(reached.operation) != 2 or expected is None or who.pick is Pick.SOME:
        return False
    for rank in range(0, shape.ctas - 1, 2):
        both = [who.possible & shape.cta(rank), who.possible & shape.cta(rank + 1)]
        pair = Participants(both[0] | both[1], who.typical, who.pick, who.conditional)
        if all(both) and (pair.count(shape) or 0) > expected:
            return True
    return False


def _commits(operation: Operation) -> bool:
    if operation.op is Op.TCGEN05_COMMIT:
        return True
    barrier = operation.receiver
    tcgen05 = barrier is not None and barrier.kind is ObjectKind.TCGEN05_BARRIER
    return operation.op is Op.BARRIER_ARRIVE and tcgen05
