"""TX103: the threads at a named barrier are not those that it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.free_barrier import free_barrier_fix
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.contracts import CTA_BARRIER, Demand, demand_of
from tirx_lens.threads.describe import describe
from tirx_lens.threads.meetings import Meeting, meetings
from tirx_lens.threads.named import NAMED_BARRIERS, NamedBarrierUse, named_barrier_uses
from tirx_lens.threads.participants import Participants
from tirx_lens.threads.shape import WARP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import ReachMap


class NamedBarrierMismatch(Rule):
    """The threads that come to a named barrier are not those that it waits for.

    ## What it does
    Counts who comes to `T.cuda.warpgroup_sync(id)`, which waits for 128 threads, and to
    `bar.sync(id, n)` and `bar.arrive(id, n)`, which say how many. It finds

    - barriers to which fewer threads can ever come than they wait for;
    - barriers that some of their threads pass more often than others;
    - one id for more than one group of threads: a constant where each warpgroup needs its own, or
      two roles that took the same number and that no other synchronisation keeps apart;
    - ids outside 0 to 15, and counts that are no multiple of 32;
    - id 0, which is `cta_sync`'s own (warning);
    - `bar.sync` on some lanes of a warp only (warning: what it does is undefined).

    ## Why it is bad
    A CTA has 16 hardware barriers. Each counts arrivals, by whole warps, and opens at the count it
    was given; it knows nothing of which threads its author meant. With too few it stays shut: the
    kernel hangs. With two groups on one id it opens when 128 threads of either have come: some of
    one group go on before their own warps have written what they are about to read. TVM checks
    none of it.

    ## Example
    ```python
    if wg_id < 2:
        T.cuda.warpgroup_sync(1)  # 256 threads, and it opens for any 128
    ```

    ## Use instead
    ```python
    if wg_id < 2:
        T.cuda.warpgroup_sync(1 + wg_id)
    ```

    ## Fix
    Where one warpgroup comes as a whole and its id is a plain number that is 0, out of range or
    another group's: a number that nothing else uses. Safe unless the kernel calls something whose
    body is not known. Id 8 is left alone: TVM's warpgroup-wide tile operations use it.

    ## When not to
    Two groups may share an id where they are never there together. A CTA-wide barrier between
    them, or a chain of mbarriers from one to the other, keeps the rule silent; so does an mbarrier
    on which the threads of one place wait for each other (then a constant id is right). Where that
    chain runs through other roles only, the rule still warns of a single place that two
    warpgroups execute: rarely is such a chain meant to keep them apart. Groups under a branch that
    the text does not decide (a CTA's own role, a flag), or that meet at another named barrier, are
    taken to keep apart, and id 0 is free where the kernel has no CTA-wide barrier.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: bar, barrier*
    - TVM, `python/tvm/backend/cuda/op.py`, `cuda_warpgroup_sync`
    """

    code: ClassVar[str] = "TX103"
    name: ClassVar[str] = "named-barrier-mismatch"
    levels: ClassVar[str] = (
        "error; warning for id 0, for parts of warps, and where mbarriers may order two groups"
    )
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Use a free barrier id"

    VALID = (
        in_kernel("""
            if wg_id == 0:
                for i in T.unroll(4):
                    T.cuda.warpgroup_sync(10)
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            T.ptx.cp.async_.bulk.commit_group()
                    T.cuda.warpgroup_sync(10)
        """),
        # An id for each warpgroup, computed; and a barrier of whole warps from three places.
        in_kernel("""
            warp = T.warp_id([8])
            T.cuda.warpgroup_sync(wg_id + 10)
            if warp < 3:
                T.ptx.bar.sync(T.uint32(5), 160)
            elif warp < 4:
                T.ptx.bar.arrive(5, 160)
            if warp == 7:
                T.ptx.bar.sync(5, 160)
        """),
        # The CTA-wide barrier under its other name, and all of a CTA that is one warpgroup.
        """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    tid = T.thread_id([128])
    T.ptx.bar.sync(T.uint32(0), T.uint32(128))
    T.cuda.warpgroup_sync(0)
""",
        # One id, one group after the other.
        in_kernel("""
            if wg_id == 0:
                T.cuda.warpgroup_sync(1)
            T.cuda.cta_sync()
            if wg_id == 1:
                T.cuda.warpgroup_sync(1)
        """),
        # One id, and an mbarrier by which the two take turns.
        in_kernel("""
            pool = T.SMEMPool()
            turn = MBarrier(pool, 2)
            turn.init(128)
            pool.commit()
            T.cuda.cta_sync()
            state = PipelineState(1, phase=0)
            for i in range(8):
                turn.wait(wg_id, state.phase ^ 1 ^ wg_id)
                T.cuda.warpgroup_sync(1)
                turn.arrive(1 - wg_id)
                state.advance()
        """),
        # Two roles, and a chain of handoffs from one to the other.
        in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            done.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 0:
                T.cuda.warpgroup_sync(1)
                done.arrive(0)
            else:
                done.wait(0, 0)
                T.cuda.warpgroup_sync(1)
        """),
        # Both sides of a branch come to it, once each.
        in_kernel("""
            if wg_id == 0:
                if warp_id == 0:
                    T.cuda.warpgroup_sync(3)
                else:
                    T.cuda.warpgroup_sync(3)
        """),
        # A function that may come to any barrier, and an id that the host chooses.
        """\
from tvm.script import tirx as T


def build(BARRIER, THREADS):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        if wg_id == 0:
            T.cuda.warpgroup_sync(BARRIER)
            if BARRIER > 1:
                T.ptx.bar.sync(1, 64)
            else:
                T.ptx.bar.sync(1, 256)
        T.ptx.bar.sync(3, THREADS)
        if warp_id == 0:
            T.ptx.bar.sync(4, 128)
        T.cuda.func_call("meet", 4, source_code="...")

    return kernel
""",
        # A lane guard on the unaligned form, and a warp-wide barrier: no named one.
        in_kernel("""
            if wg_id == 0:
                T.ptx.bar.warp.sync(0xFFFFFFFF)
                if lane_id < 16:
                    T.ptx.barrier.sync(6, 128)
        """),
    )

    INVALID = (
        # Too few.
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    if warp_id == 0:
                        T.cuda.warpgroup_sync(10)  # <-
            """)
        ),
        Invalid(
            in_kernel("""
                BAR, COUNT = 2, 3 * 128
                if wg_id == 0:
                    T.ptx.bar.sync(BAR, COUNT)  # <-
                elif wg_id == 1 and warp_id < 2:
                    T.ptx["bar.arrive"](BAR, COUNT)  # <-
            """)
        ),
        # One warp passes twice what the others pass once.
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    for i in T.unroll(4):
                        if warp_id == 0:
                            T.cuda.warpgroup_sync(10)  # <-
                            T.ptx.cp.async_.bulk.commit_group()
                        T.cuda.warpgroup_sync(10)
            """)
        ),
        # Two warpgroups, one number.
        Invalid(
            in_kernel("""
                @T.inline
                def meet(number):
                    T.cuda.warpgroup_sync(number)  # <-

                meet(2)
            """)
        ),
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    T.cuda.warpgroup_sync(1)
                else:
                    T.cuda.warpgroup_sync(1)  # <-
            """),
            replacement=in_kernel("""
                if wg_id == 0:
                    T.cuda.warpgroup_sync(1)
                else:
                    T.cuda.warpgroup_sync(2)
            """),
        ),
        # Out of range; for one warpgroup of two.
        Invalid(
            in_kernel("""
                if wg_id == 1:
                    T.cuda.warpgroup_sync(16)  # <-
            """),
            replacement=in_kernel("""
                if wg_id == 1:
                    T.cuda.warpgroup_sync(1)
            """),
        ),
        Invalid(
            in_kernel("""
                T.cuda.warpgroup_sync(wg_id + 15)  # <-
            """)
        ),
        Invalid(
            in_kernel("""
                if wg_id == 1:
                    T.ptx[f"bar.{'sync'}"](3, 100)  # <-
            """)
        ),
        # cta_sync's own.
        Invalid(
            in_kernel("""
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0):
                    T.cuda.warpgroup_sync(0)  # <-
                    T.cuda.warpgroup_sync(0)  # <-
            """),
            severity=Severity.WARNING,
            replacement=in_kernel("""
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0):
                    T.cuda.warpgroup_sync(1)
                    T.cuda.warpgroup_sync(1)
            """),
        ),
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    if lane_id == 0:
                        T.cuda.warpgroup_sync(3)  # <-
            """),
            severity=Severity.WARNING,
        ),
        # Two consumers, each with a slot of its own, on one number.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                ready = MBarrier(pool, 2)
                ready.init(256)
                pool.commit()
                T.cuda.cta_sync()
                if warp_id < 4:
                    for i in range(8):
                        ready.wait(wg_id, i % 2)
                        T.cuda.warpgroup_sync(1)  # <-
            """),
            severity=Severity.WARNING,
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look at each use by itself, then at those that share an id."""
        reach = view.reach
        if reach is None:
            return
        uses = list(named_barrier_uses(reach))
        found = list(meetings(reach, uses))
        hang = {id(use) for meeting in found for use in (*meeting.starved, *meeting.uneven)}
        for use in uses:
            yield from self._check_use(view, reach, use, uses)
            if id(use) not in hang:
                yield from self._check_lanes(reach, use)
        for meeting in found:
            yield from self._check_meeting(view, reach, meeting, uses)

    def _check_use(
        self, view: KernelView, reach: ReachMap, use: NamedBarrierUse, uses: list[NamedBarrierUse]
    ) -> Iterator[Finding]:
        who, shape = use.reached.participants, reach.shape
        if not who.possible:
            return
        if use.beyond and use.is_certain:
            beyond = Participants(use.beyond, use.beyond)
            yield self.finding(
                Severity.ERROR,
                f"a CTA has named barriers 0 to {NAMED_BARRIERS - 1}; "
                f"{describe(beyond, shape)} ask here for one beyond them, which is an illegal "
                "instruction. Give each group of threads an id in that range",
                use.operation.span,
                fix=free_barrier_fix(view, reach, use, uses, [u for u in uses if u.beyond]),
                related=guards_and_calls(use.reached),
            )
        if use.count is not None and use.count % WARP:
            yield self.finding(
                Severity.ERROR,
                f"a named barrier counts whole warps: {use.count} is no multiple of {WARP}, and "
                "what the instruction then does is undefined. Count the threads of whole warps",
                use.operation.span,
                related=guards_and_calls(use.reached),
            )
        zero = use.come(CTA_BARRIER)
        everyone_comes = use.is_certain and zero.bit_count() == shape.total
        alone = not zero or (everyone_comes and use.count == shape.threads)
        if not alone and _has_barriers_of_the_cta(reach):
            zeros = [u for u in uses if u.come(CTA_BARRIER)]
            yield self.finding(
                Severity.WARNING,
                f"named barrier {CTA_BARRIER} is `cta_sync`'s own: a thread that comes to "
                "`cta_sync` while others are here is counted with them, and both barriers open "
                f"too early. Use an id from 1 to {NAMED_BARRIERS - 1}",
                use.operation.span,
                fix=free_barrier_fix(view, reach, use, uses, zeros),
                related=guards_and_calls(use.reached),
            )

    def _check_lanes(self, reach: ReachMap, use: NamedBarrierUse) -> Iterator[Finding]:
        aligned = use.operation.op is Op.WARPGROUP_SYNC or use.operation.name.startswith(
            ("T.ptx.bar.", "T.ptx.barrier.cta.sync.aligned", "T.ptx.barrier.sync.aligned")
        )
        if aligned and use.is_certain and use.splits_warps(reach.shape):
            yield self.finding(
                Severity.WARNING,
                f"{describe(use.reached.participants, reach.shape)} come to this barrier: it "
                "counts whole warps, and is undefined where some lanes of a warp do not come with "
                "the others. Take it out of the guard that picks lanes",
                use.operation.span,
                related=guards_and_calls(use.reached),
            )

    def _check_meeting(
        self, view: KernelView, reach: ReachMap, meeting: Meeting, uses: list[NamedBarrierUse]
    ) -> Iterator[Finding]:
        shape, number = reach.shape, meeting.number
        come = Participants(meeting.threads, meeting.threads)
        for use in meeting.starved:
            yield self.finding(
                Severity.ERROR,
                f"named barrier {number} opens when {use.count} threads of the CTA have come; only "
                f"{describe(come, shape)} can ever come to it, so who comes here waits for ever. "
                f"Move it to where all {use.count} pass, or count those that do",
                use.operation.span,
                related=_others(use, meeting) + guards_and_calls(use.reached),
            )
        for use in meeting.uneven:
            yield self.finding(
                Severity.ERROR,
                f"named barrier {number} opens when {use.count} threads have come, and "
                f"{describe(come, shape)} do; but {describe(use.reached.participants, shape)} come "
                "here once more than the others: each time is counted for the next one, and in the "
                "end they wait for ever. Move it to where all of them pass",
                use.operation.span,
                related=_others(use, meeting) + guards_and_calls(use.reached),
            )
        for use in meeting.crowded:
            sure = not meeting.may_be_ordered
            advice = (
                f"Give each warpgroup its own id, such as `{number} + wg_id`"
                if use.operation.op is Op.WARPGROUP_SYNC
                else "Count all of them, or give each group its own id"
            )
            yield self.finding(
                Severity.ERROR if sure else Severity.WARNING,
                f"named barrier {number} opens when any {use.count} threads have come, and "
                f"{describe(use.reached.participants, shape)} come here: it mixes their warps, so "
                f"some go on before the rest of their own group has come. {advice}",
                use.operation.span,
                related=guards_and_calls(use.reached),
            )
        for use, other in meeting.shared:
            theirs = other.reached.participants
            yield self.finding(
                Severity.ERROR,
                f"named barrier {number} opens when any {use.count} threads have come; "
                f"{describe(use.reached.participants, shape)} come here and "
                f"{describe(theirs, shape)} on line {view.line(other.operation.span)}, and nothing "
                "keeps them from being there together: some go on before their own group has come. "
                "Give one of them another id",
                use.operation.span,
                fix=free_barrier_fix(view, reach, use, uses, [u for u, _ in meeting.shared]),
                related=[
                    Related(other.operation.span, "the other group comes here"),
                    *guards_and_calls(use.reached),
                ],
            )


def _has_barriers_of_the_cta(reach: ReachMap) -> bool:
    """Tell whether something else uses the CTA's own barrier, or may."""
    return any(
        demand_of(reached.operation, reach.shape) is Demand.WHOLE_CTA
        or reached.operation.op is Op.OPAQUE
        for reached in reach.reached
    )


def _others(use: NamedBarrierUse, meeting: Meeting) -> list[Related]:
    return [
        Related(other.operation.span, f"also barrier {meeting.number}")
        for other in meeting.uses
        if other.operation.span != use.operation.span
    ]
