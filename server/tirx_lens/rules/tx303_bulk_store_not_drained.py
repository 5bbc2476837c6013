"""TX303: a TMA store that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import is_older, tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.bulk_groups import (
    MAY_STORE,
    comes_without,
    drain,
    may_store,
    runs_of_stores,
)
from tirx_lens.rules.facts.course import following, meets, rounds
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import place
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.buffers import Region
    from tirx_lens.threads.reach import Reached, ReachMap

_STORE = 'Tx.copy_async(A[bx * 1024 : bx * 1024 + 1024], Ds[:], dispatch="tma_auto")'
_COMMIT = "T.ptx.cp.async_.bulk.commit_group()"
_PUBLISH = "T.ptx.fence.mbarrier_init.release.cluster()"
_WAIT = "T.ptx.cp.async_.bulk.wait_group.read(0)"


class BulkStoreNotDrained(Rule):
    """A TMA store is not waited for before its source is written again or the kernel ends.

    ## What it does
    Follows each TMA store (`Tx.copy_async` from SMEM to GMEM by TMA, `cp.async.bulk.tensor` stores
    and reductions) until the threads that issued it have put it into a bulk group (`commit_group`)
    and waited for that group (`wait_group(n)` with `n` smaller than the number of groups committed
    from it on). It reports stores

    - that are never committed, or never waited for, by some of the threads that issue them (error),
    - whose source is written again before the wait (error),
    - that are waited for in the loop, but not at the end of the kernel (warning).

    It also reports a `commit_group` by threads that start no store in the kernel: the store is
    missing, or only other threads get to it (warning).

    ## Why it is bad
    A TMA store reads its source whenever the engine gets to it. If threads write the next tile into
    the same shared memory meanwhile, or the CTA ends and its shared memory goes to another, the
    store sends what is there by then. On hardware 7 % of the output was wrong, other elements each
    run, and small shapes came out right. A wait without a commit waits for nothing. TVM compiles it
    without a word, and sanitizers do not see it.

    ## Example
    ```python
    if T.cuda.elect_sync():
        Tx.copy_async(D[m : m + 128, n : n + 64], Ds[:, :], dispatch="tma_auto")
    T.cuda.warpgroup_sync(1)  # the next tile is written into Ds
    ```

    ## Use instead
    ```python
    if T.cuda.elect_sync():
        Tx.copy_async(D[m : m + 128, n : n + 64], Ds[:, :], dispatch="tma_auto")
        T.ptx.cp.async_.bulk.commit_group()
        T.ptx.cp.async_.bulk.wait_group.read(0)
    T.cuda.warpgroup_sync(1)
    ```

    ## Fix
    Inserts what is missing after the store: both, the commit, or the wait.

    ## When not to
    The wait may stand far from the store, and leave `n` groups open where a ring of buffers is
    used: a slice picked by a stage or loop variable is not taken for the same memory. Bulk groups
    belong to the thread that commits them: a wait by other threads does not count. A write under a
    condition on the turn of the loop may come turns later, and is left alone.

    ## References
    - PTX ISA, *Data Movement and Conversion Instructions: cp.async.bulk.commit_group,
      cp.async.bulk.wait_group*
    """

    code: ClassVar[str] = "TX303"
    name: ClassVar[str] = "bulk-store-not-drained"
    levels: ClassVar[str] = "error; warning for a missing wait at the end, and for an empty group"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.CRASH)
    fix_title: ClassVar[str | None] = "Commit and wait"

    VALID = (
        in_finished_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            pool.commit()
            for i in range(4):
                Tx.cta.copy(Ds[:], A[0:1024])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        {_STORE}
                        {_STORE}
                        {_COMMIT}
                        {_WAIT}
                T.cuda.cta_sync()
        """),
        # Waited for at the top of the next round, by a thread that may be the elected one; 0.26.
        in_finished_kernel(f"""
            tid = T.thread_id([256])
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            pool.commit()
            for i in range(4):
                if tid == 0:
                    T.ptx.cp_async.bulk.wait_group(0)
                T.cuda.cta_sync()
                Tx.cta.copy(Ds[:], A[0:1024])
                T.ptx.fence.proxy_async("shared::cta")
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.ptx.elect_sync():
                        {_STORE}
                        T.ptx.cp_async.bulk.commit_group()
            if wg_id == 0 and warp_id == 0:
                T.ptx.cp_async.bulk.wait_group(0)
        """),
        # The store is an instruction of another kind; a commit for stores of two kinds.
        in_finished_kernel("""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            pool.commit()
            Tx.cta.copy(Ds[:], A[0:1024])
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                T.ptx["cp.async.bulk.global.shared::cta.bulk_group"](
                    A.ptr_to([0]), Ds.ptr_to([0]), 2048
                )
            if wg_id == 0 and warp_id == 0:
                T.ptx.cp.async_.bulk.commit_group()
                T.ptx.cp.async_.bulk.wait_group.read(0)
        """),
        # Two buffers in turn, one group left open in the loop.
        in_finished_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((2, 1024), "float16")
            pool.commit()
            for i in range(4):
                Tx.cta.copy(Ds[i % 2, :], A[0:1024])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0 and lane_id == 0:
                    Tx.copy_async(A[0:1024], Ds[i % 2, :], dispatch="tma_auto")
                    {_COMMIT}
                    T.ptx.cp.async_.bulk.wait_group.read(1)
                T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                {_WAIT}
        """),
        # Another role writes, when a barrier tells it that the store has been waited for.
        in_finished_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            ready = MBarrier(pool, 1)
            free = MBarrier(pool, 1)
            ready.init(128)
            free.init(1)
            pool.commit()
            {_PUBLISH}
            T.cuda.cta_sync()
            for i in range(4):
                if wg_id == 0:
                    free.wait(0, i % 2 ^ 1)
                    Tx.wg.copy(Ds[:], A[0:1024])
                    T.ptx.fence.proxy.async_.shared__cta()
                    ready.arrive(0)
                elif warp_id == 0 and lane_id == 0:
                    ready.wait(0, i % 2)
                    {_STORE}
                    {_COMMIT}
                    {_WAIT}
                    free.arrive(0)
        """),
        # A load; a store that a function may wait for; a store that is still being written.
        "from kernels import drain\n\n\n"
        + in_finished_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            full = TMABar(pool, 1)
            pool.commit()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                Tx.copy_async(Ds[:], A[0:1024], dispatch="tma_auto", mbar=full.ptr_to([0]))
                {_STORE}
                drain()
        """),
        in_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            pool.commit()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                {_STORE}
        """),
    )

    INVALID = (
        # Two warps commit and wait, one of them stores; two store, one waits.
        Invalid(
            in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                Tx.cta.copy(Ds[:], A[0:1024])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        if wg_id == 1:
                            {_STORE}
                        {_COMMIT}  # <-
                        {_WAIT}
            """),
            severity=Severity.WARNING,
        ),
        Invalid(
            in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((2, 512), "float16")
                pool.commit()
                Tx.cta.copy(Ds[:, :], A[0:1024])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if warp_id == 0 and lane_id == 0:
                    Tx.copy_async(A[0:512], Ds[wg_id, :], dispatch="tma_auto")  # <-
                    {_COMMIT}
                    if wg_id == 0:
                        {_WAIT}
            """),
            replacement=in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((2, 512), "float16")
                pool.commit()
                Tx.cta.copy(Ds[:, :], A[0:1024])
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if warp_id == 0 and lane_id == 0:
                    Tx.copy_async(A[0:512], Ds[wg_id, :], dispatch="tma_auto")
                    {_COMMIT}
                    {_WAIT}
                    if wg_id == 0:
                        {_WAIT}
            """),
        ),
        Invalid(
            in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        {_STORE}  # <-
                        {_STORE}
                T.cuda.cta_sync()
            """),
            replacement=in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        {_STORE}
                        {_STORE}
                        {_COMMIT}
                        {_WAIT}
                T.cuda.cta_sync()
            """),
        ),
        # Committed, never waited for, in 0.26; the wait of another thread does not count.
        Invalid(
            in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                if T.filter(lane_id, wg_id == 0 and warp_id == 0 and lane_id == 0):
                    {_STORE}  # <-
                    T.ptx.cp_async.bulk.commit_group()
                elif wg_id == 1:
                    T.ptx.cp_async.bulk.wait_group(0)
            """),
            replacement=in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                if T.filter(lane_id, wg_id == 0 and warp_id == 0 and lane_id == 0):
                    {_STORE}
                    T.ptx.cp_async.bulk.commit_group()
                    T.ptx.cp_async.bulk.wait_group(0)
                elif wg_id == 1:
                    T.ptx.cp_async.bulk.wait_group(0)
            """),
        ),
        # Waited for and not committed: the wait has nothing to wait for.
        Invalid(
            in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                if wg_id == 0 and warp_id == 0 and lane_id == 0:
                    {_STORE}  # <-
                    {_WAIT}
            """),
            replacement=in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                if wg_id == 0 and warp_id == 0 and lane_id == 0:
                    {_STORE}
                    {_COMMIT}
                    {_WAIT}
            """),
        ),
        # The wrong way round; one group left open with one buffer.
        Invalid(
            in_finished_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                Es = pool.alloc((1024,), "float16")
                pool.commit()
                for i in range(4):
                    Tx.cta.copy(Ds[:], A[0:1024])
                    Tx.cta.copy(Es[:], A[0:1024])
                    T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.cta_sync()
                    if wg_id == 0 and warp_id == 0 and lane_id == 0:
                        {_STORE}  # <-
                        {_WAIT}
                        {_COMMIT}
                    if wg_id == 1 and warp_id == 0 and lane_id == 0:
                        Tx.copy_async(A[0:1024], Es[:], dispatch="tma_auto")  # <-
                        {_COMMIT}
                        T.ptx["cp.async.bulk.wait_group.read"](1)
                    T.cuda.cta_sync()
                if warp_id == 0:
                    {_WAIT}
            """)
        ),
        # Only the last one is not waited for.
        Invalid(
            in_finished_kernel(f"""
                @T.inline
                def flush(slot):
                    Tx.copy_async(A[0:1024], Ds[slot, :], dispatch="tma_auto")  # <-
                    {_COMMIT}

                pool = T.SMEMPool()
                Ds = pool.alloc((2, 1024), "float16")
                pool.commit()
                for i in range(4):
                    if wg_id == 0 and warp_id == 0 and lane_id == 0:
                        flush(i % 2)
                        T.ptx.cp.async_.bulk.wait_group.read(1)
            """),
            severity=Severity.WARNING,
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Follow each run of stores to the wait for it."""
        reach = view.reach
        if reach is None or reach.is_opaque:
            return
        yield from self._empty_groups(view, reach)
        for store, last in runs_of_stores(reach):
            source = engine_copies(reach)[id(store.operation)].shared
            yield from self._follow(view, reach, store, last, source)

    def _follow(
        self,
        view: KernelView,
        reach: ReachMap,
        store: Reached,
        last: Reached,
        source: Region | None,
    ) -> Iterator[Finding]:
        end = drain(following(view, last), store, None)
        courses = [drain(course, store, source) for course in rounds(view, last)]
        written = next((c.written for c in (*courses, end) if c.written is not None), None)
        missing = [
            (op, what)
            for op, what in ((Op.BULK_COMMIT, "commit_group"), (Op.BULK_WAIT, "wait_group"))
            if comes_without(reach, store, op)
        ]
        if missing:
            if is_finished(view):
                yield self._missing(view, store, last, [what for _, what in missing])
        elif written is not None:
            message = (
                "this TMA store may still be reading its source when line "
                f"{view.line(written.operation.span)} writes there again: no `wait_group` between "
                "them covers the group it is committed to. Commit, then wait with a count of 0"
            )
            related = [Related(written.operation.span, "its source is written again here")]
            related += guards_and_calls(store)
            yield self.finding(Severity.ERROR, message, store.operation.span, related=related)
        elif not end.drained and is_finished(view):
            message = (
                "the last of these TMA stores may still be reading shared memory when the CTA ends "
                "and its memory goes to another. Wait with a count of 0 after the loop"
            )
            related = guards_and_calls(store)
            yield self.finding(Severity.WARNING, message, store.operation.span, related=related)

    def _empty_groups(self, view: KernelView, reach: ReachMap) -> Iterator[Finding]:
        """Find commits by threads that start no store: the tile they were for goes nowhere."""
        commits = reach.of(Op.BULK_COMMIT)
        if not commits:
            return
        storing = 0
        for reached in reach.of(*MAY_STORE):
            if may_store(reached.operation):
                storing |= reached.participants.possible
        for commit in commits:
            idle = commit.participants.typical & ~warps_touched(storing, reach.shape)
            if idle and commit.participants.pick is not Pick.SOME and is_finished(view):
                message = (
                    f"{place(idle, reach.shape)} commits a bulk group here and starts no TMA store "
                    "in the whole kernel: the group is empty, and what was written to shared "
                    "memory for it never gets to global memory. Start the store before the commit"
                )
                related = guards_and_calls(commit)
                yield self.finding(
                    Severity.WARNING, message, commit.operation.span, related=related
                )

    def _missing(
        self, view: KernelView, store: Reached, last: Reached, missing: list[str]
    ) -> Finding:
        named = " and no ".join(f"`{what}`" for what in missing)
        consequence = (
            "a wait without it waits for nothing, so"
            if missing == ["commit_group"]
            else "nobody knows when the engine has read its source, so"
        )
        message = (
            f"the threads that issue this TMA store execute no {named}: {consequence} "
            "shared memory is overwritten, or given to another CTA, while it is being sent. "
            "Commit and wait after the store"
        )
        return self.finding(
            Severity.ERROR,
            message,
            store.operation.span,
            fix=_insert(view, last, missing),
            related=guards_and_calls(store),
        )


def _insert(view: KernelView, last: Reached, missing: list[str]) -> Fix | None:
    """Write the missing calls below the last store, or below its commit."""
    if last.operation.stack or view.reach is None:
        return None
    after = last
    if "commit_group" not in missing:
        after_it = following(view, last)
        commits = (r for r in after_it if r.operation.op is Op.BULK_COMMIT and meets(r, last))
        after = next(commits, last)
        if after.operation.op is not Op.BULK_COMMIT or after.guards != last.guards:
            return None
    lines = whole_lines(view.source, after.operation.statement)
    if lines is None or not view.source.slice(lines).endswith("\n"):
        return None
    older = is_older(view)
    family = f"{tirx_name(view)}.ptx.{'cp_async' if older else 'cp.async_'}.bulk."
    calls = {"commit_group": "commit_group()", "wait_group": "wait_group.read(0)"}
    if older:
        calls["wait_group"] = "wait_group(0)"
    indent = indentation(view.source, after.operation.statement)
    text = "".join(f"{indent}{family}{calls[what]}\n" for what in missing)
    place = Span(lines.end, lines.end)
    return Fix("Commit and wait", Applicability.SAFE, (Edit(place, text),))
