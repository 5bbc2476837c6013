"""TX204: tensor memory that is allocated and not freed, or freed otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.warpgroup_guard import warpgroup_guard
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.naming import tmem_users
from tirx_lens.rules.facts.tmem import (
    LARGEST,
    Life,
    allocations,
    deallocations,
)
from tirx_lens.rules.facts.tmem_balance import cta_group, surplus
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.issuers import whole_warps
from tirx_lens.threads.spread import Spread, spread_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.rules.facts.tmem_balance import Surplus
    from tirx_lens.threads.reach import Reached, ReachMap


_FOR_A_GROUP = (Op.TMEM_ALLOC, Op.TMEM_DEALLOC, Op.TMEM_RELINQUISH)
_ALLOC = "T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=64, cta_group=1)"
_DEALLOC = "T.ptx.tcgen05.dealloc(addr[0], n_cols=64, cta_group=1)"


def _life(take: str, give: str) -> str:
    """Return an example in which warpgroup 0 takes and gives back, and warpgroup 1 multiplies."""
    lines = [
        'addr = T.alloc_shared([1], "uint32")',
        "if wg_id == 0:",
        *(f"    {line}" for line in take.split("|")),
        "T.cuda.cta_sync()",
        'acc = T.decl_buffer((128, 64), "float32", scope="tmem", allocated_addr=addr[0])',
        "if wg_id == 1 and warp_id == 0 and lane_id == 0:",
        '    Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05", cta_group=1)',
        "T.cuda.cta_sync()",
        "if wg_id == 0:",
        *(f"    {line}" for line in give.split("|")),
    ]
    return in_finished_kernel("\n".join(lines))


class TmemNotFreed(Rule):
    """Tensor memory is allocated and not freed, or not freed as it was allocated.

    ## What it does
    Finds, in kernels that use TMEM,

    - a `tcgen05.alloc` (or `TMEMPool.commit()`) in a kernel without any `dealloc`, and a `dealloc`
      in a kernel without any `alloc`; one that no thread can reach counts as none,
    - a `dealloc` of a number of columns that no `alloc` asked for,
    - columns of a CTA that do not add up: a second `alloc` that nothing frees, a second `dealloc`
      of what is free already,
    - an `alloc`, `dealloc` or `relinquish_alloc_permit` for another `cta_group` than the MMAs (the
      `alloc`, where no MMA names one),
    - an `alloc` that several warps of one CTA execute with one address word,
    - at level information, a `dealloc` that more warps execute than the `alloc`: the usual cause is
      `warp_id == 0`, which is one warp of *every* warpgroup.

    ## Why it is bad
    TMEM belongs to the SM, and it is not given back when a CTA ends: whatever is left allocated is
    missing for the next CTA on that SM, whose `alloc` then waits for columns that never come free.
    Small grids look right and larger ones hang. A `dealloc` has to name the columns its `alloc`
    got; what is freed twice may by then belong to another CTA. PTX asks all tcgen05 instructions of
    a kernel for one `cta_group`, and leaves undefined what happens otherwise. Where two warps
    allocate into one word, one of the addresses is overwritten and its columns cannot be freed.

    ## Example
    ```python
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(addr, T.uint32(512))
    ...
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(tmem_base, T.uint32(256))
    ```

    ## Use instead
    ```python
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(addr, T.uint32(512))
    ...
    T.cuda.cta_sync()
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.relinquish_alloc_permit.cta_group__1.sync.aligned()
        T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(tmem_base, T.uint32(512))
    ```

    ## Fix
    For a `dealloc` by too many warps: puts it behind the warpgroup guard of the `alloc`. To be read
    before it is applied.

    ## When not to
    A kernel that calls functions whose bodies are not in the file may free there: nothing is said.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.alloc, tcgen05.dealloc*
    - TVM, `python/tvm/backend/cuda/lang/alloc_pool.py`, class `TMEMPool`
    """

    code: ClassVar[str] = "TX204"
    name: ClassVar[str] = "tmem-not-freed"
    levels: ClassVar[str] = "error; information where more warps free than allocate"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.CRASH)
    fix_title: ClassVar[str | None] = "Add the missing warpgroup guard"

    VALID = (
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
            if wg_id == 1 and warp_id == 0:
                if T.ptx.elect_sync():
                    Tx.gemm_async(acc[:, 0:128], A, A, dispatch="tcgen05")
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)
        """),
        # The pool frees what it allocates, by another warp.
        in_kernel("""
            pool = T.SMEMPool()
            tmem = T.TMEMPool(pool, total_cols=256, alloc_warp=2, dealloc_warp=0)
            acc = tmem.alloc((128, 256), "float32")
            pool.commit()
            tmem.commit()
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
            T.cuda.cta_sync()
            tmem.dealloc()
        """),
        # Still being written; not used yet; freed by a function that is elsewhere.
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
        """),
        in_finished_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
            T.cuda.cta_sync()
        """),
        "from kernels import free\n\n\n"
        + in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
            if wg_id == 0 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
            T.cuda.cta_sync()
            free(addr)
        """),
        # Two allocations, each freed; taken by two warps and freed by one; branches by CTA.
        in_kernel("""
            addr = T.alloc_shared([2], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=128, cta_group=1)
            if wg_id == 0 and warp_id == 1:
                T.ptx.tcgen05.alloc(T.address_of(addr[1]), n_cols=256, cta_group=1)
            T.cuda.cta_sync()
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=addr[0])
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05", cta_group=1)
            T.cuda.cta_sync()
            if bx == 0:
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=128, cta_group=1)
                    T.ptx.tcgen05.dealloc(addr[1], n_cols=256, cta_group=1)
            elif wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.dealloc(addr[1], n_cols=256, cta_group=1)
                T.ptx.tcgen05.dealloc(addr[0], n_cols=128, cta_group=1)
        """),
        # Taken and given back in turns, and by an instruction whose name is elsewhere.
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            registers = T.wg_reg_tile(64)
            acc = T.decl_buffer((128, 64), "float32", scope="tmem", allocated_addr=addr[0])
            for i in range(2):
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=64, cta_group=1)
                T.cuda.cta_sync()
                if wg_id == 0:
                    Tx.wg.copy_async(acc[:, :], registers[:, :], dispatch="tmem<->local")
                    T.ptx.tcgen05.wait.st()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=64, cta_group=1)
        """),
        "from kernels import ALLOC\n\n\n"
        + _life(
            take="if warp_id == 0:|    T.ptx[ALLOC](T.address_of(addr[0]), T.uint32(64))",
            give=f"if warp_id == 0:|    {_DEALLOC}",
        ),
        # As many columns as a parameter of the builder says.
        """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx


def build(COLS):
    @T.prim_func
    def kernel(A: T.Buffer((4096,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        addr = T.alloc_shared([1], "uint32")
        if tid < 32:
            T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=COLS, cta_group=1)
        T.cuda.cta_sync()
        acc = T.decl_buffer((128, COLS), "float32", scope="tmem", allocated_addr=addr[0])
        T.cuda.cta_sync()
        if tid < 32:
            T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)

    return kernel
""",
    )

    INVALID = (
        # Never freed.
        Invalid(
            in_finished_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](  # <-
                            T.address_of(addr[0]), T.uint32(512)
                        )
                T.cuda.cta_sync()
                base: T.let[T.uint32] = addr[0]
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
            """)
        ),
        # Freed by nobody; allocated by nobody.
        Invalid(
            _life(
                take=f"if warp_id == 0:|    {_ALLOC}  # <-",
                give=f"if warp_id == 0 and wg_id == 1:|    {_DEALLOC}",
            )
        ),
        Invalid(
            _life(
                take=f"if warp_id == 4:|    {_ALLOC}",
                give=f"if warp_id == 0:|    {_DEALLOC}  # <-",
            )
        ),
        # Allocated twice; freed twice, and for two CTAs.
        Invalid(
            _life(
                take=f"if warp_id == 0:|    {_ALLOC}|    {_ALLOC}  # <-",
                give=f"if warp_id == 0:|    {_DEALLOC}",
            )
        ),
        Invalid(
            _life(
                take=f"if warp_id == 0:|    {_ALLOC}",
                give=f"if warp_id == 0:|    {_DEALLOC}|if warp_id == 0:|"
                "    T.ptx.tcgen05.relinquish_alloc_permit(cta_group=2)  # <-|"
                f"    {_DEALLOC}  # <-",
            )
        ),
        # A pool that is never told to free; a read is a use as well.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                tmem = T.TMEMPool(pool)
                acc = tmem.alloc((128, 256), "float32")
                pool.commit()
                tmem.commit()  # <-
                T.cuda.cta_sync()
                registers = T.wg_reg_tile(256)
                if wg_id == 0:
                    Tx.wg.copy_async(registers[:, :], acc[:, :], dispatch="tmem<->local")
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                T.cuda.cta_sync()
            """)
        ),
        # Other columns, by constants and in 0.26.
        Invalid(
            in_kernel("""
                COLS, HALF = 512, 256
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=COLS, cta_group=1)
                T.cuda.cta_sync()
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0) and warp_id == 0:
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=HALF, cta_group=1)  # <-
            """)
        ),
        # One warp of each warpgroup, inside a T.inline function.
        Invalid(
            in_kernel("""
                @T.inline
                def allocate(columns):
                    T.ptx[f"tcgen05.alloc.cta_group::{1}.sync.aligned.shared::cta.b32"](  # <-
                        T.address_of(addr[0]), T.uint32(columns)
                    )

                addr = T.alloc_shared([1], "uint32")
                if warp_id == 0:
                    allocate(512)
                T.cuda.cta_sync()
                base: T.let[T.uint32] = addr[0]
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                T.cuda.cta_sync()
                if warp_id == 0:
                    T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(base, T.uint32(512))
            """)
        ),
        # The book's way to free: one warp of each warpgroup.
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                T.cuda.cta_sync()
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                T.cuda.cta_sync()
                if warp_id == 0:
                    T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)  # <-
            """),
            severity=Severity.INFORMATION,
            replacement=in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                T.cuda.cta_sync()
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                T.cuda.cta_sync()
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx.tcgen05.relinquish_alloc_permit(cta_group=1)
                        T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Set the allocations of a kernel against its deallocations."""
        reach = view.reach
        if reach is None or reach.is_opaque:
            return
        if not view.once(tmem_users):
            return
        taken, freed = allocations(reach), deallocations(reach)
        yield from self._other_group(reach)
        if freed and not taken and is_finished(view):
            yield self._never_allocated(view, reach, freed[0])
        for allocation in taken:
            if not freed and is_finished(view):
                yield self._never_freed(reach, allocation)
            if allocation.pool is None:
                yield from self._by_several(reach, allocation)
        if all(life.known_columns is not None for life in taken):
            others = list(self._other_columns(view, taken, freed))
            found = surplus(reach, taken, freed) if not others else None
            yield from others
            if found is not None and (found.freed > found.taken or is_finished(view)):
                yield self._surplus(view, found, taken if found.at in freed else freed)
        if len(taken) == len(freed) == 1 and taken[0].pool is freed[0].pool is None:
            yield from self._by_more(view, reach, taken[0], freed[0])

    def _never_allocated(self, view: KernelView, reach: ReachMap, freed: Life) -> Finding:
        number = freed.known_columns
        columns = "these columns" if number is None else f"{number} columns"
        unreached = _unreached(reach, Op.TMEM_ALLOC)
        why = (
            f"no thread reaches the `tcgen05.alloc` on line {view.line(unreached.operation.span)}"
            if unreached is not None
            else "the kernel has no `tcgen05.alloc`"
        )
        message = (
            f"{columns} of TMEM are freed here that nothing allocates: {why}. The address is "
            "whatever shared memory held, and the columns may be another CTA's. Let one whole warp "
            "allocate them, before the CTA-wide barrier that publishes the address"
        )
        related = guards_and_calls(unreached) if unreached is not None else []
        return self.finding(Severity.ERROR, message, freed.reached.operation.span, related=related)

    def _surplus(self, view: KernelView, found: Surplus, against: list[Life]) -> Finding:
        other = view.line(against[-1].reached.operation.span)
        if found.freed < found.taken:
            message = (
                f"with this `tcgen05.alloc` a CTA takes {found.taken} columns, and frees "
                f"{found.freed} (line {other}): the SM keeps the others when the CTA ends, and a "
                "later CTA's allocation there waits for ever. Allocate once, or free as often"
            )
        else:
            message = (
                f"with this `tcgen05.dealloc` a warp frees {found.freed} columns, and its CTA has "
                f"allocated {found.taken} (line {other}): some are freed that are free already, or "
                "another CTA's by now. Free once what was allocated once"
            )
        related = [Related(life.reached.operation.span, "counted against it") for life in against]
        return self.finding(
            Severity.ERROR, message, found.at.reached.operation.span, related=related
        )

    def _other_group(self, reach: ReachMap) -> Iterator[Finding]:
        """Find what takes or gives TMEM for another number of CTAs than the rest."""
        multiplied = [r for r in reach.of(Op.GEMM_ASYNC) if cta_group(r.operation)]
        models = [r for r in multiplied if r.participants.possible]
        models = models or [r for r in reach.of(Op.TMEM_ALLOC) if r.participants.possible]
        groups = {cta_group(reached.operation) for reached in models}
        group = groups.pop() if len(groups) == 1 else None
        if group is None:
            return
        for reached in reach.of(*_FOR_A_GROUP):
            own = cta_group(reached.operation) if reached.participants.possible else None
            if own not in (group, None):
                what = "the MMA" if models[0].operation.op is Op.GEMM_ASYNC else "the `alloc`"
                message = (
                    f"this is for a `cta_group` of {own}, and {what} for one of {group}: all "
                    "tcgen05 instructions of a kernel must name the same, or what they do is "
                    f"undefined. Write {group} here too"
                )
                related = [Related(models[0].operation.span, f"for a `cta_group` of {group}")]
                yield self.finding(Severity.ERROR, message, reached.operation.span, related=related)

    def _never_freed(self, reach: ReachMap, allocation: Life) -> Finding:
        number = allocation.known_columns
        columns = "these columns" if number is None else f"{number} of the SM's {LARGEST} columns"
        call = "`dealloc()`" if allocation.pool is not None else "`tcgen05.dealloc`"
        message = (
            f"{columns} of TMEM are allocated here and no thread of the kernel frees them: the SM "
            "keeps them when the CTA ends, and a later CTA's allocation there waits for ever. "
            f"Add {call} by one whole warp, after the last use and a CTA-wide barrier"
        )
        return self.finding(
            Severity.ERROR,
            message,
            allocation.reached.operation.span,
            related=[
                *guards_and_calls(allocation.reached),
                *(
                    [Related(unreached.operation.span, "no thread reaches this")]
                    if (unreached := _unreached(reach, Op.TMEM_DEALLOC)) is not None
                    else []
                ),
            ],
        )

    def _by_several(self, reach: ReachMap, allocation: Life) -> Iterator[Finding]:
        operation = allocation.reached.operation
        warps = _most_warps(reach, allocation.reached)
        if warps is None or warps < 2 or spread_of(operation.arguments) is not Spread.CTA:
            return
        number = allocation.known_columns
        beyond = (
            f", and {warps} x {number} columns are more than the {LARGEST} there are"
            if number is not None and number * warps > LARGEST
            else ""
        )
        message = (
            f"{describe(allocation.reached.participants, reach.shape)} get here: {warps} warps of "
            "a CTA allocate, and the last to store its address hides the others, which can never "
            f"be freed{beyond}. Let one warp of the CTA allocate"
        )
        related = guards_and_calls(allocation.reached)
        yield self.finding(Severity.ERROR, message, operation.span, related=related)

    def _other_columns(
        self, view: KernelView, taken: list[Life], freed: list[Life]
    ) -> Iterator[Finding]:
        asked = {life.known_columns for life in taken}
        for life in freed:
            columns = life.known_columns
            if taken and columns is not None and columns not in asked:
                first = taken[0].reached.operation.span
                message = (
                    f"{columns} columns are freed, but line {view.line(first)} allocates "
                    f"{taken[0].known_columns}: `tcgen05.dealloc` has to name what was allocated, "
                    "or the rest stays taken when the CTA ends"
                )
                related = [Related(first, f"{taken[0].known_columns} columns are allocated here")]
                yield self.finding(
                    Severity.ERROR, message, life.reached.operation.span, related=related
                )

    def _by_more(
        self, view: KernelView, reach: ReachMap, taken: Life, freed: Life
    ) -> Iterator[Finding]:
        before, after = _most_warps(reach, taken.reached), _most_warps(reach, freed.reached)
        if before != 1 or after is None or after <= before:
            return
        message = (
            f"{describe(freed.reached.participants, reach.shape)} free what one warp allocated on "
            f"line {view.line(taken.reached.operation.span)}: the columns are freed {after} times. "
            "It works where nothing else has allocated them by then. A guard on the warp in its "
            "warpgroup leaves one warp of every warpgroup"
        )
        related = [Related(taken.reached.operation.span, "one warp allocates here")]
        yield self.finding(
            Severity.INFORMATION,
            message,
            freed.reached.operation.span,
            fix=warpgroup_guard(view, taken.reached, freed.reached),
            related=[*related, *guards_and_calls(freed.reached)],
        )


def _unreached(reach: ReachMap, op: Op) -> Reached | None:
    """Return an operation of a kind that no thread gets to, if there is one."""
    return next((r for r in reach.of(op) if not r.participants.possible), None)


def _most_warps(reach: ReachMap, reached: Reached) -> int | None:
    """Return how many whole warps of one CTA come, of the CTA with most; None if not known."""
    counts = [whole_warps(reached.participants, reach.shape, r) for r in range(reach.shape.ctas)]
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) else None
