"""TX403: a ring with one stage, so that its producer and its consumer take turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import buffers_in
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.copies import destination
from tirx_lens.rules.facts.handoffs import Handoff, handoffs
from tirx_lens.rules.facts.nesting import repeats
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.reach import ReachMap

_RING = """
    pool = T.SMEMPool()
    full = TMABar(pool, {depth})
    empty = TCGen05Bar(pool, {depth})
    As = pool.alloc_tcgen05_mma_AB(({depth}, 128, 64), "float16")
    pool.commit()
    full.init(1)
    empty.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    acc = T.decl_buffer((128, 128), "float32", scope="tmem")
    X = T.match_buffer(A, (128, 512), "float16")
    if wg_id == 1:
        if warp_id == 3:
            if T.cuda.elect_sync():
                load = PipelineState({depth}, phase=1)
                for k in range(8):
                    empty.wait(load.stage, load.phase)
                    full.arrive(load.stage, 128 * 64 * 2)
                    Tx.copy_async({mark}
                        As[load.stage, :, :],
                        X[:, k * 64 : k * 64 + 64],
                        dispatch="tma_auto",
                        mbar=full.ptr_to([load.stage]),
                    )
                    load.advance()
        elif warp_id == 0:
            if T.cuda.elect_sync():
                mma = PipelineState({depth}, phase=0)
                for k in range(8):
                    full.wait(mma.stage, mma.phase)
                    T.ptx.tcgen05.fence__after_thread_sync()
                    Tx.gemm_async(
                        acc[:, :],
                        As[mma.stage, :, :],
                        As[mma.stage, :, :],
                        accum=(k != 0),
                        dispatch="tcgen05",
                        cta_group=1,
                    )
                    empty.arrive(mma.stage)
                    mma.advance()
"""


class PipelineNoOverlap(Rule):
    """The ring between a TMA producer and an MMA consumer has one stage.

    ## What it does
    Finds loops in which one role loads the operands that another role multiplies, where every
    barrier of these loads has a depth of 1.

    ## Why it is bad
    With one stage the producer cannot load the next block before the MMAs that read this one are
    done, and they cannot start before it has come: the TMA engine and the tensor core take
    turns, and each stands still about half of the time. The result is right, the roles are there,
    and nothing overlaps.

    ## Example
    ```python
    full = TMABar(pool, 1)
    empty = TCGen05Bar(pool, 1)
    As = pool.alloc_tcgen05_mma_AB((1, 128, 64), "float16")
    ```

    ## Use instead
    ```python
    DEPTH = 4
    full = TMABar(pool, DEPTH)
    empty = TCGen05Bar(pool, DEPTH)
    As = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")
    ```

    ## When not to
    One thread that loads and multiplies in turn has no overlap by design, and an operand that is
    loaded once for many blocks of the other needs no second stage: neither is reported.

    ## References
    - CUDA C++ Programming Guide, *Asynchronous data copies using the Tensor Memory Accelerator*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, `PipelineState`
    """

    code: ClassVar[str] = "TX403"
    name: ClassVar[str] = "pipeline-no-overlap"
    levels: ClassVar[str] = "information"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.SLOW,)

    VALID = (
        in_kernel(_RING.format(depth=4, mark="")),
        # Loaded once, in front of the loop.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 1)
            As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
            pool.commit()
            full.init(1)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 128), "float32", scope="tmem")
            X = T.match_buffer(A, (128, 512), "float16")
            if wg_id == 1:
                if warp_id == 3:
                    if T.cuda.elect_sync():
                        full.arrive(0, 128 * 64 * 2)
                        Tx.copy_async(
                            As[:, :], X[:, 0:64], dispatch="tma_auto", mbar=full.ptr_to([0])
                        )
                elif warp_id == 0:
                    if T.cuda.elect_sync():
                        full.wait(0, 0)
                        for k in range(8):
                            Tx.gemm_async(
                                acc[:, :],
                                As[:, :],
                                As[:, :],
                                accum=(k != 0),
                                dispatch="tcgen05",
                            )
        """),
        # One thread does both.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 1)
            done = TCGen05Bar(pool, 1)
            As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
            pool.commit()
            full.init(1)
            done.init(1)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 128), "float32", scope="tmem")
            X = T.match_buffer(A, (128, 512), "float16")
            if wg_id == 0:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        for k in range(8):
                            full.arrive(0, 128 * 64 * 2)
                            Tx.copy_async(
                                As[:, :],
                                X[:, k * 64 : k * 64 + 64],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([0]),
                            )
                            full.wait(0, k % 2)
                            Tx.gemm_async(
                                acc[:, :],
                                As[:, :],
                                As[:, :],
                                accum=(k != 0),
                                dispatch="tcgen05",
                            )
                            done.arrive(0)
                            done.wait(0, k % 2)
        """),
    )

    INVALID = (
        Invalid(in_kernel(_RING.format(depth=1, mark="  # <-")), severity=Severity.INFORMATION),
        # A Pipeline, the depth a constant of the module.
        Invalid(
            "STAGES = 1\n"
            + in_kernel(
                _RING.replace("full = TMABar(pool, {depth})", "pipe = Pipeline(")
                .replace(
                    "empty = TCGen05Bar(pool, {depth})",
                    '    pool, STAGES, full="tma", empty="tcgen05"\n    )\n'
                    "    full = T.meta_var(pipe.full)\n    empty = T.meta_var(pipe.empty)",
                )
                .replace("    full.init(1)\n    empty.init(1)\n", "")
                .format(depth="STAGES", mark="  # <-")
            ),
            severity=Severity.INFORMATION,
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for operands that one role loads, time and again, into one stage for another."""
        if view.reach is None:
            return
        rings = [handoff for handoff in handoffs(view).barriers if _loads(handoff)]
        if any(ring.depth != 1 for ring in rings):
            return
        for ring in rings:
            loads = _loads(ring)
            gemm = _multiplied(loads, view.reach)
            if gemm is None:
                continue
            barrier = ring.barrier
            message = (
                f"the ring of `{barrier.name}` has one stage: this load waits until the MMA of the "
                f"last block (line {view.line(gemm.span)}) is done, and that MMA waits for this "
                "load, so that TMA and tensor cores take turns. With 2 to 4 stages they overlap"
            )
            related = [
                Related(barrier.span, f"`{barrier.name}` is made with a depth of 1"),
                Related(gemm.span, "multiplies what is loaded"),
            ]
            yield self.finding(Severity.INFORMATION, message, loads[0].span, related=related)


def _loads(handoff: Handoff) -> list[Operation]:
    """Return the copies in loops that signal a barrier."""
    return [
        place.operation
        for place in handoff.copies
        if place.operation.op is Op.COPY_ASYNC and any(map(repeats, place.loops))
    ]


def _multiplied(loads: list[Operation], reach: ReachMap) -> Operation | None:
    """Return a multiplication, by other threads and in a loop, of everything that is loaded."""
    regions = [destination(load) for load in loads]
    loaded = {region.buffer for region in regions if region is not None}
    loading = 0
    for load in loads:
        started = reach.by_operation.get(id(load))
        loading |= started.participants.possible if started is not None else 0
    for reached in reach.of(Op.GEMM_ASYNC):
        gemm = reached.operation
        if not reached.loops:
            continue
        used = {buffer for operand in gemm.arguments[1:3] for buffer in buffers_in(operand)}
        apart = not loading & reached.participants.possible
        if used and used <= loaded and apart:
            return gemm
    return None
