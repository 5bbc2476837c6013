"""TX302: shared memory that threads wrote and an engine reads, with no proxy fence between."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import FENCES, Op
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.history import Hazard
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import is_older, tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.engine_reads import engine_reads, last_write
from tirx_lens.rules.facts.inner_meetings import may_meet_inside
from tirx_lens.rules.histories import races_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.rules.facts.engine_reads import EngineRead
    from tirx_lens.threads.reach import Reached, ReachMap

_MEETINGS = frozenset(
    {Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.WARP_SYNC, Op.NAMED_BARRIER}
    | {Op.BARRIER_WAIT, Op.CLUSTER_ARRIVE}
)
_STORE = 'Tx.copy_async(A[bx * 1024 : bx * 1024 + 1024], Ds[:], dispatch="tma_auto")'


_CALLS = {
    "copy(As)": "Tx.cta.copy(As[:, :], A[0:1024])",
    "copy(Bs)": "Tx.cta.copy(Bs[:, :], A[0:1024])",
    "fence": "T.ptx.fence.proxy.async_.shared__cta()",
    "sync": "T.cuda.cta_sync()",
}


def _mma(*lines: str, mark: str = "  # <-") -> str:
    """Return an example in which threads bring both operands of an MMA."""
    spelled = [line.replace(line.strip(), _CALLS.get(line.strip(), line.strip())) for line in lines]
    body = [
        "pool = T.SMEMPool()",
        'As = pool.alloc((128, 8), "float16")',
        'Bs = pool.alloc((128, 8), "float16")',
        "pool.commit()",
        'acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)',
        *spelled,
        "if wg_id == 0 and warp_id == 0 and lane_id == 0:",
        f'    Tx.gemm_async(acc[:, :], As[:, :], Bs[:, :], dispatch="tcgen05"){mark}',
    ]
    return in_kernel("\n".join(body))


class ProxyFenceMissing(Rule):
    """Threads write shared memory and an engine reads it, with no proxy fence between.

    ## What it does
    Finds tile operations by which threads write a buffer in SMEM, followed by a TMA store of that
    buffer or an MMA that takes it as an operand, where the writers execute no `fence.proxy.async`
    between the two. A fence that only some of the writers execute, before they meet, counts as
    none, and so does one that no thread can reach.

    ## Why it is bad
    Threads write through the generic proxy; the TMA engine and the tensor core read through the
    asynchronous one. A barrier orders threads with each other and says nothing about the two
    proxies: the engine may read what was there before. On hardware about 1 % of what a TMA store
    sent was wrong, other elements each run, and small shapes came out right. TVM compiles it
    without a word, and sanitizers do not see it.

    ## Example
    ```python
    Tx.wg.copy(Ds[:, :], registers[:, :])
    T.cuda.warpgroup_sync(1)
    if warp_id == 0:
        if T.cuda.elect_sync():
            Tx.copy_async(D[m : m + 128, n : n + 64], Ds[:, :], dispatch="tma_auto")
    ```

    ## Use instead
    ```python
    Tx.wg.copy(Ds[:, :], registers[:, :])
    T.ptx.fence.proxy.async_.shared__cta()  # every writer, before they meet
    T.cuda.warpgroup_sync(1)
    ```

    ## Fix
    Inserts the fence after the last write.

    ## When not to
    Data that TMA brought and an engine reads needs no fence, and is not reported. A fence by the
    storing thread after the writers have met is accepted.

    ## References
    - PTX ISA, *Memory Consistency Model: Proxies*, and *membar, fence: fence.proxy.async*
    """

    code: ClassVar[str] = "TX302"
    name: ClassVar[str] = "proxy-fence-missing"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.NAN)
    fix_title: ClassVar[str | None] = "Insert the proxy fence"

    VALID = (
        in_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            pool.commit()
            Tx.cta.copy(Ds[:], A[0:1024])
            T.ptx.fence.proxy.async_.shared__cta()
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                if T.cuda.elect_sync():
                    {_STORE}
        """),
        # 0.26; a fence of all kinds, as a string; by the storing thread, after all have met.
        in_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            pool.commit()
            if wg_id == 0:
                Tx.wg.copy(Ds[:], A[0:1024])
                T.ptx.fence.proxy_async("shared::cta")
                T.cuda.warpgroup_sync(1)
                if warp_id == 0 and lane_id == 0:
                    {_STORE}
                T.cuda.warpgroup_sync(1)
                Tx.wg.copy(Ds[:], A[0:1024])
                T.ptx.fence.proxy_async()
                T.cuda.warpgroup_sync(1)
                if warp_id == 0 and lane_id == 0:
                    {_STORE}
                T.cuda.warpgroup_sync(1)
                Tx.wg.copy(Ds[:], A[0:1024])
                T.cuda.warpgroup_sync(1)
                if warp_id == 0 and lane_id == 0:
                    T.ptx.fence.proxy_async("shared::cta")
                    {_STORE}
        """),
        # In by TMA and out by TMA: no thread has written.
        in_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            full = TMABar(pool, 1)
            pool.commit()
            full.init(1)
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                full.arrive(0, 2048)
                Tx.copy_async(Ds[:], A[0:1024], dispatch="tma_auto", mbar=full.ptr_to([0]))
                full.wait(0, 0)
                {_STORE}
        """),
        # What threads bring for an MMA, one operand by TMA; the next block while the MMA reads.
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((128, 8), "float16")
            Bs = pool.alloc((128, 8), "float16")
            full = TMABar(pool, 1)
            done = TCGen05Bar(pool, 1)
            pool.commit()
            full.init(1)
            done.init(1)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            Tx.cta.copy(As[:, :], A[0:1024])
            for k in range(4):
                T.ptx.fence.proxy.async_.shared__cta()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0 and lane_id == 0:
                    full.arrive(0, 2048)
                    Tx.copy_async(Bs[:, :], A[0:1024], dispatch="tma_auto", mbar=full.ptr_to([0]))
                    full.wait(0, k % 2)
                    Tx.gemm_async(
                        acc[:, :], As[:, :], Bs[:, :], accum=(k != 0), dispatch="tcgen05"
                    )
                    done.arrive(0)
                done.wait(0, k % 2)
                Tx.cta.copy(As[:, :], A[0:1024])
        """),
        # Another buffer, another stage perhaps, the other side of a branch, a fence elsewhere.
        "from kernels import publish\n\n\n"
        + in_kernel(f"""
            pool = T.SMEMPool()
            Ds = pool.alloc((1024,), "float16")
            Es = pool.alloc((4, 1024), "float16")
            pool.commit()
            Tx.cta.copy(Es[0, :], A[0:1024])
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                {_STORE}
                for k in range(4):
                    Tx.copy_async(A[0:1024], Es[k, :], dispatch="tma_auto")
            T.cuda.cta_sync()
            if bx == 0:
                Tx.cta.copy(Ds[:], A[0:1024])
            elif wg_id == 0 and warp_id == 0 and lane_id == 0:
                {_STORE}
            publish(Ds)
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                {_STORE}
        """),
    )

    INVALID = (
        Invalid(
            in_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                for i in range(4):
                    Tx.cta.copy(Ds[:], A[0:1024])
                    T.cuda.cta_sync()
                    if wg_id == 0 and warp_id == 0:
                        if T.cuda.elect_sync():
                            {_STORE}  # <-
                    T.cuda.cta_sync()
            """),
            replacement=in_kernel(f"""
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
                    T.cuda.cta_sync()
            """),
        ),
        # One operand of an MMA is written behind the fence; the fence is one warp's.
        Invalid(
            _mma("copy(As)", "fence", "copy(Bs)", "sync"),
            replacement=_mma("copy(As)", "fence", "copy(Bs)", "fence", "sync", mark=""),
        ),
        Invalid(
            _mma("copy(As)", "copy(Bs)", "if warp_id == 0:", "    fence", "sync"),
            replacement=_mma(
                "copy(As)",
                "copy(Bs)",
                "fence",
                "if warp_id == 0:",
                "    fence",
                "sync",
                mark="",
            ),
        ),
        # A fence of another kind; row by row, each thread its own; in 0.26.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                Ds = pool.alloc((256, 4), "float16")
                row = T.alloc_local((4,), "float16")
                pool.commit()
                T.ptx.fence.mbarrier_init()
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 1):
                    Tx.copy(Ds[128 + warp_id * 32 + lane_id, :], row[:])
                    T.ptx.fence("acq_rel", "gpu")
                    T.cuda.warpgroup_sync(3)
                    if not (warp_id != 0):
                        if T.ptx.elect_sync():
                            Tx.copy_async(A[0:1024], Ds[:, :], dispatch="tma_explicit")  # <-
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                Ds = pool.alloc((256, 4), "float16")
                row = T.alloc_local((4,), "float16")
                pool.commit()
                T.ptx.fence.mbarrier_init()
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 1):
                    Tx.copy(Ds[128 + warp_id * 32 + lane_id, :], row[:])
                    T.ptx.fence.proxy_async("shared::cta")
                    T.ptx.fence("acq_rel", "gpu")
                    T.cuda.warpgroup_sync(3)
                    if not (warp_id != 0):
                        if T.ptx.elect_sync():
                            Tx.copy_async(A[0:1024], Ds[:, :], dispatch="tma_explicit")
            """),
        ),
        # One thread fences, 128 wrote; a T.inline function; the fence of the round before.
        Invalid(
            in_kernel(f"""
                @T.inline
                def send():
                    {_STORE}  # <-

                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                T.ptx.fence.proxy.async_.shared__cta()
                if wg_id == 0:
                    Tx.wg.copy(Ds[:], A[0:1024])
                    if warp_id == 0 and lane_id == 0:
                        T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(1)
                    if warp_id == 0 and lane_id == 0:
                        send()
            """),
            replacement=in_kernel(f"""
                @T.inline
                def send():
                    {_STORE}

                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                pool.commit()
                T.ptx.fence.proxy.async_.shared__cta()
                if wg_id == 0:
                    Tx.wg.copy(Ds[:], A[0:1024])
                    T.ptx.fence.proxy.async_.shared__cta()
                    if warp_id == 0 and lane_id == 0:
                        T.ptx.fence.proxy.async_.shared__cta()
                    T.cuda.warpgroup_sync(1)
                    if warp_id == 0 and lane_id == 0:
                        send()
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look from each read by an engine back to the last write of its source."""
        reach = view.reach
        if reach is None:
            return
        unfenced: dict[int, tuple[int, EngineRead]] = {}
        for read in view.once(engine_reads):
            write = last_write(view, read)
            if write is not None and not _is_fenced(
                write, reach.reached[write : read.index], reach
            ):
                latest = unfenced.get(read.index, (-1, read))
                unfenced[read.index] = max(latest, (write, read), key=lambda pair: pair[0])
        for write, read in unfenced.values():
            yield self._finding(view, reach, reach.reached[write], read)

    def check_history(self, view: KernelView) -> Iterator[Finding]:
        """Tell of reads by an engine in a run that no proxy fence comes before."""
        for found in races_of(view, (Hazard.UNFENCED,)):
            message = (
                f"{found.who} lets an engine read {found.area} here, which {found.first_who} wrote "
                f"on line {view.line(found.other)}: no proxy fence in between shows the writes to "
                "the asynchronous proxy, and it may read what was there before"
            )
            yield self.finding(Severity.ERROR, message, found.at, related=found.related)

    def _finding(
        self, view: KernelView, reach: ReachMap, write: Reached, read: EngineRead
    ) -> Finding:
        does = "sends" if read.is_store else "reads"
        message = (
            f"this {read.what} {does} what {describe(write.participants, reach.shape)} wrote on "
            f"line {view.line(write.operation.span)}, and no `fence.proxy.async` of all these "
            "threads stands between: the engine reads by another proxy and may see what was there "
            f"before. Let every writer fence, then meet, then start the {read.what}"
        )
        related = [Related(write.operation.span, "threads write its source here")]
        return self.finding(
            Severity.ERROR,
            message,
            read.reached.operation.span,
            fix=_insert(view, write),
            related=[*related, *guards_and_calls(read.reached)],
        )


def _is_fenced(write: int, between: Sequence[Reached], reach: ReachMap) -> bool:
    """Tell whether the writers, or the storing thread after a meeting, fence the proxy."""
    writers = reach.reached[write].participants
    met = False
    for reached in between:
        op, who = reached.operation.op, reached.participants
        if not who.possible:
            continue
        met = met or op in _MEETINGS or may_meet_inside(reached.operation)
        if op is Op.FENCE_PROXY_ASYNC or (op in FENCES and "proxy" in reached.operation.name):
            partial = who.pick is Pick.ONE_PER_WARP or writers.possible & ~who.possible
            if met or not partial or writers.pick is not Pick.ALL:
                return True
    return False


def _insert(view: KernelView, write: Reached) -> Fix | None:
    lines = whole_lines(view.source, write.operation.statement)
    if lines is None or write.operation.stack or not view.source.slice(lines).endswith("\n"):
        return None
    older = 'fence.proxy_async("shared::cta")'
    call = older if is_older(view) else "fence.proxy.async_.shared__cta()"
    indent = indentation(view.source, write.operation.statement)
    text = f"{indent}{tirx_name(view)}.ptx.{call}\n"
    place = Span(lines.end, lines.end)
    return Fix("Insert the proxy fence", Applicability.SAFE, (Edit(place, text),))
