"""TX101: the thread that would initialise a barrier never gets there."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import is_host
from tirx_lens.model.finding import Applicability, Finding, Fix, Severity
from tirx_lens.model.kernel import FENCES, Bind, Branch, Inlined, Loop, Op, Operation, Other
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import blocks_of, statement_span, uses
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import insertion, removal, whole_lines
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.barriers import initialising_threads, leader_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe, place
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.threads.reach import Reached, ReachMap

_SYNCS = (Op.CTA_SYNC, Op.CLUSTER_SYNC)


class BarrierInitUnreachable(Rule):
    """A barrier is initialised where its initialising thread never comes.

    ## What it does
    Finds `.init()` of a barrier (`MBarrier`, `TMABar`, `TCGen05Bar`), a `Pipeline`, or a raw
    `mbarrier.init`, behind guards that keep out the one thread that would execute it: thread 0 of
    the CTA, or the thread that the barrier's `leader=` picks.

    Where that thread is among those that come, the kernel works, and the rule says so at level
    information: the next change of the guard breaks it.

    ## Why it is bad
    The wrapper's `init` compiles to `if (thread_rank() == 0) mbarrier.init(...)`. Inside
    `if wg_id == 1:` that is a condition no thread meets, so the mbarrier word keeps whatever
    shared memory held before. The first wait or arrival on it reads garbage: on hardware the launch
    fails and the CUDA context is lost. TVM compiles it without a word.

    ## Example
    ```python
    full = TMABar(pool, 2)
    T.cuda.cta_sync()
    if wg_id == 1:
        full.init(1)  # thread 0 belongs to warpgroup 0
    ```

    ## Use instead
    ```python
    full = TMABar(pool, 2)
    full.init(1)
    T.cuda.cta_sync()
    if wg_id == 1:
        ...
    ```

    ## Fix
    Moves the `init` to the top level, before the first barrier or fence and the first role branch.
    It is safe where a CTA-wide or cluster-wide barrier still stands between the moved `init` and
    the first branch.

    ## When not to
    A raw `mbarrier.init` has no thread of its own: it runs on whoever reaches it, so guards that
    leave one thread are how it should be written, and are not reported.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.init*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `MBarrier`, parameter `leader`
    """

    code: ClassVar[str] = "TX101"
    name: ClassVar[str] = "barrier-init-unreachable"
    levels: ClassVar[str] = "error; information where the initialising thread is inside the guard"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.DEADLOCK)
    fix_title: ClassVar[str | None] = "Move the init to the top level"

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            empty = MBarrier(pool, 2)
            full.init(1)
            empty.init(128)
            pool.commit()
            T.cuda.cta_sync()
        """),
        # leader= moves the initialising thread.
        in_kernel("""
            tid = T.thread_id([256])
            pool = T.SMEMPool()
            full = TMABar(pool, 2, leader=tid == 128)
            pool.commit()
            if wg_id == 1:
                full.init(1)
            T.cuda.cta_sync()
        """),
        # A raw init runs on whoever reaches it: one thread, as it should be.
        in_kernel("""
            word = T.alloc_buffer((1,), "uint64", scope="shared")
            if wg_id == 1 and warp_id == 3:
                if lane_id == 0:
                    T.ptx.mbarrier.init.shared.b64(word.ptr_to([0]), T.uint32(1))
            T.cuda.cta_sync()
        """),
        # One warpgroup: the guard is no guard.
        """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import TMABar


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([1])
    pool = T.SMEMPool()
    full = TMABar(pool, 2)
    pool.commit()
    if wg_id == 0:
        full.init(1)
    T.cuda.cta_sync()
""",
        # A host constant is not a thread guard, and a scheduler's init is no barrier's.
        in_kernel("""
            USE_BARRIER = 3 > 2
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            sched = T.make_scheduler()
            pool.commit()
            if USE_BARRIER:
                full.init(1)
            if wg_id == 1:
                sched.init(bx)
            T.cuda.cta_sync()
        """),
        # A name that is stored to again is no constant, in this block or in a function it calls.
        in_kernel("""
            word = T.alloc_buffer((1,), "uint64", scope="shared")
            owner = 5
            if bx > 1:
                owner = 0
            else:
                owner = 1
            if warp_id == owner:
                T.ptx.mbarrier.init.shared.b64(word.ptr_to([0]), T.uint32(1))
            T.cuda.cta_sync()
        """),
        # The leader of a Pipeline is the leader of its barriers.
        in_kernel("""
            tid = T.thread_id([256])
            pool = T.SMEMPool()
            pipe = Pipeline(pool, 2, full="tma", empty="mbar", leader=tid == 128)
            pool.commit()
            if wg_id == 1:
                pipe.full.init(1)
            T.cuda.cta_sync()
        """),
        # How many threads there are is not known: silent.
        """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import TMABar


def build(WARPGROUPS):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([WARPGROUPS])
        pool = T.SMEMPool()
        full = TMABar(pool, 2)
        pool.commit()
        if wg_id == WARPGROUPS - 1:
            full.init(1)
        T.cuda.cta_sync()

    return kernel
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                if wg_id == 1:
                    full.init(1)  # <-
                    if warp_id == 0:
                        full.wait(0, 0)
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        full.wait(0, 0)
            """),
        ),
        # The else side of warpgroup 0, an alias of the id, and a branch left empty by the move.
        Invalid(
            in_kernel("""
                group = wg_id
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                empty = MBarrier(pool, 2)
                full.init(1)
                if not (group == 0):
                    empty.init(128)  # <-
                pool.commit()
                T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                group = wg_id
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                empty = MBarrier(pool, 2)
                full.init(1)
                empty.init(128)
                pool.commit()
                T.cuda.cta_sync()
            """),
        ),
        # T.filter, `and`, and a lane that thread 0 is not.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 1)
                pool.commit()
                if T.filter(lane_id, wg_id == 0 and lane_id == 1):
                    done.init(1)  # <-
                T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 1)
                pool.commit()
                done.init(1)
                T.cuda.cta_sync()
            """),
        ),
        # A Pipeline initialises its barriers where it is constructed; nothing to move by machine.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                if wg_id == 1:
                    pipe = Pipeline(pool, 2, full="tma", empty="mbar", init_empty=128)  # <-
                pool.commit()
                T.cuda.cta_sync()
            """)
        ),
        # A leader that is nobody.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2, leader=wg_id == 7)
                pool.commit()
                full.init(1)  # <-
                T.cuda.cta_sync()
            """)
        ),
        # What it is given is bound beside it: nothing to move by machine.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()
                if wg_id == 1:
                    arrivals = T.meta_var(4)
                    full.init(arrivals)  # <-
                T.cuda.cta_sync()
            """)
        ),
        # A raw init that no thread reaches: there is no third warpgroup.
        Invalid(
            in_kernel("""
                word = T.alloc_buffer((1,), "uint64", scope="shared")
                if wg_id == 2:
                    T.ptx.mbarrier.init(word.ptr_to([0]), 1)  # <-
                T.cuda.cta_sync()
            """)
        ),
        # Inside a T.inline function, at its call.
        Invalid(
            in_kernel("""
                @T.inline
                def prepare(bar, count):
                    bar.init(count)  # <-

                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()
                if wg_id == 1:
                    prepare(full, 1)
                T.cuda.cta_sync()
            """)
        ),
        # Thread 0 is inside: right today.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()
                if wg_id == 0:
                    full.init(1)  # <-
                T.cuda.cta_sync()
            """),
            severity=Severity.INFORMATION,
            replacement=in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()
                full.init(1)
                T.cuda.cta_sync()
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare who reaches each init with who would execute it."""
        if view.reach is None:
            return
        for reached in view.reach.initialising:
            what = _initialised(reached.operation)
            if what is not None:
                yield from self._check_init(view, view.reach, reached, what)

    def _check_init(
        self, view: KernelView, reach: ReachMap, reached: Reached, what: str
    ) -> Iterator[Finding]:
        shape, who = reach.shape, reached.participants
        operation = reached.operation
        raw = operation.op is Op.MBARRIER_INIT
        wanted = shape.everyone if raw else initialising_threads(operation, reach)
        if not wanted:
            message = (
                f"{what} runs on the thread that its `leader=` picks, and it picks none of the "
                f"{shape.threads} threads: nobody initialises the barrier, and the first use of it "
                "fails the launch"
            )
            related = guards_and_calls(reached)
            yield self.finding(Severity.ERROR, message, operation.span, related=related)
        elif not who.possible & wanted:
            them = f"only {describe(who, shape)}" if who.possible else "no thread"
            executes = "whoever gets here" if raw else place(wanted, shape)
            message = (
                f"{what} runs on {executes}, but {them} can get here: nobody initialises the "
                "barrier, and the first use of it fails the launch. Initialise it at the top "
                "level, before the first role branch"
            )
            yield self.finding(
                Severity.ERROR,
                message,
                operation.span,
                fix=None if raw else _move_up(view, reached),
                related=guards_and_calls(reached),
            )
        elif not raw and not _has_leader(operation) and _is_guarded(reached, reach):
            elected = who.pick is not Pick.ALL
            inside = (
                "which is thread 0 only if the hardware elects lane 0"
                if elected
                else f"which is inside this guard ({describe(who, shape)})"
            )
            message = (
                f"{what} runs on {place(wanted, shape)} alone, {inside}: it belongs "
                "at the top level, before the first role branch"
            )
            yield self.finding(
                Severity.INFORMATION,
                message,
                operation.span,
                fix=_move_up(view, reached),
                related=guards_and_calls(reached),
            )


def _initialised(operation: Operation) -> str | None:
    """Say what an operation initialises, if it initialises barriers."""
    if operation.op is Op.BARRIER_INIT and operation.receiver is not None:
        return f"`{operation.receiver.name}.init`"
    if operation.op is Op.MBARRIER_INIT:
        return "this `mbarrier.init`"
    made = operation.created
    if made is not None and made.kind is ObjectKind.PIPELINE and made.argument(99, "full"):
        return f"the barrier init inside `{made.name}`"
    return None


def _has_leader(operation: Operation) -> bool:
    return leader_of(operation) is not None


def _is_guarded(reached: Reached, reach: ReachMap) -> bool:
    """Tell whether the guards keep threads of the initialising CTA out."""
    if reached.participants.pick is Pick.SOME:
        return False
    if reached.participants.pick is not Pick.ALL:
        return True
    inside = reached.participants.possible
    if inside == reach.shape.thread_zeros:  # the author says as much as the wrapper does
        return False
    return any(
        inside & reach.shape.cta(rank) not in (0, reach.shape.cta(rank))
        for rank in range(reach.shape.ctas)
    )


def _move_up(view: KernelView, reached: Reached) -> Fix | None:
    """Move an init statement to the top level, where every thread passes before the roles part."""
    operation = reached.operation
    barrier = operation.receiver
    movable = (
        operation.op is Op.BARRIER_INIT
        and barrier is not None
        and not operation.stack
        and operation.span == operation.statement
        and all(map(is_host, operation.arguments))
        and not any(isinstance(guard.branch, Loop) for guard in reached.guards)
    )
    lines = whole_lines(view.source, operation.statement)
    if not movable or barrier is None or lines is None or not _is_free(view, lines, barrier.name):
        return None
    made, branch = (view.outline.top_level(s) for s in (barrier.span, operation.statement))
    if made is None or branch is None or not isinstance(_at(view, made), (Operation, Bind, Other)):
        return None
    anchor, after = _place_for_init(view, made, branch)
    written = insertion(view.source, lines, anchor, after=after)
    removed = removal(view, operation.statement)
    if written is None or removed is None:
        return None
    published = _synchronised_after(view, anchor)
    return Fix(
        f"Move `{barrier.name}.init` to the top level",
        Applicability.SAFE if published else Applicability.UNSAFE,
        (written, removed),
    )


def _is_free(view: KernelView, lines: Span, barrier: str) -> bool:
    """Tell whether a statement uses no name that the kernel binds, but its barrier's."""
    words = set(re.findall(r"[A-Za-z_]\w*", view.source.slice(lines).partition("#")[0]))
    owner = barrier.partition(".")[0]
    return owner in words and not (words - {owner}) & view.outline.bound_names


@dataclass(frozen=True, slots=True)
class _Landmarks:
    """Indices of top-level statements that say where an init may stand, each list in order.

    `first_use` are the barriers, fences and branches before which inits belong. `meetings` are
    CTA-wide or cluster-wide barriers, `waits` the branches and loops with waits or arrivals inside.
    """

    inits: tuple[int, ...]
    first_use: tuple[int, ...]
    meetings: tuple[int, ...]
    waits: tuple[int, ...]


def _landmarks(view: KernelView) -> _Landmarks:
    inits, first_use, meetings, waits = [], [], [], []
    for index, statement in enumerate(view.kernel.body.statements):
        if isinstance(statement, Operation):
            if statement.op is Op.BARRIER_INIT:
                inits.append(index)
            if statement.op in _SYNCS:
                meetings.append(index)
            if statement.op in _SYNCS or statement.op in FENCES:
                first_use.append(index)
        elif isinstance(statement, (Branch, Loop, Inlined)):
            first_use.append(index)
            used = (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE)
            if not isinstance(statement, Inlined) and any(
                uses(block, *used) for block in blocks_of(statement)
            ):
                waits.append(index)
    return _Landmarks(tuple(inits), tuple(first_use), tuple(meetings), tuple(waits))


def _place_for_init(view: KernelView, made: int, branch: int) -> tuple[Span, bool]:
    """Return the top-level statement beside which an init belongs, and whether after it.

    It belongs after the last init that is there already; else before the first fence or barrier;
    else before the first branch.
    """
    landmarks = view.once(_landmarks)
    until = min(_next(landmarks.first_use, made + 1), branch)
    last = bisect_right(landmarks.inits, until) - 1
    if last >= 0 and landmarks.inits[last] > made:
        return _span_at(view, landmarks.inits[last]), True
    return _span_at(view, until), False


def _synchronised_after(view: KernelView, anchor: Span) -> bool:
    """Tell whether a CTA-wide barrier stands between the new place and the first wait."""
    first = view.outline.top_level(anchor)
    landmarks = view.once(_landmarks)
    return first is not None and _next(landmarks.meetings, first) < _next(landmarks.waits, first)


def _next(indices: tuple[int, ...], start: int) -> int:
    """Return the first index from `start` on, or one beyond all."""
    found = bisect_left(indices, start)
    return indices[found] if found < len(indices) else sys.maxsize


def _at(view: KernelView, index: int) -> object:
    return view.kernel.body.statements[index]


def _span_at(view: KernelView, index: int) -> Span:
    span = statement_span(view.kernel.body.statements[index])
    assert span is not None  # a top-level block has a first statement
    return span
