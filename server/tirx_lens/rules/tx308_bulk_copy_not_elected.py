"""TX308: the same TMA copy issued by several threads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.elect import elected
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.barriers import arrivals_of
from tirx_lens.rules.facts.bulk import BulkCopy, Direction
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.issuers import issuers, most_in_a_warp
from tirx_lens.threads.participants import Participants, Pick
from tirx_lens.threads.spread import Spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.reach import Reached, ReachMap
    from tirx_lens.threads.shape import Shape

_STORE = 'Tx.copy_async(A[bx * 1024 : bx * 1024 + 1024], Ds[:], dispatch="tma_auto")'
_LOAD = (
    "Tx.copy_async(As[:], A[bx * 1024 : bx * 1024 + 1024], "
    'dispatch="tma_auto", mbar=full.ptr_to([0]))'
)


# Before 0.25 a block named the scope of the operations in it, and TVM elected for wider ones.
_SCOPE_BLOCK = re.compile(r"with \w+\.(?:cta|warpgroup|warp)\(")


class BulkCopyNotElected(Rule):
    """The same TMA copy is issued by more than one thread.

    ## What it does
    Finds TMA copies (`Tx.copy_async` with `dispatch="tma_auto"` or `"tma_explicit"`, and
    `cp.async.bulk.tensor` instructions) that two or more threads issue with the same operands.

    ## Why it is bad
    One thread starts a TMA copy and the engine moves the whole box. If 32 lanes start it, it is
    moved 32 times. A load then delivers 32 times the bytes to its barrier, which expects them once:
    the phase ends early or never. That is an error. A store writes the same values 32 times: right,
    but 31 parts of the memory traffic are waste. That is a warning.

    `Tx.copy_async` is an operation of one thread: TVM puts no election around it. (`Tx.warp`,
    `Tx.wg` and `Tx.cta` forms are no way out: TVM has no TMA copy for them and refuses.)

    ## Example
    ```python
    if warp_id == 0:
        full.arrive(0, BYTES)
        Tx.copy_async(As[:, :], A[m : m + 128, k : k + 64], dispatch="tma_auto",
                      mbar=full.ptr_to([0]))
    ```

    ## Use instead
    ```python
    if warp_id == 0:
        if T.cuda.elect_sync():
            full.arrive(0, BYTES)
            Tx.copy_async(As[:, :], A[m : m + 128, k : k + 64], dispatch="tma_auto",
                          mbar=full.ptr_to([0]))
    ```

    ## Fix
    Wraps the copy in an election where one whole warp comes. Where the barrier counts as many
    arrivals as threads come, the author decides.

    ## When not to
    Lanes that copy boxes of their own (a coordinate or address with a lane or thread number) are
    not reported.

    ## References
    - PTX ISA, *Data Movement and Conversion Instructions: cp.async.bulk.tensor*
    - TVM, `python/tvm/backend/cuda/tile_primitive/copy_async/tma.py`, predicate `single_thread`
    """

    code: ClassVar[str] = "TX308"
    name: ClassVar[str] = "bulk-copy-not-elected"
    levels: ClassVar[str] = "error for a load; warning for a store"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.SLOW, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Elect one thread"

    VALID = (
        in_kernel(f"""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            As = pool.alloc((1024,), "float16")
            pool.commit()
            if wg_id == 1:
                if warp_id == 3:
                    if T.cuda.elect_sync():
                        {_LOAD}
            if wg_id == 1 and lane_id == 0 and warp_id == 2:
                {_LOAD}
        """),
        # Each warp its own part, one elected lane each; each lane its own row.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 8)
            As = pool.alloc((8, 32, 64), "float16")
            pool.commit()
            if wg_id == 0:
                if T.cuda.elect_sync():
                    Tx.copy_async(As[warp_id, 0, :], A[warp_id * 64 : warp_id * 64 + 64],
                                  dispatch="tma_auto", mbar=full.ptr_to([warp_id]))
                Tx.copy_async(As[warp_id, lane_id, :], A[lane_id * 64 : lane_id * 64 + 64],
                              dispatch="tma_explicit", mbar=full.ptr_to([warp_id]))
        """),
        # Not by TMA, or not known to be: copies of a thread's own, a dispatch that a caller picks.
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((8, 64), "float16")
            pool.commit()
            Tx.copy_async(As[0, :], A[0:64], dispatch="ldgsts")
            Tx.cta.copy(As[1, :], A[0:64])
            Tx.copy_async(As[0, :], A[0:64], **options_of(A))
        """),
        # The blocks of TVM before 0.25: a copy in a wider scope, for which TVM elects.
        in_kernel(f"""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            As = pool.alloc((1024,), "float16")
            pool.commit()
            with T.warp():
                {_LOAD}
        """),
        # A leader that the text does not tell; a loop in which warps take turns.
        in_kernel(f"""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            As = pool.alloc((1024,), "float16")
            leader = T.alloc_local([1], "int32")
            pool.commit()
            if leader[0] == 1:
                {_LOAD}
            for k in T.serial(warp_id, 8):
                if T.cuda.elect_sync():
                    {_LOAD}
            with T.thread()[T.cuda.elect_sync()]:
                if warp_id == 0 and wg_id == 0:
                    {_LOAD}
        """),
    )

    INVALID = (
        Invalid(
            in_kernel(f"""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((1024,), "float16")
                full.init(1)
                if wg_id == 1:
                    if warp_id == 3:
                        {_LOAD}  # <-
            """),
            replacement=in_kernel(f"""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((1024,), "float16")
                full.init(1)
                if wg_id == 1:
                    if warp_id == 3:
                        if T.cuda.elect_sync():
                            {_LOAD}
            """),
        ),
        # One elected lane of each of eight warps; inside a T.inline function.
        Invalid(
            in_kernel(f"""
                @T.inline
                def load(k):
                    {_LOAD}  # <-

                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="mbar")
                full = pipe.full
                As = pool.alloc((1024,), "float16")
                if T.cuda.elect_sync():
                    load(0)
            """)
        ),
        # The instruction itself, as a string.
        Invalid(
            in_kernel("""
                KIND = "shared::cluster.global.mbarrier::complete_tx::bytes"
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((1024,), "float16")
                table = T.tvm_stack_alloca("tensormap", 1)
                if T.filter(wg_id, wg_id == 1) and not warp_id != 3:
                    T.ptx[f"cp.async.bulk.tensor.1d.{KIND}"](  # <-
                        As.ptr_to([0]), T.address_of(full), 0, full.ptr_to([0])
                    )
            """),
            replacement=in_kernel("""
                KIND = "shared::cluster.global.mbarrier::complete_tx::bytes"
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((1024,), "float16")
                table = T.tvm_stack_alloca("tensormap", 1)
                if T.filter(wg_id, wg_id == 1) and not warp_id != 3:
                    if T.cuda.elect_sync():
                        T.ptx[f"cp.async.bulk.tensor.1d.{KIND}"](
                            As.ptr_to([0]), T.address_of(full), 0, full.ptr_to([0])
                        )
            """),
        ),
        # A store by a whole warp, in 0.26.
        Invalid(
            in_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                if wg_id == 0 and warp_id == 0:
                    {_STORE}  # <-
                    T.ptx.cp_async.bulk.commit_group()
                    T.ptx.cp_async.bulk.wait_group(0)
            """),
            severity=Severity.WARNING,
            replacement=in_kernel(f"""
                pool = T.SMEMPool()
                Ds = pool.alloc((1024,), "float16")
                if wg_id == 0 and warp_id == 0:
                    if T.ptx.elect_sync():
                        {_STORE}
                    T.ptx.cp_async.bulk.commit_group()
                    T.ptx.cp_async.bulk.wait_group(0)
            """),
        ),
        # As many arrivals as loads: the bytes may be meant.
        Invalid(
            in_kernel(f"""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc((1024,), "float16")
                full.init(32)
                if wg_id == 1 and warp_id == 3:
                    full.arrive(0, 2048)
                    {_LOAD}  # <-
            """),
            severity=Severity.WARNING,
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Count, for each TMA copy, the threads that issue it with the same operands."""
        reach = view.reach
        if reach is None or any(map(_has_scope_block, view.texts)):
            return
        for operation, copy in engine_copies(reach).items():
            reached = reach.by_operation[operation]
            who = issuers(reached, reach)
            times = _times(reached.operation, who, reach.shape)
            if times > 1:
                yield self._finding(view, reach, reached, copy, who, times)

    def _finding(
        self,
        view: KernelView,
        reach: ReachMap,
        reached: Reached,
        copy: BulkCopy,
        who: Participants,
        times: int,
    ) -> Finding:
        barrier = copy.barrier
        expected = arrivals_of(reach, barrier) if barrier is not None else None
        counted = expected is not None and expected >= times
        load = copy.direction is Direction.LOAD
        effect = (
            "its bytes arrive as often, and the barrier expects them once"
            if load and not counted
            else "the same bytes are moved as often"
        )
        message = (
            f"this {copy.direction.value} is issued {times} times, by "
            f"{describe(who, reach.shape)}, with the same operands: {effect}. "
            "Let one elected thread issue it"
        )
        fixable = who.pick is Pick.ALL and not counted
        return self.finding(
            Severity.ERROR if load and not counted else Severity.WARNING,
            message,
            reached.operation.span,
            fix=elected(view, reached) if fixable else None,
            related=guards_and_calls(reached),
        )


def _has_scope_block(text: str) -> bool:
    """Tell whether a line begins with the `with` of a scope."""
    found = _SCOPE_BLOCK.finditer(text)
    lines = (text[text.rfind("\n", 0, block.start()) + 1 : block.start()] for block in found)
    return any(not line.strip() for line in lines)


def _times(operation: Operation, who: Participants, shape: Shape) -> int:
    """Return how many threads issue a copy with operands that are surely the same; 1 if unsure."""
    most = max(_in_cta(who, shape, rank) or 1 for rank in range(shape.ctas))
    if most == 1:
        return 1
    given = (*operation.arguments, *(value for _, value in operation.keywords))
    match spread_of(given):
        case Spread.THREAD:
            return 1
        case Spread.WARP:
            return most_in_a_warp(who, shape) or 1
        case Spread.CTA:
            return most


def _in_cta(who: Participants, shape: Shape, rank: int) -> int | None:
    inside = shape.cta(rank)
    part = Participants(who.possible & inside, who.typical & inside, who.pick, who.conditional)
    return part.count(shape)
