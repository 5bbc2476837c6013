"""TX307: an accumulator that no MMA starts afresh."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import Memory, buffers_in, memory_of, region_of
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.first_round import first_value, start_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.reach import Reached, ReachMap

_RAW = ("T.ptx.tcgen05.mma", "T.ptx.tcgen05.st", "T.ptx.tcgen05.cp")
_ACCUM = 7  # gemm_async(C, A, B, SFA, SFB, transA, transB, accum)


class AccumulatorNotCleared(Rule):
    """The first MMA of a tile adds to whatever tensor memory held before.

    ## What it does
    Finds kernels in which every `gemm_async` accumulates the first time it is executed: `accum` is
    true there, with each loop in its first round.

    ## Why it is bad
    TMEM is not cleared when it is allocated. An MMA with `accum=False` overwrites the accumulator,
    one with `accum=True` adds to it; if the first MMA of a tile adds, the tile holds the numbers of
    the tile, the kernel or the user before. Results are finite and wrong, or NaN, and right now and
    then on a fresh GPU.

    ## Example
    ```python
    for k in range(K_TILES):
        Tx.gemm_async(acc[:, :], As[k, :, :], Bs[k, :, :], accum=True, dispatch="tcgen05")
    ```

    ## Use instead
    ```python
    for k in range(K_TILES):
        Tx.gemm_async(acc[:, :], As[k, :, :], Bs[k, :, :], accum=(k != 0), dispatch="tcgen05")
    ```

    ## Fix
    `accum=True` becomes `accum=(k != 0)` where one `for` loop from 0 stands around it.

    ## When not to
    A kernel that writes TMEM in another way (a copy into it, a `tcgen05.st`, an MMA instruction)
    may clear it there, and an `accum` that depends on a flag is not known: both are left alone.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.mma*, operand `enable-input-d`
    - TVM, `python/tvm/tirx/script/builder/tirx.py`, `gemm_async`
    """

    code: ClassVar[str] = "TX307"
    name: ClassVar[str] = "accumulator-not-cleared"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.NAN, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Clear in the first round"

    VALID = (
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                for k in range(8):
                    Tx.gemm_async(acc[:, :], A, A, accum=(k != 0), dispatch="tcgen05")
                for k in T.serial(1, 8):
                    Tx.gemm_async(acc[:, :], A, A, accum=k > 1, dispatch="tcgen05")
        """),
        # A peeled first round; one that never accumulates.
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                for k in range(1, 8):
                    Tx.gemm_async(acc[:, :], A, A, accum=True, dispatch="tcgen05")
        """),
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                for k in range(8):
                    if k != 0:
                        Tx.gemm_async(acc[:, :], A, A, accum=True, dispatch="tcgen05")
                    else:
                        Tx.gemm_async(acc[:, :], A, A, accum=False, dispatch="tcgen05")
        """),
        # A flag; a zero written by threads; a function that may clear.
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            started: T.int32 = 0
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                for k in range(8):
                    Tx.gemm_async(acc[:, :], A, A, accum=started, dispatch="tcgen05")
                    started = 1
        """),
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            zeros = T.wg_reg_tile(128)
            if wg_id == 0:
                Tx.wg.fill(zeros[:, :], 0)
                Tx.wg.copy_async(acc[:, :], zeros[:, :], dispatch="tmem<->local")
                T.ptx.tcgen05.wait__st.sync.aligned()
            T.cuda.cta_sync()
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, accum=True, dispatch="tcgen05")
        """),
        "from kernels import clear\n\n\n"
        + in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            clear(acc)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, accum=True, dispatch="tcgen05")
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    for k in range(8):
                        Tx.gemm_async(acc[:, :], A, A, accum=True, dispatch="tcgen05")  # <-
            """),
            replacement=in_kernel("""
                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    for k in range(8):
                        Tx.gemm_async(acc[:, :], A, A, accum=(k != 0), dispatch="tcgen05")
            """),
        ),
        # A loop that does not begin at 0; the condition the wrong way round; `or`.
        Invalid(
            in_kernel("""
                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    for k in T.serial(1, 8):
                        Tx.gemm_async(acc[:, :], A, A, accum=(k != 0), dispatch="tcgen05")  # <-
                    for k in T.unroll(8):
                        Tx.gemm_async(acc[:, :], A, A, accum=not k, dispatch="tcgen05")  # <-
                    for k in range(8):
                        Tx.gemm_async(  # <-
                            acc[:, :], A, A, accum=(k == 0 or k > 4), dispatch="tcgen05"
                        )
            """)
        ),
        # A constant, inside a T.inline function; columns that the loop picks.
        Invalid(
            in_kernel("""
                ADD = 2 > 1

                @T.inline
                def multiply(n):
                    Tx.gemm_async(  # <-
                        acc[:, n * 64 : n * 64 + 64], A, A, accum=ADD, dispatch="tcgen05"
                    )

                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                if wg_id == 1:
                    if warp_id == 0:
                        if T.ptx.elect_sync():
                            for n in range(2):
                                multiply(n)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Ask of every MMA whether it accumulates the first time."""
        reach = view.reach
        if reach is None or reach.is_opaque:
            return
        multiplied = reach.of(Op.GEMM_ASYNC)
        if not multiplied or not all(_accumulates(reached, reach) for reached in multiplied):
            return
        if any(_may_clear(reached.operation) for reached in reach.reached):
            return
        for reached in multiplied:
            message = (
                "this MMA adds to the accumulator the first time it is executed, and nothing in "
                "the kernel overwrites it before: TMEM holds what the tile or the kernel before "
                "left there. The first MMA of each tile needs `accum` false"
            )
            yield self.finding(
                Severity.ERROR,
                message,
                reached.operation.span,
                fix=_clear_first(view, reached),
                related=guards_and_calls(reached),
            )


def _may_clear(operation: Operation) -> bool:
    """Tell whether an operation that is no `gemm_async` may write TMEM."""
    if operation.op is Op.GEMM_ASYNC:
        return False
    if operation.name.startswith(_RAW):
        return True
    to = operation.argument(0, "dst")
    if to is None or operation.op not in (Op.COPY, Op.COPY_ASYNC, Op.TILE_OP):
        return False
    memories = {memory_of(buffer) for buffer in buffers_in(to)}
    return not memories or bool(memories & {Memory.TENSOR, None})


def _accumulates(reached: Reached, reach: ReachMap) -> bool:
    """Tell whether an MMA into TMEM surely accumulates when it is first executed."""
    operation = reached.operation
    accum = operation.argument(_ACCUM, "accum")
    to = region_of(operation.argument(0, "C"))
    if accum is None or to is None or memory_of(to.buffer) is not Memory.TENSOR:
        return False
    return bool(first_value(accum, reached, reach))


def _clear_first(view: KernelView, reached: Reached) -> Fix | None:
    """Let the first round of the one loop around an MMA overwrite."""
    operation = reached.operation
    accum = operation.argument(_ACCUM, "accum")
    loops = [loop for loop in reached.loops if loop.kind is LoopKind.FOR]
    written = re.match(r"for\s+(\w+)\s+in\b", view.source.slice(loops[0].span)) if loops else None
    if accum is None or written is None or len(loops) != 1 or operation.stack:
        return None
    variable = written.group(1)
    to = view.source.slice(operation.span).partition("accum")[0].partition("]")[0]
    in_place = operation.span.contains(accum.span) and view.source.slice(accum.span) == "True"
    if start_of(loops[0]) != 0 or not in_place or re.search(rf"\b{variable}\b", to):
        return None
    edit = Edit(accum.span, f"({variable} != 0)")
    return Fix("Clear in the first round", Applicability.SAFE, (edit,))
