"""TX305: the result of a TMEM load used, or its source given up, before the load has ended."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import region_of
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.history import Hazard
from tirx_lens.protocol.program import Place
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import is_older, tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.course import (
    apart,
    following,
    meets,
    surely_overlap,
)
from tirx_lens.rules.facts.tmem import TmemLoad, issuers_of, tmem_load, tmem_loads
from tirx_lens.rules.histories import races_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.threads.reach import Reached, ReachMap

_READERS = ("Tx.", "T.ptx.", "T.cuda.")
_SETTING = """
    acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
    pool = T.SMEMPool()
    acc_full = TCGen05Bar(pool, 1)
    acc_empty = MBarrier(pool, 1)
    acc_full.init(1)
    acc_empty.init(128)
    T.cuda.cta_sync()
    f32 = T.wg_reg_tile(64)
    f16 = T.wg_reg_tile(64, dtype="float16")
    if wg_id == 1 and warp_id == 0 and lane_id == 0:
        acc_empty.wait(0, 1)
        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
        acc_full.arrive(0)
    elif wg_id == 0:
        acc_full.wait(0, 0)
        T.ptx.tcgen05.fence__after_thread_sync()
"""
_LOAD = 'Tx.wg.copy_async(f32[:, :], acc[:, 0:64], dispatch="tmem<->local")'
_WAIT = "T.ptx.tcgen05.wait__ld.sync.aligned()"


def _epilogue(*lines: str) -> str:
    return in_kernel(_SETTING + "".join(f"        {line}\n" for line in lines))


class TmemLoadNotWaited(Rule):
    """The registers of a TMEM load are used, or its TMEM given up, before the load has ended.

    ## What it does
    Finds a copy from TMEM to registers (`Tx.wg.copy_async`, `tcgen05.ld`) after which, with no
    `tcgen05.wait::ld` in between,

    - the registers are used,
    - the threads arrive on the barrier by which they give the accumulator back to the MMA issuer,
    - the TMEM is freed.

    A wait counts for the threads that execute it, and no others.

    ## Why it is bad
    A TMEM load is asynchronous: the registers hold what they held before until `tcgen05.wait::ld`
    has returned. Used earlier, they give stale values, in an order that differs from run to run.
    Given up earlier, the accumulator is overwritten by the next tile's MMA while it is read. TVM
    neither inserts the wait nor misses it.

    ## Example
    ```python
    Tx.wg.copy_async(acc_f32[:, :], acc[:, 0:64], dispatch="tmem<->local")
    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
    ```

    ## Use instead
    ```python
    Tx.wg.copy_async(acc_f32[:, :], acc[:, 0:64], dispatch="tmem<->local")
    T.ptx.tcgen05.wait__ld.sync.aligned()
    Tx.wg.cast(d_f16[:, :], acc_f32[:, :])
    ```

    ## Fix
    Inserts the wait after the last load before the use.

    ## When not to
    Several loads may share one wait, and other work may stand between. Of the barriers on which the
    loading threads arrive, only one that nothing else could be giving back is judged: the sole one
    that the MMA issuer of this accumulator waits for, and at one slot. Where a loop around the load
    begins with a wait, the load may end in the next turn: only what follows it in the same place is
    judged.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.ld, tcgen05.wait*
    - TVM, `python/tvm/backend/cuda/tile_primitive/copy_async/tcgen05_ldst.py`
    """

    code: ClassVar[str] = "TX305"
    name: ClassVar[str] = "tmem-load-not-waited"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.NAN)
    fix_title: ClassVar[str | None] = "Insert the wait"

    VALID = (
        _epilogue(_LOAD, _WAIT, "acc_empty.arrive(0)", "Tx.wg.cast(f16[:, :], f32[:, :])"),
        # One wait for two loads; other work in between.
        _epilogue(
            "g32 = T.wg_reg_tile(64)",
            _LOAD,
            'Tx.wg.copy_async(g32[:, :], acc[:, 64:128], dispatch="tmem<->local")',
            "Tx.wg.fill(f16[:, :], 0)",
            'T.ptx["tcgen05.wait::ld.sync.aligned"]()',
            "Tx.wg.cast(f16[:, :], f32[:, :])",
            "Tx.wg.cast(f16[:, :], g32[:, :])",
        ),
        # An arrival that is about something else: there are two that the MMA issuer waits for.
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            pool = T.SMEMPool()
            p_ready = MBarrier(pool, 1)
            acc_empty = MBarrier(pool, 1)
            p_ready.init(128)
            acc_empty.init(128)
            T.cuda.cta_sync()
            f32 = T.wg_reg_tile(64)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                acc_empty.wait(0, 1)
                p_ready.wait(0, 0)
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
            elif wg_id == 0:
                Tx.wg.copy_async(f32[:, :], acc[:, 0:64], dispatch="tmem<->local")
                p_ready.arrive(0)
                T.ptx.tcgen05.wait__ld.sync.aligned()
                acc_empty.arrive(0)
        """),
        # Each half of the warps waits for itself; lanes that all wait, in two branches.
        _epilogue(
            _LOAD,
            "if warp_id < 2:",
            f"    {_WAIT}",
            "else:",
            f"    {_WAIT}",
            "Tx.wg.cast(f16[:, :], f32[:, :])",
        ),
        # The next columns are loaded while the last ones are used.
        _epilogue(
            "two = T.alloc_local((2, 64), 'float32')",
            'Tx.wg.copy_async(two[0, :], acc[:, 0:64], dispatch="tmem<->local")',
            "T.ptx.tcgen05.wait__ld.sync.aligned()",
            "for i in T.unroll(2):",
            '    Tx.wg.copy_async(two[(i + 1) % 2, :], acc[:, 0:64], dispatch="tmem<->local")',
            "    Tx.wg.cast(f16[:, :], two[i % 2, :])",
            "    T.ptx.tcgen05.wait__ld.sync.aligned()",
        ),
        # A copy into TMEM has a wait of its own; a function may wait.
        "from kernels import finish\n\n\n"
        + _epilogue(
            'Tx.wg.copy_async(acc[:, 0:64], f32[:, :], dispatch="tmem<->local")',
            "Tx.wg.fill(f32[:, :], 0)",
            "T.ptx.tcgen05.wait__st.sync.aligned()",
            _LOAD,
            "finish()",
            "Tx.wg.cast(f16[:, :], f32[:, :])",
        ),
    )

    INVALID = (
        Invalid(
            _epilogue(_LOAD, "Tx.wg.cast(f16[:, :], f32[:, :])  # <-"),
            replacement=_epilogue(_LOAD, _WAIT, "Tx.wg.cast(f16[:, :], f32[:, :])"),
        ),
        # Two loads, inside a loop; the wait comes too late.
        Invalid(
            _epilogue(
                "g32 = T.wg_reg_tile(64)",
                "for i in T.unroll(2):",
                f"    {_LOAD}",
                '    Tx.wg.copy_async(g32[:, :], acc[:, 64:128], dispatch="tmem<->local")',
                "    Tx.wg.add(f32[:, :], f32[:, :], g32[:, :])  # <-",
                "    T.ptx.tcgen05.wait__ld.sync.aligned()",
            ),
            replacement=_epilogue(
                "g32 = T.wg_reg_tile(64)",
                "for i in T.unroll(2):",
                f"    {_LOAD}",
                '    Tx.wg.copy_async(g32[:, :], acc[:, 64:128], dispatch="tmem<->local")',
                "    T.ptx.tcgen05.wait__ld.sync.aligned()",
                "    Tx.wg.add(f32[:, :], f32[:, :], g32[:, :])",
                "    T.ptx.tcgen05.wait__ld.sync.aligned()",
            ),
        ),
        # The columns that the loop picks are used in the same round.
        Invalid(
            _epilogue(
                "wide = T.wg_reg_tile(128)",
                "for i in T.unroll(2):",
                "    Tx.wg.copy_async(wide[:, i * 64 : i * 64 + 64], acc[:, 0:64])",
                "    Tx.wg.cast(f16[:, :], wide[:, i * 64 : i * 64 + 64])  # <-",
            ),
            replacement=_epilogue(
                "wide = T.wg_reg_tile(128)",
                "for i in T.unroll(2):",
                "    Tx.wg.copy_async(wide[:, i * 64 : i * 64 + 64], acc[:, 0:64])",
                f"    {_WAIT}",
                "    Tx.wg.cast(f16[:, :], wide[:, i * 64 : i * 64 + 64])",
            ),
        ),
        # One warp of the four waits.
        Invalid(
            _epilogue(
                _LOAD, "if warp_id == 0:", f"    {_WAIT}", "Tx.wg.cast(f16[:, :], f32[:, :])  # <-"
            ),
            replacement=_epilogue(
                _LOAD,
                _WAIT,
                "if warp_id == 0:",
                f"    {_WAIT}",
                "Tx.wg.cast(f16[:, :], f32[:, :])",
            ),
        ),
        # The accumulator is given back first.
        Invalid(
            _epilogue(
                _LOAD, "acc_empty.arrive(0)  # <-", _WAIT, "Tx.wg.cast(f16[:, :], f32[:, :])"
            ),
            replacement=_epilogue(
                _LOAD, _WAIT, "acc_empty.arrive(0)", _WAIT, "Tx.wg.cast(f16[:, :], f32[:, :])"
            ),
        ),
        # The instruction itself; the wait for stores is another; used in a T.inline function.
        Invalid(
            in_kernel("""
                @T.inline
                def use(values):
                    Tx.wg.sqrt(values[:, :], values[:, :])  # <-

                LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32"
                f32 = T.wg_reg_tile(64)
                if wg_id == 0:
                    T.ptx[LOAD](f32[0, 0], T.uint32(0))
                    T.ptx.tcgen05.wait__st.sync.aligned()
                    use(f32)
            """),
            replacement=in_kernel("""
                @T.inline
                def use(values):
                    Tx.wg.sqrt(values[:, :], values[:, :])

                LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32"
                f32 = T.wg_reg_tile(64)
                if wg_id == 0:
                    T.ptx[LOAD](f32[0, 0], T.uint32(0))
                    T.ptx.tcgen05.wait__ld.sync.aligned()
                    T.ptx.tcgen05.wait__st.sync.aligned()
                    use(f32)
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Follow each TMEM load to the wait for it."""
        reach = view.reach
        if reach is None:
            return
        seen: set[Span] = set()
        for identity, load in reach.once(tmem_loads).items():
            reached = reach.by_operation[identity]
            if not reached.participants.possible:
                continue
            early = _used_too_early(view, reached, load)
            if early is not None and early.use.operation.span not in seen:
                seen.add(early.use.operation.span)
                yield self._finding(view, reach, reached, early)

    def check_history(self, view: KernelView) -> Iterator[Finding]:
        """Tell of registers that a run uses before they are loaded."""
        for found in races_of(view, (Hazard.READ_EARLY,), (Place.REGISTERS,)):
            message = (
                f"{found.who} uses {found.area} here, which the load from TMEM on line "
                f"{view.line(found.other)} may not have filled yet: no `tcgen05.wait.ld` is in "
                "between"
            )
            yield self.finding(Severity.ERROR, message, found.at, related=found.related)

    def _finding(self, view: KernelView, reach: ReachMap, load: Reached, early: _Early) -> Finding:
        line, use = view.line(load.operation.span), early.use
        receiver = use.operation.receiver
        if use.operation.op is Op.BARRIER_ARRIVE and receiver is not None:
            what = (
                f"`{receiver.name}.arrive` gives the accumulator back while the TMEM load on line "
                f"{line} may still be reading it: the next MMA overwrites it"
            )
        elif use.operation.op is Op.TMEM_DEALLOC:
            what = f"TMEM is freed while the load on line {line} may still be reading it"
        else:
            what = (
                f"this uses registers that the TMEM load on line {line} has perhaps not filled "
                "yet: they hold what they held before"
            )
        message = f"{what}. Wait for the load with `tcgen05.wait::ld` first"
        related = [Related(load.operation.span, "the load is started here")]
        if early.partial is not None:
            waiting = describe(early.partial.participants, reach.shape)
            message = (
                f"{what}. The `tcgen05.wait::ld` on line "
                f"{view.line(early.partial.operation.span)} is executed by {waiting}, and each "
                "thread waits for its own loads only. Let all that loaded execute it"
            )
            related.append(Related(early.partial.operation.span, "not all that loaded wait here"))
        return self.finding(
            Severity.ERROR,
            message,
            use.operation.span,
            fix=_insert(view, load, use),
            related=[*related, *guards_and_calls(use)],
        )


@dataclass(frozen=True, slots=True)
class _Early:
    """A use before the load has ended, and a wait before it by some of those that loaded."""

    use: Reached
    partial: Reached | None


def _used_too_early(view: KernelView, load: Reached, what: TmemLoad) -> _Early | None:
    """Return the first operation that needs a load to have ended before all wait for it."""
    covered, partial = 0, None
    loads = view.reach.once(tmem_loads) if view.reach is not None else {}
    release = _release(view, load, what)
    waited_next = _is_waited_in_the_next_turn(view, load)
    for reached in following(view, load):
        operation = reached.operation
        if operation.op is Op.OPAQUE:
            return None
        if waited_next and (reached.guards != load.guards or reached.loops != load.loops):
            return None  # in another turn, perhaps: the wait may stand between
        if not meets(reached, load):
            continue
        if operation.op is Op.TMEM_WAIT_LOAD:
            covered, partial = covered | reached.participants.possible, reached
            if not load.participants.typical & ~covered:
                return None
            continue
        if not load.participants.typical & reached.participants.typical & ~covered:
            continue
        if apart(load, reached) or id(operation) in loads:
            continue
        reads = operation.name.startswith(_READERS) and operation.op is not Op.TMEM_DEALLOC
        if reads and _reads(load, what, reached):
            return _Early(reached, partial)
        if operation.op is Op.BARRIER_ARRIVE and operation.receiver in release:
            return _Early(reached, partial)
        if operation.op is Op.TMEM_DEALLOC:
            return _Early(reached, partial)
    return None


def _is_waited_in_the_next_turn(view: KernelView, load: Reached) -> bool:
    """Tell whether a loop around a load begins with a wait, as software pipelines do."""
    reach = view.reach
    if reach is None or not load.loops:
        return False
    waits, index = view.once(_load_waits), load.index
    first = bisect_left(waits, reach.spans[id(load.loops[0])].start)
    return any(
        meets(wait, load) and any(loop in load.loops for loop in wait.loops)
        for wait in map(reach.reached.__getitem__, waits[first : bisect_left(waits, index)])
    )


def _load_waits(view: KernelView) -> list[int]:
    """Return the indices of the waits for TMEM loads."""
    reach = view.reach
    if reach is None:
        return []
    return [wait.index for wait in reach.of(Op.TMEM_WAIT_LOAD)]


def _reads(load: Reached, what: TmemLoad, use: Reached) -> bool:
    """Tell whether an operation surely names registers that a load fills."""
    operation = use.operation
    given = (*operation.arguments, *(value for _, value in operation.keywords))
    return any(
        surely_overlap(filled, named, same_round=load.loops == use.loops)
        for named in map(region_of, given)
        if named is not None
        for filled in what.registers
    )


def _release(view: KernelView, load: Reached, what: TmemLoad) -> set[KernelObject]:
    """Return the barrier that gives the loaded TMEM back, if only one can."""
    issuers = view.once(issuers_of).get(what.source, []) if what.source is not None else []
    issuing = 0
    for issuer in issuers:
        issuing |= issuer.participants.possible
    loading = load.participants.possible
    both = [
        barrier
        for barrier, uses in view.once(_plain_barriers).items()
        if uses.waiting & issuing and uses.arriving & loading
    ]
    if len(both) != 1 or len(view.once(_plain_barriers)[both[0]].slots) != 1:
        return set()
    return set(both)


@dataclass(slots=True)
class _BarrierUses:
    """The threads that wait for a plain barrier and arrive on it, and at which slots."""

    waiting: int = 0
    arriving: int = 0
    slots: set[Expr | None] = field(default_factory=set)


def _plain_barriers(view: KernelView) -> dict[KernelObject, _BarrierUses]:
    found: dict[KernelObject, _BarrierUses] = {}
    for reached in view.reach.reached if view.reach is not None else ():
        operation, barrier = reached.operation, reached.operation.receiver
        if barrier is None or barrier.kind is not ObjectKind.MBARRIER:
            continue
        uses = found.setdefault(barrier, _BarrierUses())
        if operation.op is Op.BARRIER_WAIT:
            uses.waiting |= reached.participants.possible
        elif operation.op is Op.BARRIER_ARRIVE:
            uses.arriving |= reached.participants.possible
            uses.slots.add(operation.argument(0, "stage"))
    return found


def _insert(view: KernelView, load: Reached, use: Reached) -> Fix | None:
    """Wait below the last of the loads that stand together."""
    last = load
    for reached in following(view, load):
        if reached is use or reached.guards != load.guards:
            break
        if tmem_load(reached.operation) is not None:
            last = reached
    lines = whole_lines(view.source, last.operation.statement)
    if lines is None or last.operation.stack or not view.source.slice(lines).endswith("\n"):
        return None
    call = "wait.ld()" if is_older(view) else "wait__ld.sync.aligned()"
    indent = indentation(view.source, last.operation.statement)
    place = Span(lines.end, lines.end)
    text = f"{indent}{tirx_name(view)}.ptx.tcgen05.{call}\n"
    return Fix("Insert the wait", Applicability.SAFE, (Edit(place, text),))
