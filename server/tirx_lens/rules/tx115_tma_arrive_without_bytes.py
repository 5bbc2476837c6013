"""TX115: a TMA barrier is armed with no bytes to wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import Memory, memory_of, region_of
from tirx_lens.model.expr import Const
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.handoffs import Handoff, handoffs
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.rules.facts.nesting import Placed

_BULK_LOAD = "T.ptx.cp.async.bulk."


class TmaArriveWithoutBytes(Rule):
    """A TMA barrier is armed without the number of bytes it has to wait for.

    ## What it does
    Finds `arrive(stage)` with no byte count on a `TMABar` (or a `Pipeline` side tagged `"tma"`)
    that TMA copies report to by `mbar=`, where nothing else tells that barrier of any bytes.

    ## Why it is bad
    With a byte count, `TMABar.arrive` is `mbarrier.arrive.expect_tx`: the phase ends when the
    arrival is there *and* the bytes have landed. Without one it is a plain arrival: the phase may
    end at once, before the copy has written anything, and the bytes that land later are
    subtracted from a count that was never raised. The consumer reads what the stage held before,
    or waits for a phase that never ends: on an H200 the kernel hangs.

    ## Example
    ```python
    full.arrive(stage)
    Tx.copy_async(As[stage, :, :], tile, dispatch="tma_auto", mbar=full.ptr_to([stage]))
    ```

    ## Use instead
    ```python
    full.arrive(stage, BM * BK * 2)
    Tx.copy_async(As[stage, :, :], tile, dispatch="tma_auto", mbar=full.ptr_to([stage]))
    ```

    ## Fix
    Gives the sum of the bytes of the copies that stand beside the arrival, where the text tells
    them all. Safe: they are all that this barrier is told of.

    ## When not to
    Where one site arms the barrier with bytes, others may arrive without: a barrier initialised
    for two arrivals, or one CTA that arms for both. Bytes announced by a raw
    `mbarrier.expect_tx`, and barriers whose pointer goes elsewhere, keep the rule silent.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.expect_tx,
      tracking asynchronous operations by the tx-count*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `TMABar`
    """

    code: ClassVar[str] = "TX115"
    name: ClassVar[str] = "tma-arrive-without-bytes"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK,)
    fix_title: ClassVar[str | None] = "Give the bytes of the copies"

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            As = pool.alloc((2, 64, 64), "float16")
            full.init(1)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 0:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        full.arrive(0, tx_count=8192)
                        Tx.copy_async(As[0, :, :], A[0:4096], dispatch="tma_auto",
                                      mbar=full.ptr_to([0]))
                full.wait(0, 0)
        """),
        # One arrival arms, the other says that the stage's scales are written.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            As = pool.alloc((2, 64, 64), "float16")
            full.init(2)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                if T.cuda.elect_sync():
                    full.arrive(0, 8192)
                    Tx.copy_async(As[0, :, :], A[0:4096], dispatch="tma_auto",
                                  mbar=full.ptr_to([0]))
            elif wg_id == 1 and warp_id == 0:
                if T.cuda.elect_sync():
                    full.arrive(0)
            if wg_id == 0:
                full.wait(0, 0)
        """),
        # Bytes by a raw instruction; no copy reports to it.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            plain = TMABar(pool, 1)
            As = pool.alloc((2, 64, 64), "float16")
            full.init(1)
            plain.init(1)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 0:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        T.ptx.mbarrier.expect_tx.relaxed.cta.shared__cta.b64(full.ptr_to([0]), 8192)
                        full.arrive(0)
                        plain.arrive(0)
                        Tx.copy_async(As[0, :, :], A[0:4096], dispatch="tma_auto",
                                      mbar=full.ptr_to([0]))
                full.wait(0, 0)
                plain.wait(0, 0)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((2, 64, 64), "float16")
                Bs = pool.alloc((2, 32, 64), "float16")
                full.init(1)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            for k in range(16):
                                full.arrive(k % 2)  # <-
                                Tx.copy_async(
                                    As[k % 2, :, :],
                                    A[0:4096],
                                    dispatch="tma_auto",
                                    mbar=full.ptr_to([k % 2]),
                                )
                                Tx.copy_async(
                                    Bs[k % 2, 0:32, :],
                                    A[0:2048],
                                    dispatch="tma_auto",
                                    mbar=full.ptr_to([k % 2]),
                                )
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((2, 64, 64), "float16")
                Bs = pool.alloc((2, 32, 64), "float16")
                full.init(1)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            for k in range(16):
                                full.arrive(k % 2, 12288)
                                Tx.copy_async(
                                    As[k % 2, :, :],
                                    A[0:4096],
                                    dispatch="tma_auto",
                                    mbar=full.ptr_to([k % 2]),
                                )
                                Tx.copy_async(
                                    Bs[k % 2, 0:32, :],
                                    A[0:2048],
                                    dispatch="tma_auto",
                                    mbar=full.ptr_to([k % 2]),
                                )
            """),
        ),
        # A pipeline, in a T.inline function; copies in a loop of their own: no fix.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                As = pool.alloc((2, 64, 64), "float16")
                pool.commit()
                T.cuda.cta_sync()

                @T.inline
                def load(bar, stage):
                    bar.arrive(stage)  # <-
                    for half in T.unroll(2):
                        Tx.copy_async(
                            As[stage, half * 32 : half * 32 + 32, :],
                            A[0:2048],
                            dispatch="tma_auto",
                            mbar=bar.ptr_to([stage]),
                        )

                if T.filter(lane_id, wg_id == 1 and warp_id == 0 and T.cuda.elect_sync()):
                    load(pipe.full, 1)
            """)
        ),
        # An arrival at the leader's barrier, with None for a count.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 1)
                As = pool.alloc((64, 64), "float16")
                full.init(1)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.copy_async(As, A[0:4096], dispatch="tma_explicit", mbar=full.ptr_to([0]))
                    full.arrive(0, None, remote=0)  # <-
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for arrivals without bytes at the barriers that copies report to."""
        found = handoffs(view)
        if found.is_open:
            return
        for handoff in found.barriers:
            copies = _copies(handoff)
            bare = [place for place in handoff.arrivals if _is_bare(place.operation)]
            if not copies or not bare or len(bare) < len(handoff.arrivals):
                continue
            for place in bare:
                yield self._finding(view, handoff, place, copies)

    def _finding(
        self, view: KernelView, handoff: Handoff, place: Placed, copies: list[Placed]
    ) -> Finding:
        name = handoff.barrier.name
        total = _bytes_beside(view, place, copies)
        bytes_ = f"{total} bytes" if total is not None else "their bytes"
        plural = "copies report" if len(copies) > 1 else "a copy reports"
        message = (
            f"`{name}.arrive` without a byte count is a plain arrival, but {plural} to `{name}` "
            f"(line {view.line(copies[0].operation.span)}): the phase does not wait for {bytes_}, "
            "and their arrival upsets its count: the kernel hangs or reads what is not there. "
            "Give the number of bytes that land per phase"
        )
        related = [Related(copy.operation.span, f"reports to `{name}`") for copy in copies]
        return self.finding(
            Severity.ERROR,
            message,
            place.operation.span,
            fix=_fix(view, place.operation, total) if len(handoff.arrivals) == 1 else None,
            related=related + calls_around(place.operation),
        )


def _copies(handoff: Handoff) -> list[Placed]:
    """Return the TMA copies that report to a barrier; none where it is used in other ways, too."""
    if handoff.barrier.kind is not ObjectKind.TMA_BARRIER:
        return []
    loads = [p for p in handoff.elsewhere if p.operation.name.startswith(_BULK_LOAD)]
    if len(loads) < len(handoff.elsewhere):
        return []
    tiles = [place for place in handoff.copies if _is_tma(place.operation)]
    return tiles + loads


def _is_tma(copy: Operation) -> bool:
    dispatch = copy.argument(99, "dispatch")
    return isinstance(dispatch, Const) and str(dispatch.value).startswith("tma")


def _is_bare(arrival: Operation) -> bool:
    count = arrival.argument(1, "tx_count")
    return arrival.complete and (
        count is None or (isinstance(count, Const) and count.value is None)
    )


def _bytes_beside(view: KernelView, place: Placed, copies: list[Placed]) -> int | None:
    """Return the bytes that all copies bring, where each is made once for each arrival."""
    if view.reach is None or view.reach.shape.total != view.reach.shape.threads:
        return None
    total = 0
    for copy in copies:
        region = region_of(copy.operation.argument(0, "dst"))
        alone = copy.operation.op is Op.COPY_ASYNC and copy.operation.complete
        grouped = dict(copy.operation.keywords).keys() & {"cta_group", "cta_mask", "multicast"}
        if region is None or not alone or grouped or not copy.is_beside(place):
            return None
        size = region.bytes() if memory_of(region.buffer) is Memory.SHARED else None
        if size is None:
            return None
        total += size
    return total


def _fix(view: KernelView, arrival: Operation, total: int | None) -> Fix | None:
    written = view.source.slice(arrival.span)
    inside = written[:-1].rstrip() if written.endswith(")") else ""
    plain = len(arrival.arguments) == 1 and not arrival.keywords and not arrival.stack
    if total is None or not plain or not inside or inside.endswith((",", "(")) or "#" in inside:
        return None
    end = arrival.span.start + len(inside.encode())
    return Fix(
        f"Give the {total} bytes of the copies",
        Applicability.SAFE,
        (Edit(Span(end, end), f", {total}"),),
    )
