"""TX402: a matrix multiplication whose variant is left to TVM's choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Finding, Fix, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.keywords import added_keyword
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.copies import leaves_dispatch_open
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_POSITION = 9  # of `dispatch` in `gemm_async`
_TCGEN05 = 'dispatch="tcgen05"'
_HEAD = """
        pool = T.SMEMPool()
        As = pool.alloc_tcgen05_mma_AB((2, 128, 64), "float16")
        Bs = pool.alloc_tcgen05_mma_AB((2, 128, 64), "float16")
        pool.commit()
        acc = T.decl_buffer((128, 128), "float32", scope="tmem")
    """


class GemmNotTcgen05(Rule):
    """An asynchronous matrix multiplication names no `dispatch=`.

    ## What it does
    Finds `Tx.gemm_async` without `dispatch=`.

    ## Why it is bad
    Nothing is wrong today: TVM 0.25 to 0.27 know one variant of `gemm_async`, the tensor core
    instruction `tcgen05.mma`, and refuse the kernel where that does not fit. A later version may
    know another, and would choose it in silence. A kernel that names the variant fails loudly
    in place of running slowly.

    ## Example
    ```python
    Tx.gemm_async(acc[:, :], As[stage, :, :], Bs[stage, :, :], accum=(k != 0))
    ```

    ## Use instead
    ```python
    Tx.gemm_async(
        acc[:, :], As[stage, :, :], Bs[stage, :, :], accum=(k != 0), dispatch="tcgen05"
    )
    ```

    ## Fix
    Adds `dispatch="tcgen05"`, which changes nothing in these versions.

    ## When not to
    Where the arguments come from a dictionary (`**config`), `dispatch` may be in it: such calls are
    not reported.

    ## References
    - TVM, `python/tvm/backend/cuda/tile_primitive/gemm_async/tcgen05.py`
    - PTX ISA, *tcgen05.mma*
    """

    code: ClassVar[str] = "TX402"
    name: ClassVar[str] = "gemm-not-tcgen05"
    levels: ClassVar[str] = "information"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.SLOW,)
    fix_title: ClassVar[str | None] = 'Add dispatch="tcgen05"'

    VALID = (
        in_kernel(
            _HEAD
            + """
        config = {"dispatch": "tcgen05"}
        if wg_id == 0 and warp_id == 0:
            if T.cuda.elect_sync():
                for k in range(2):
                    Tx.gemm_async(
                        acc[:, :], As[k, :, :], Bs[k, :, :], accum=(k != 0), dispatch="tcgen05"
                    )
                    Tx.gemm_async(acc[:, :], As[k, :, :], Bs[k, :, :], accum=True, **config)
        """
        ),
        # Another operation, whose variants are others.
        in_kernel("""
            C = T.alloc_local((4,), "float32")
            Tx.warp.gemm(C, A, A, C)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel(
                _HEAD
                + """
        if wg_id == 0 and warp_id == 0:
            if T.cuda.elect_sync():
                Tx.gemm_async(acc[:, :], As[0, :, :], Bs[0, :, :])  # <-
        """
            ),
            severity=Severity.INFORMATION,
            replacement=in_kernel(
                _HEAD
                + """
        if wg_id == 0 and warp_id == 0:
            if T.cuda.elect_sync():
                Tx.gemm_async(acc[:, :], As[0, :, :], Bs[0, :, :], dispatch="tcgen05")
        """
            ),
        ),
        # In a T.inline function, over several lines, by a warp.
        Invalid(
            in_kernel(
                _HEAD
                + """
        @T.inline
        def multiply(k):
            Tx.warp.gemm_async(  # <-
                acc[:, :],
                As[k, :, :],
                Bs[k, :, :],
                accum=(k != 0),
            )

        if wg_id == 0 and warp_id == 0:
            multiply(0)
        """
            ),
            severity=Severity.INFORMATION,
            replacement=in_kernel(
                _HEAD
                + """
        @T.inline
        def multiply(k):
            Tx.warp.gemm_async(
                acc[:, :],
                As[k, :, :],
                Bs[k, :, :],
                accum=(k != 0),
                dispatch="tcgen05",
            )

        if wg_id == 0 and warp_id == 0:
            multiply(0)
        """
            ),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look at each multiplication's own arguments."""
        for gemm in view.listing.operations:
            if gemm.op is not Op.GEMM_ASYNC or not leaves_dispatch_open(gemm, _POSITION):
                continue
            message = (
                "this multiplication leaves its variant to TVM: today it can only become "
                f"`tcgen05.mma`, a later version may choose another in silence. Say `{_TCGEN05}`"
            )
            named = "dispatch" in dict(gemm.keywords)
            edit = None if named else added_keyword(view.source, gemm.span, _TCGEN05)
            fix = Fix(f"Add `{_TCGEN05}`", Applicability.SAFE, (edit,)) if edit else None
            yield self.finding(Severity.INFORMATION, message, gemm.span, fix=fix)
