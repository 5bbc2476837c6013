"""TX401: a copy that is meant for the TMA engine and left to TVM's choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import Memory
from tirx_lens.model.finding import Applicability, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.keywords import added_keyword
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.bulk import armed, barrier_in
from tirx_lens.rules.facts.copies import destination, given, goes, leaves_dispatch_open
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_DISPATCH = 3  # the position of `dispatch` in `copy_async`
_TMA = 'dispatch="tma_auto"'
_SMALLEST = 4  # bytes that one `cp.async` copies


class CopyNotTma(Rule):
    """An asynchronous copy names no `dispatch=`, so that it need not become a TMA copy.

    ## What it does
    Finds `Tx.copy_async` from global to shared memory with `mbar=` and without `dispatch=`: an
    error where an arrival arms that barrier with bytes, else information. Finds stores from shared
    to global memory without `dispatch=` (information).

    ## Why it is bad
    TVM tries the variants of a copy by priority, and `ldgsts` comes before TMA. It copies with
    plain `cp.async` instructions, which know no mbarrier: `mbar=` is dropped without a word, the
    bytes that the barrier expects are never counted, and whoever waits for it waits for ever. One
    thread also issues a thousand instructions in place of one.

    ## Example
    ```python
    full.arrive(stage, STAGE_BYTES)
    Tx.copy_async(As[stage, :, :], A[m : m + 128, k : k + 64], mbar=full.ptr_to([stage]))
    ```

    ## Use instead
    ```python
    full.arrive(stage, STAGE_BYTES)
    Tx.copy_async(
        As[stage, :, :],
        A[m : m + 128, k : k + 64],
        dispatch="tma_auto",
        mbar=full.ptr_to([stage]),
    )
    ```

    ## Fix
    Adds `dispatch="tma_auto"`. It is safe where the barrier is armed with bytes.

    ## When not to
    Copies of a warp, a warpgroup or the CTA (`Tx.cta.copy_async`) are meant for `cp.async`, and are
    not reported; nor are copies whose shape is not known, which `ldgsts` may refuse.

    ## References
    - TVM, `python/tvm/tirx/operator/tile_primitive/dispatcher.py`, `run_dispatch`
    - TVM, `python/tvm/backend/cuda/tile_primitive/copy_async/ldgsts.py` (priority 20) and `tma.py`
      (priority 10)
    - PTX ISA, *cp.async* and *cp.async.bulk.tensor*
    """

    code: ClassVar[str] = "TX401"
    name: ClassVar[str] = "copy-not-tma"
    levels: ClassVar[str] = "error where the barrier expects bytes; else information"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.SLOW, Symptom.DEADLOCK)
    fix_title: ClassVar[str | None] = 'Add dispatch="tma_auto"'

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            As = pool.alloc((2, 64), "float16")
            pool.commit()
            full.init(1)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            config = {"dispatch": "tma_auto", "cta_group": 1}
            if wg_id == 0:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        full.arrive(0, 256)
                        Tx.copy_async(
                            As[0, :],
                            A[0:64],
                            dispatch="tma_auto",
                            mbar=full.ptr_to([0]),
                        )
                        Tx.copy_async(As[1, :], A[64:128], **config, mbar=full.ptr_to([0]))
        """),
        # For cp.async: by all threads, without a barrier.
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((2, 64), "float16")
            pool.commit()
            Tx.cta.copy_async(As[0, :], A[0:64])
            Tx.copy_async(As[1, :], A[64:128])
            Tx.copy_async(As[1, :], A[64:128], dispatch="ldgsts")
        """),
        # SMEM to SMEM of a peer, TMEM to registers: other variants.
        in_kernel("""
            pool = T.SMEMPool()
            full = MBarrier(pool, 1)
            As = pool.alloc((64,), "float16")
            Bs = pool.alloc((64,), "float16")
            pool.commit()
            full.init(1)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 64), "float32", scope="tmem")
            reg = T.wg_reg_tile(64)
            Tx.copy_async(Bs[:], As[:], mbar=full.ptr_to([0]), remote_cta_id=1)
            Tx.wg.copy_async(reg[:, :], acc[:, :])
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((2, 64), "float16")
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            full.arrive(0, 128)
                            load = full.ptr_to([0])
                            Tx.copy_async(As[0, :], A[0:64], mbar=load)  # <-
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((2, 64), "float16")
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            full.arrive(0, 128)
                            load = full.ptr_to([0])
                            Tx.copy_async(As[0, :], A[0:64], mbar=load, dispatch="tma_auto")
            """),
        ),
        # A trailing comma, a pipeline's barrier, a T.inline function, dispatch=None.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                As = pool.alloc((2, 64), "float16")
                pool.commit()
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()

                @T.inline
                def load(stage):
                    pipe.full.arrive(stage, 128)
                    Tx.copy_async(  # <-
                        As[stage, :],
                        A[0:64],
                        mbar=pipe.full.ptr_to([stage]),  # the data
                    )

                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            load(0)
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                As = pool.alloc((2, 64), "float16")
                pool.commit()
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()

                @T.inline
                def load(stage):
                    pipe.full.arrive(stage, 128)
                    Tx.copy_async(
                        As[stage, :],
                        A[0:64],
                        mbar=pipe.full.ptr_to([stage]),
                        dispatch="tma_auto",  # the data
                    )

                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            load(0)
            """),
        ),
        # The older spelling arms the barrier.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = MBarrier(pool, 1)
                As = pool.alloc((64,), "float16")
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.ptx.elect_sync():
                        T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 128)
                        Tx.copy_async(As[:], A[0:64], mbar=full.ptr_to([0]), dispatch=None)  # <-
            """)
        ),
        # Nobody arms it here: `mbar=` means nothing all the same. And a store.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = MBarrier(pool, 1)
                As = pool.alloc((64,), "float16")
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        full.arrive(0)
                        Tx.copy_async(As[:], A[0:64], mbar=full.ptr_to([0]))  # <-
                        Tx.copy_async(A[0:64], As[:])  # <-
            """),
            severity=Severity.INFORMATION,
            replacement=in_kernel("""
                pool = T.SMEMPool()
                full = MBarrier(pool, 1)
                As = pool.alloc((64,), "float16")
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        full.arrive(0)
                        Tx.copy_async(As[:], A[0:64], mbar=full.ptr_to([0]), dispatch="tma_auto")
                        Tx.copy_async(A[0:64], As[:], dispatch="tma_auto")
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look at each thread's own asynchronous copies that leave the variant to TVM."""
        program = view.listing.operations
        for copy in program:
            if copy.name != "Tx.copy_async" or copy.op is not Op.COPY_ASYNC:
                continue
            if not leaves_dispatch_open(copy, _DISPATCH):
                continue
            if goes(copy, Memory.GLOBAL, Memory.SHARED):
                if given(copy, "mbar") is not None and _fits_cp_async(copy):
                    yield self._load(view, copy, program)
            elif goes(copy, Memory.SHARED, Memory.GLOBAL):
                message = (
                    "this store leaves its variant to TVM: today that is a TMA store, because no "
                    f"other variant takes shared to global memory. Say so: `{_TMA}`"
                )
                fix = _fix(view, copy, Applicability.UNSAFE)
                yield self.finding(Severity.INFORMATION, message, copy.span, fix=fix)

    def _load(self, view: KernelView, copy: Operation, program: Sequence[Operation]) -> Finding:
        barrier = barrier_in(given(copy, "mbar"))
        arming = armed(barrier, program) if barrier is not None else None
        related = [Related(call, "called from here") for call in reversed(copy.stack)]
        said = "without `dispatch=` TVM makes plain `cp.async` of this load and drops `mbar=`: "
        if arming is None or barrier is None:
            message = f"{said}no arrival comes of it. Write `{_TMA}`"
            fix = _fix(view, copy, Applicability.UNSAFE)
            return self.finding(Severity.INFORMATION, message, copy.span, fix=fix, related=related)
        message = (
            f"{said}the bytes that `{barrier.name}` expects (line {view.line(arming.span)}) never "
            f"arrive, and whoever waits for it waits for ever. Write `{_TMA}`"
        )
        related.insert(0, Related(arming.span, f"`{barrier.name}` is told to expect bytes here"))
        fix = _fix(view, copy, Applicability.SAFE)
        return self.finding(Severity.ERROR, message, copy.span, fix=fix, related=related)


def _fits_cp_async(copy: Operation) -> bool:
    """Tell whether `ldgsts` surely takes a copy: its innermost rows are whole words."""
    region = destination(copy)
    extents, size = (region.extents(), region.bytes()) if region is not None else (None, None)
    if not extents or not size:
        return False
    row = size
    for extent in extents[:-1]:
        row //= extent
    return row % _SMALLEST == 0


def _fix(view: KernelView, copy: Operation, applicability: Applicability) -> Fix | None:
    if "dispatch" in dict(copy.keywords) or len(copy.arguments) > _DISPATCH:
        return None  # `dispatch=None` is there already
    edit = added_keyword(view.source, copy.span, _TMA)
    return Fix(f"Add `{_TMA}`", applicability, (edit,)) if edit is not None else None
