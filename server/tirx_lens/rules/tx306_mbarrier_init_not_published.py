"""TX306: a barrier used before its initialisation is known to the threads that use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.history import Hazard
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import is_older, tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.course import to_the_end
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.publication import (
    MEETINGS,
    barriers_of,
    early_use,
    first_meeting_or_use,
    first_use,
    signalled_by_engines,
    writers_of,
)
from tirx_lens.rules.histories import races_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import Reached, ReachMap

_WIDE = (Op.CTA_SYNC, Op.CLUSTER_SYNC)
_FENCE = "T.ptx.fence.mbarrier_init.release.cluster()"
_HEAD = """
    pool = T.SMEMPool()
    full = TMABar(pool, 2)
    empty = MBarrier(pool, 2)
    As = pool.alloc((1024,), "float16")
    pool.commit()
"""
_ROLES = """
    if wg_id == 1:
        if warp_id == 0 and lane_id == 0:
            empty.wait(0, 1){mark}
            full.arrive(0, 2048)
            Tx.copy_async(As[:], A[0:1024], dispatch="tma_auto", mbar=full.ptr_to([0]))
    else:
        full.wait(0, 0)
        empty.arrive(0)
"""
_MARK = "  # <-"


def _kernel(middle: str, *, mark: bool = False) -> str:
    found = _MARK if mark else ""
    lines = "".join(f"    {line}\n" for line in middle.splitlines())
    return in_finished_kernel(_HEAD + lines + _ROLES.format(mark=found))


def _late(awaited: str, use: str, init: str) -> str:
    return in_finished_kernel(f"""
        pool = T.SMEMPool()
        done = TMABar(pool, 1)
        started = MBarrier(pool, 1)
        late = TCGen05Bar(pool, 1)
        pool.commit()
        done.init(1)
        started.init(1)
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        late.init(1){init}
        T.ptx.fence.proxy.async_()
        if wg_id == 0:
            if warp_id == 0 and lane_id == 0:
                started.arrive(0)
                late.wait(0, 0)
        elif warp_id == 0:
            if T.cuda.elect_sync():
                done.arrive(0, 64)
        elif warp_id == 1:
            if T.cuda.elect_sync():
                {awaited}.wait(0, 0)
                late.arrive(0){use}
    """)


class MbarrierInitNotPublished(Rule):
    """A barrier is used before its initialisation is published.

    ## What it does
    Looks from each barrier's `init` to the first use of the barrier by another thread.

    - No barrier of threads (`cta_sync`, `cluster_sync`, a named one) stands between, and nothing
      that the other thread waits for on its way depends on what the initialising thread does after
      the `init`: error, shown at the first such use in the kernel.
    - For a barrier that the TMA engine or the tensor core signals: the initialising thread executes
      no `fence.mbarrier_init` or proxy fence before the threads meet, or before the first use where
      they need not: warning.

    ## Why it is bad
    One thread writes the mbarrier words, and others may run ahead of it: a wait or arrival on a
    word that is not there yet is an invalid operation. On hardware the launch failed. The fence is
    for those whom the meeting does not reach: the other CTAs of a cluster, and the engines, which
    arrive through the asynchronous proxy.

    ## Example
    ```python
    full.init(1)
    if wg_id == 1:
        full.arrive(0, BYTES)
    ```

    ## Use instead
    ```python
    full.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 1:
        full.arrive(0, BYTES)
    ```

    ## Fix
    For the warning: inserts the fence after the last `init`. For the error the author decides where
    all threads meet.

    ## When not to
    A thread that uses the barrier it has initialised needs neither.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.init*, and
      *membar, fence: fence.mbarrier_init*
    """

    code: ClassVar[str] = "TX306"
    name: ClassVar[str] = "mbarrier-init-not-published"
    levels: ClassVar[str] = "error; warning where only the fence is missing"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.DEADLOCK)
    fix_title: ClassVar[str | None] = "Insert the fence"

    VALID = (
        _kernel(f"full.init(1)\nempty.init(128)\n{_FENCE}\nT.cuda.cta_sync()"),
        _kernel(
            "full.init(1)\nempty.init(128)\nT.ptx.fence.mbarrier_init()\n"
            'T.ptx.fence.proxy_async("shared::cta")\nT.cuda.cluster_sync()'
        ),
        # The initialising threads fence, in their own guard.
        _kernel(
            "full.init(1)\nempty.init(128)\nif wg_id == 0 and warp_id == 0:\n"
            "    if T.ptx.elect_sync():\n        T.ptx.fence.proxy_async('shared::cta')\n"
            "T.cuda.cta_sync()"
        ),
        # They meet in a barrier of the whole grid, or on the way to a sum.
        _kernel(f"full.init(1)\nempty.init(128)\n{_FENCE}\nT.cuda.grid_sync()"),
        _kernel(
            f"full.init(1)\nempty.init(128)\n{_FENCE}\npart = T.alloc_shared([8], 'float32')\n"
            "T.evaluate(T.cuda.cta_sum(T.float32(1), 8, part.ptr_to([0])))"
        ),
        # An element-wise operation of the CTA on SMEM ends with a barrier.
        _kernel(
            f"full.init(1)\nempty.init(128)\n{_FENCE}\n"
            "zeros = T.alloc_shared([256], 'float32')\nTx.cta.fill(zeros[:], T.float32(0))"
        ),
        # Still being written.
        in_kernel("""
            pool = T.SMEMPool()
            done = TCGen05Bar(pool, 1)
            done.init(1)
            T.cuda.cta_sync()
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                done.arrive(0)
        """),
        # No engine signals it: the meeting is enough.
        in_kernel("""
            pool = T.SMEMPool()
            ready = MBarrier(pool, 1)
            ready.init(128)
            T.cuda.cta_sync()
            if wg_id == 0:
                ready.arrive(0)
            else:
                ready.wait(0, 0)
        """),
        # The thread that initialises is the thread that uses; a function that may do all of it.
        in_kernel("""
            tid = T.thread_id([256])
            word = T.alloc_shared([1], "uint64")
            if tid == 0:
                T.ptx.mbarrier.init.shared.b64(word.ptr_to([0]), T.uint32(1))
                T.cuda.mbarrier_wait(word.ptr_to([0]), 1)
        """),
        "from kernels import publish\n\n\n"
        + _kernel("full.init(1)\nempty.init(128)\npublish(full, empty)"),
        _late("started", "", ""),
        # Another barrier tells that it is there.
        in_kernel("""
            pool = T.SMEMPool()
            told = MBarrier(pool, 1)
            late = MBarrier(pool, 1)
            told.init(1)
            T.cuda.cta_sync()
            late.init(1)
            if wg_id == 0:
                if warp_id == 0 and lane_id == 0:
                    told.arrive(0)
                    late.arrive(0)
            else:
                told.wait(0, 0)
                late.wait(0, 0)
        """),
        # Each warp its own words, met within the warp.
        in_kernel("""
            words = T.alloc_shared([8], "uint64")
            if T.cuda.elect_sync():
                T.ptx.mbarrier.init.shared.b64(words.ptr_to([warp_id]), T.uint32(1))
                T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.warp_sync()
            T.cuda.mbarrier_wait(words.ptr_to([warp_id]), 1)
        """),
    )

    INVALID = (
        Invalid(_kernel(f"full.init(1)\nempty.init(128)\n{_FENCE}", mark=True)),
        # The meeting stands before the init; a pipeline; a raw word, in 0.26.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                T.cuda.cta_sync()
                pipe = Pipeline(pool, 2, full="tma", empty="mbar")
                pool.commit()
                if wg_id == 1 and warp_id == 0:
                    if T.ptx.elect_sync():
                        pipe.empty.wait(0, 1)  # <-
                        pipe.full.arrive(0, 2048)
            """)
        ),
        Invalid(
            in_kernel("""
                @T.inline
                def meet(slot):
                    T.ptx.mbarrier.try_wait(word.ptr_to([slot]), 0)  # <-

                tid = T.thread_id([256])
                word = T.alloc_shared([2], "uint64")
                if tid == 0:
                    T.ptx.mbarrier.init(word.ptr_to([0]), 1)
                    T.ptx.mbarrier.init(word.ptr_to([1]), 1)
                meet(1)
            """)
        ),
        # They meet, and nothing tells the engine.
        Invalid(
            _kernel("full.init(1)  # <-\nempty.init(128)\nT.cuda.cta_sync()"),
            severity=Severity.WARNING,
            replacement=_kernel(f"full.init(1)\nempty.init(128)\n{_FENCE}\nT.cuda.cta_sync()"),
        ),
        # A fence of other threads, and one that comes too late.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 1)
                done.init(1)  # <-
                if T.filter(wg_id, wg_id == 1) and warp_id == 0:
                    T.ptx.fence.mbarrier_init()
                T.cuda.cta_sync()
                T.ptx.fence.mbarrier_init()
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    done.arrive(0)
            """),
            severity=Severity.WARNING,
            replacement=in_finished_kernel("""
                pool = T.SMEMPool()
                done = TCGen05Bar(pool, 1)
                done.init(1)
                T.ptx.fence.mbarrier_init()
                if T.filter(wg_id, wg_id == 1) and warp_id == 0:
                    T.ptx.fence.mbarrier_init()
                T.cuda.cta_sync()
                T.ptx.fence.mbarrier_init()
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    done.arrive(0)
            """),
        ),
        # Behind the meeting; what the others wait for first comes from others again.
        Invalid(_late("done", "  # <-", "")),
        # The initialising thread tells them itself, after a fence; and without one.
        Invalid(
            _late("started", "", "  # <-").replace("T.ptx.fence.proxy.async_()", "pass"),
            severity=Severity.WARNING,
            replacement=_late("started", "", "").replace(
                "T.ptx.fence.proxy.async_()",
                "T.ptx.fence.mbarrier_init.release.cluster()\n    pass",
            ),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Follow each init to the first meeting of threads."""
        reach = view.reach
        if reach is None:
            return
        signalled = signalled_by_engines(reach)
        early: list[tuple[Reached, Reached]] = []
        for init in reach.initialising:
            writers = writers_of(init, reach)
            if not writers:
                continue
            stop, fenced = first_meeting_or_use(reach, init, writers)
            use = stop if stop is not None and stop.operation.op not in MEETINGS else None
            if stop is None:
                use = early_use(view, init, writers)
            if use is not None:
                early.append((init, use))
                continue
            if stop is None:
                stop, fenced = first_use(reach, init, writers)
            elif stop.operation.op not in _WIDE:
                continue
            by_engines = not init.loops and bool(barriers_of(init, reach) & signalled)
            if stop is not None and not fenced and by_engines and is_finished(view):
                yield self._unfenced(view, reach, init, stop)
        if early:  # one meeting is missing, however many barriers it would publish
            init, use = min(early, key=lambda pair: pair[1].index)
            yield self._unpublished(view, reach, init, use)

    def check_history(self, view: KernelView) -> Iterator[Finding]:
        """Tell of uses of barriers in a run that their init may come after."""
        for found in races_of(view, (Hazard.UNPUBLISHED,)):
            message = (
                f"{found.who} uses a barrier here that {found.first_who} initialises on line "
                f"{view.line(found.other)}: nothing makes it wait for that, and a barrier that is "
                "not initialised fails the launch. Let them meet after the init"
            )
            yield self.finding(Severity.ERROR, message, found.at, related=found.related)

    def _unpublished(
        self, view: KernelView, reach: ReachMap, init: Reached, use: Reached
    ) -> Finding:
        line = view.line(init.operation.span)
        message = (
            f"{describe(use.participants, reach.shape)} may get here before the thread that "
            f"initialises this barrier on line {line}: nothing makes them meet in between, and "
            "using a word that is no barrier yet fails the launch. Put a fence and "
            "`T.cuda.cta_sync()` after the last init"
        )
        related = [Related(init.operation.span, "the barrier is initialised here")]
        return self.finding(
            Severity.ERROR, message, use.operation.span, related=[*related, *guards_and_calls(use)]
        )

    def _unfenced(
        self, view: KernelView, reach: ReachMap, init: Reached, meeting: Reached
    ) -> Finding:
        meets = meeting.operation.op in MEETINGS
        until = "the threads meet" if meets else "it is first used"
        barriers = sorted(barrier.name for barrier in barriers_of(init, reach))
        message = (
            f"`{'`, `'.join(barriers)}` will be signalled by an engine, and the thread that "
            f"initialises it executes no fence before {until} on line "
            f"{view.line(meeting.operation.span)}: `cta_sync` publishes the init to threads of "
            "this CTA, not to the asynchronous proxy or to other CTAs. Put a "
            "`fence.mbarrier_init` between"
        )
        related = [Related(meeting.operation.span, f"{until} here")]
        return self.finding(
            Severity.WARNING,
            message,
            init.operation.span,
            fix=_insert(view, reach, init),
            related=[*related, *guards_and_calls(init)],
        )


def _insert(view: KernelView, reach: ReachMap, init: Reached) -> Fix | None:
    """Write the fence below the last of the inits that stand together."""
    last = init
    for reached in to_the_end(reach, init):
        if reached.operation.op in MEETINGS or reached.guards != init.guards:
            break
        if reached.operation.op is Op.BARRIER_INIT:
            last = reached
    lines = whole_lines(view.source, last.operation.statement)
    if lines is None or last.operation.stack or not view.source.slice(lines).endswith("\n"):
        return None
    call = "fence.mbarrier_init" + ("()" if is_older(view) else ".release.cluster()")
    indent = indentation(view.source, last.operation.statement)
    place = Span(lines.end, lines.end)
    text = f"{indent}{tirx_name(view)}.ptx.{call}\n"
    return Fix("Insert the fence", Applicability.SAFE, (Edit(place, text),))
