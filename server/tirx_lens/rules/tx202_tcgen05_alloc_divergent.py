"""TX202: part of a warp allocates or frees TMEM."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.kernel import Branch, Op, Operation
from tirx_lens.model.queries import statement_span
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import dedented, whole_lines
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.issuers import cuts_a_warp, issuers, whole_warps
from tirx_lens.threads.participants import everyone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import Reached, ReachMap

_WHOLE_WARP = frozenset({Op.TMEM_ALLOC, Op.TMEM_DEALLOC, Op.TMEM_RELINQUISH})


class Tcgen05AllocDivergent(Rule):
    """TMEM is allocated, freed or released by part of a warp.

    ## What it does
    Finds `tcgen05.alloc`, `tcgen05.dealloc` and `tcgen05.relinquish_alloc_permit` behind a guard
    that lets only some lanes of a warp through: a lane number, `elect_sync()`, a thread number.

    ## Why it is bad
    All three carry `.sync.aligned`: every lane of the warp has to execute the same one, and the
    hardware holds the lanes that do until the others have. Behind `if lane_id == 0:` there are 31
    lanes that never do. What happens then is undefined; in practice the warp hangs or the launch
    fails. TVM compiles it without a word.

    ## Example
    ```python
    if wg_id == 0:
        if warp_id == 0:
            if lane_id == 0:  # one lane of 32
                T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                    T.address_of(tmem_addr[0]), T.uint32(512)
                )
    ```

    ## Use instead
    ```python
    if wg_id == 0:
        if warp_id == 0:
            T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                T.address_of(tmem_addr[0]), T.uint32(512)
            )
    ```

    ## Fix
    Drops the innermost guard, where it holds nothing else and exactly one whole warp comes without
    it.

    ## When not to
    A guard that leaves whole warps is right (`tid < 32`, `warp_id == 3`). `T.TMEMPool` writes its
    own guard and is not looked at.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.alloc, tcgen05.dealloc,
      tcgen05.relinquish_alloc_permit*
    - TVM, `python/tvm/backend/cuda/lang/alloc_pool.py`, class `TMEMPool`
    """

    code: ClassVar[str] = "TX202"
    name: ClassVar[str] = "tcgen05-alloc-divergent"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.DEADLOCK)
    fix_title: ClassVar[str | None] = "Drop the lane guard"

    VALID = (
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0:
                if warp_id == 0:
                    T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                        T.address_of(addr[0]), T.uint32(512)
                    )
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
                T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](addr[0], T.uint32(512))
        """),
        # A whole warp by its thread numbers, and by a warp number shuffled from lane 0; 0.26.
        in_kernel("""
            tid = T.thread_id([256])
            warp: T.let = T.cuda.__shfl_sync(T.uint32(0xFFFFFFFF), tid // 32, 0, 32)
            addr = T.alloc_shared([1], "uint32")
            if tid < 32:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
            T.cuda.cta_sync()
            if warp == 0:
                T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)
        """),
        # The pool's own guard; a host constant; a flag that may mean any set of threads.
        in_kernel("""
            pool = T.SMEMPool()
            tmem = T.TMEMPool(pool, total_cols=512, alloc_warp=2)
            flag = T.alloc_local([1], "int32")
            COLS = 512
            pool.commit()
            if lane_id == 0:
                tmem.commit()
            if COLS == 512 and wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.relinquish_alloc_permit.cta_group__1.sync.aligned()
            if flag[0] == 1:
                T.ptx.tcgen05.relinquish_alloc_permit.cta_group__1.sync.aligned()
        """),
        # A region of the older scope blocks, and an `elect` that does not guard the allocation.
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            with T.warp()[0:1]:
                T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
            if wg_id == 1 and warp_id == 1:
                if T.ptx.elect_sync():
                    T.cuda.printf("one")
                T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        if lane_id == 0:
                            T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](  # <-
                                T.address_of(addr[0]), T.uint32(512)
                            )
                T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                            T.address_of(addr[0]), T.uint32(512)
                        )
                T.cuda.cta_sync()
            """),
        ),
        # The election, in 0.26; both instructions go with the one guard.
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.ptx.elect_sync():
                        T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)  # <-
                        # Free what was allocated.
                        T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)  # <-
            """),
            replacement=in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    # Free what was allocated.
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)
            """),
        ),
        # Thread 0, an f-string, an alias, `not`; without the guard all 8 warps would come.
        Invalid(
            in_kernel("""
                tid = T.thread_id([256])
                GROUP = 1
                addr = T.alloc_shared([1], "uint32")
                leader = T.meta_var(not (tid != 0))
                if leader:
                    T.ptx[f"tcgen05.alloc.cta_group::{GROUP}.sync.aligned.shared::cta.b32"](  # <-
                        T.address_of(addr[0]), T.uint32(512)
                    )
                T.cuda.cta_sync()
                if T.filter(lane_id, wg_id == 0 and warp_id == 0 and lane_id < 16):
                    T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(addr[0], 512)  # <-
            """)
        ),
        # Inside a T.inline function; the other side of an election.
        Invalid(
            in_kernel("""
                RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned"

                @T.inline
                def release():
                    T.ptx[RELINQUISH]()  # <-

                if warp_id == 0:
                    if T.cuda.elect_sync():
                        T.cuda.nano_sleep(10)
                    else:
                        release()
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for warps of which only a part comes."""
        if view.reach is None:
            return
        shape = view.reach.shape
        for reached in view.reach.of(*_WHOLE_WARP):
            who = issuers(reached, view.reach)
            if cuts_a_warp(who, shape):
                instruction = reached.operation.op.value
                message = (
                    f"`{instruction}` wants all 32 lanes of a warp together; "
                    f"{describe(who, shape)} can get here: the hardware waits for lanes that never "
                    "come, or the launch fails. Guard it by the warp alone"
                )
                yield self.finding(
                    Severity.ERROR,
                    message,
                    reached.operation.span,
                    fix=_without_guard(view, view.reach, reached),
                    related=guards_and_calls(reached),
                )


def _without_guard(view: KernelView, reach: ReachMap, reached: Reached) -> Fix | None:
    """Drop the innermost guard, if one whole warp of each CTA that comes is what it kept apart."""
    branch = reached.guards[-1].branch if reached.guards else None
    if not isinstance(branch, Branch) or branch.orelse.statements or reached.operation.stack:
        return None
    if not _holds_nothing_else(branch):
        return None
    who = everyone(reach.shape)
    for guard in reached.guards[:-1]:
        if not isinstance(guard.branch, Branch):
            return None
        condition = reach.condition(guard.branch.condition)
        who = who.narrowed(condition if guard.taken else condition.negated, reach.shape)
    counts = {whole_warps(who, reach.shape, cta) for cta in range(reach.shape.ctas)}
    if counts not in ({1}, {0, 1}):
        return None
    first = statement_span(branch.then.statements[0])
    lines = whole_lines(view.source, branch.span)
    if lines is None or first is None or not view.source.slice(branch.span).startswith("if"):
        return None
    header = Span(branch.span.start, first.start)
    if "#" in view.source.slice(header) or view.source.slice(header).count("\n") != 1:
        return None  # a comment that would be lost, or all on one line
    body = Span(view.source.line_starts[view.source.line_of(first.start)], lines.end)
    text = dedented(view.source, body, branch.span)
    return Fix("Drop the lane guard", Applicability.SAFE, (Edit(lines, text),))


def _holds_nothing_else(branch: Branch) -> bool:
    """Tell whether all that a guard holds are instructions for whole warps, and their operands."""
    kept = {
        statement.statement
        for statement in branch.then.statements
        if isinstance(statement, Operation) and statement.op in _WHOLE_WARP
    }
    return all(statement_span(statement) in kept for statement in branch.then.statements)
