"""TX203: tensor memory freed while other threads may still use it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.model.queries import top_level
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.history import Hazard
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.inner_meetings import may_meet_inside
from tirx_lens.rules.facts.naming import tmem_users
from tirx_lens.rules.facts.tmem import deallocations
from tirx_lens.rules.histories import races_of
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import place
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.threads.reach import Reached, ReachMap

_MEETINGS = frozenset(
    {Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.NAMED_BARRIER, Op.CLUSTER_ARRIVE}
)
_ARRIVALS = (Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)
_BARRIERS = _MEETINGS | {Op.BARRIER_WAIT}
_ALLOC = """
    addr = T.alloc_shared([1], "uint32")
    pool = T.SMEMPool()
    acc_full = TCGen05Bar(pool, 1)
    drained = MBarrier(pool, 1)
    acc_full.init(1)
    drained.init(128)
    if wg_id == 0 and warp_id == 0:
        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
            T.address_of(addr[0]), T.uint32(512)
        )
    T.cuda.cta_sync()
    base: T.let[T.uint32] = addr[0]
    acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
    f32 = T.wg_reg_tile(512)
"""
_ALLOC_0_26 = _ALLOC.replace(
    """T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
            T.address_of(addr[0]), T.uint32(512)
        )""",
    "T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)",
)
_MMA = """
    if wg_id == 1 and warp_id == 0 and lane_id == 0:
        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
        acc_full.arrive(0)
"""
_READ = """
    if wg_id == 0:
        acc_full.wait(0, 0)
        T.ptx.tcgen05.fence__after_thread_sync()
        Tx.wg.copy_async(f32[:, :], acc[:, :], dispatch="tmem<->local")
        T.ptx.tcgen05.wait__ld.sync.aligned()
"""
_FREE = """
    if wg_id == 0 and warp_id == 0:
        T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
        T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](base, T.uint32(512)){mark}
"""


def _kernel(*parts: str, mark: str = "") -> str:
    return in_kernel("".join(part.replace("{mark}", mark) for part in parts))


class DeallocUnsynchronised(Rule):
    """TMEM is freed with nothing that makes sure other threads have done with it.

    ## What it does
    Looks from each `tcgen05.dealloc` back to the accesses to TMEM (loads, stores, MMAs) that other
    warps make, and reports where the warp that frees executes no synchronisation of any kind after
    them: no CTA-wide, cluster-wide, warpgroup or named barrier, and no wait for a barrier on which
    those threads arrive.

    ## Why it is bad
    Warps run at their own pace. The one that frees may be a tile ahead of one that still reads the
    accumulator: those reads then go to columns that are no longer the CTA's, an illegal access, or
    find the numbers of another CTA. TVM compiles it without a word.

    ## Example
    ```python
    if wg_id == 0:
        Tx.wg.copy_async(acc_f32[:, :], acc[:, :], dispatch="tmem<->local")
        T.ptx.tcgen05.wait__ld.sync.aligned()
    if wg_id == 0 and warp_id == 0:  # warps 1 to 3 may still be reading
        T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(tmem_base, T.uint32(512))
    ```

    ## Use instead
    ```python
    if wg_id == 0:
        Tx.wg.copy_async(acc_f32[:, :], acc[:, :], dispatch="tmem<->local")
        T.ptx.tcgen05.wait__ld.sync.aligned()
    T.cuda.cta_sync()
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(tmem_base, T.uint32(512))
    ```

    ## Fix
    Inserts `cta_sync()` (`cluster_sync()` in a kernel of several CTAs) before the top-level
    statement that frees. To be read before it is applied: every thread has to get there.

    ## When not to
    A `dealloc` by the group that drains the accumulator, after that group's own barrier, is right
    and not reported.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.dealloc*, and *Tensor Memory
      Consistency Model*
    """

    code: ClassVar[str] = "TX203"
    name: ClassVar[str] = "dealloc-unsynchronised"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.WRONG_ROWS, Symptom.NAN)
    fix_title: ClassVar[str | None] = "Insert a barrier"

    VALID = (
        _kernel(_ALLOC, _MMA, _READ, "    T.cuda.cta_sync()\n", _FREE),
        # The group that drains frees, after its own barrier.
        _kernel(_ALLOC, _MMA, _READ, "        T.cuda.warpgroup_sync(1)\n", _FREE),
        _kernel(_ALLOC, _MMA, _READ, "        T.ptx.bar.sync(1, 128)\n", _FREE),
        # It waits for a barrier on which the readers arrive.
        _kernel(
            _ALLOC,
            _MMA,
            _READ,
            "        drained.arrive(0)\n",
            _FREE.replace("wg_id == 0", "wg_id == 1").replace(
                "        T.ptx", "        drained.wait(0, 0)\n        T.ptx", 1
            ),
        ),
        # A third warp waits for the readers, who waited for the MMA.
        _kernel(
            _ALLOC,
            _MMA,
            _READ,
            "        drained.arrive(0)\n",
            _FREE.replace("wg_id == 0 and warp_id == 0", "wg_id == 1 and warp_id == 2").replace(
                "        T.ptx", "        drained.wait(0, 0)\n        T.ptx", 1
            ),
        ),
        # One warp does it all; a function may synchronise; not used yet.
        _kernel(_ALLOC, _MMA.replace("wg_id == 1", "wg_id == 0"), _FREE),
        "from kernels import meet\n\n\n" + _kernel(_ALLOC, _MMA, _READ, "    meet()\n", _FREE),
        _kernel(_ALLOC, _FREE),
    )

    INVALID = (
        Invalid(
            _kernel(_ALLOC, _MMA, _READ, _FREE, mark="  # <-"),
            replacement=_kernel(_ALLOC, _MMA, _READ, "\n    T.cuda.cta_sync()", _FREE),
        ),
        # The MMA warp frees, and its wait came before its last MMA; 0.26.
        Invalid(
            _kernel(
                _ALLOC_0_26,
                "    if wg_id == 1 and warp_id == 0 and lane_id == 0:\n"
                "        for k in range(4):\n"
                "            drained.wait(0, k % 2 ^ 1)\n"
                '            Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")\n'
                "            acc_full.arrive(0)\n",
                "    elif wg_id == 0:\n"
                "        for k in range(4):\n"
                "            acc_full.wait(0, k % 2)\n"
                "            T.ptx.tcgen05.fence.after_thread_sync()\n"
                '            Tx.wg.copy_async(f32[:, :], acc[:, :], dispatch="tmem<->local")\n'
                "            T.ptx.tcgen05.wait.ld()\n"
                "            drained.arrive(0)\n",
                "    if T.filter(wg_id, wg_id == 1) and not warp_id != 0:\n"
                "        T.ptx.tcgen05.dealloc(base, n_cols=512, cta_group=1)  # <-\n",
            ),
            replacement=_kernel(
                _ALLOC_0_26,
                "    if wg_id == 1 and warp_id == 0 and lane_id == 0:\n"
                "        for k in range(4):\n"
                "            drained.wait(0, k % 2 ^ 1)\n"
                '            Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")\n'
                "            acc_full.arrive(0)\n",
                "    elif wg_id == 0:\n"
                "        for k in range(4):\n"
                "            acc_full.wait(0, k % 2)\n"
                "            T.ptx.tcgen05.fence.after_thread_sync()\n"
                '            Tx.wg.copy_async(f32[:, :], acc[:, :], dispatch="tmem<->local")\n'
                "            T.ptx.tcgen05.wait.ld()\n"
                "            drained.arrive(0)\n",
                "    T.cuda.cta_sync()\n"
                "    if T.filter(wg_id, wg_id == 1) and not warp_id != 0:\n"
                "        T.ptx.tcgen05.dealloc(base, n_cols=512, cta_group=1)\n",
            ),
        ),
        # Inside a T.inline function, right after the loop that reads.
        Invalid(
            _kernel(
                _ALLOC,
                "    @T.inline\n"
                "    def free():\n"
                "        T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(base, 512)  # <-\n"
                "\n",
                _MMA,
                _READ,
                "        if warp_id == 0:\n            free()\n",
            )
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for accesses of other warps that nothing keeps before a dealloc."""
        reach = view.reach
        if reach is None or reach.is_opaque:
            return
        for freed in deallocations(reach):
            access = _unsynchronised(view, reach, freed)
            if access is not None:
                yield self._finding(view, reach, freed.reached, access)

    def check_history(self, view: KernelView) -> Iterator[Finding]:
        """Tell of frees that an access of a run may come after."""
        for found in races_of(view, (Hazard.FREED,)):
            message = (
                f"{found.who} is here, perhaps while or after tensor memory is given back: "
                f"{found.first_who} on line {view.line(found.other)} and this are put in order by "
                "no barrier. Let all who use it meet before the `dealloc`"
            )
            yield self.finding(Severity.ERROR, message, found.at, related=found.related)

    def _finding(
        self, view: KernelView, reach: ReachMap, freed: Reached, access: Reached
    ) -> Finding:
        cluster = reach.shape.ctas > 1
        mine = warps_touched(freed.participants.possible, reach.shape)
        others = access.participants.possible & ~mine
        barrier = "cluster_sync" if cluster else "cta_sync"
        message = (
            f"TMEM is freed here, and {place(others, reach.shape)} may still be "
            f"using it on line {view.line(access.operation.span)}: the warp that frees executes "
            f"no barrier after that. Put `T.cuda.{barrier}()` before it, where all threads pass"
        )
        related = [Related(access.operation.span, "TMEM is used here")]
        return self.finding(
            Severity.ERROR,
            message,
            freed.operation.span,
            fix=_insert(view, freed, access, barrier),
            related=[*related, *guards_and_calls(freed)],
        )


def _unsynchronised(view: KernelView, reach: ReachMap, freed: Life) -> Reached | None:
    """Return the last access of other warps that the freeing warp does not surely come after."""
    mine = warps_touched(freed.reached.participants.possible, reach.shape)
    if not mine or freed.pool is not None:
        return None
    index = freed.reached.index
    own = [
        one
        for one in reach.of(*_BARRIERS, Op.GEMM_ASYNC, Op.TILE_OP)
        if one.index < index and one.participants.possible & mine
    ]
    own_last = max((one.index for one in own if one.operation.op is Op.GEMM_ASYNC), default=-1)
    barriers = [
        one for one in own if one.operation.op in _BARRIERS or may_meet_inside(one.operation)
    ]
    orders: dict[int, int] = {}  # where the last barrier stands that orders an access of a set
    for access in reversed(view.once(tmem_users)):
        position, who = access.index, access.participants.possible
        if position >= index or not who & ~mine:
            continue
        start = max(_start_of_role(reach, position, access, mine), own_last)
        if who not in orders:
            orders[who] = _last_order(view, barriers, who)
        if orders[who] <= start:
            return access
    return None


def _start_of_role(reach: ReachMap, position: int, access: Reached, mine: int) -> int:
    """Return after which index the freeing warp's barriers count.

    Where it takes part in the access, those after the access. Where it does not, the two run side
    by side, from the branch that parts them on.
    """
    if access.participants.possible & mine:
        return position
    outermost = next((guard.branch for guard in access.guards if guard.selective), None)
    if not isinstance(outermost, Branch):
        return position
    return reach.spans[id(outermost)].start - 1


def _last_order(view: KernelView, barriers: list[Reached], who: int) -> int:
    """Return the index of the last barrier that may put the freeing warp after some threads.

    Some barrier of its own, in program order; -1 where none does.
    """
    signalled: frozenset[KernelObject] | None = None
    for reached in reversed(barriers):
        barrier = reached.operation.receiver
        if reached.operation.op is not Op.BARRIER_WAIT or barrier is None:
            return reached.index  # all who come meet, or it may be any barrier
        if signalled is None:
            signalled = _signalled_after(view, who)
        if barrier in signalled:
            return reached.index
    return -1


@dataclass(slots=True)
class _Signals:
    """Who arrives at each barrier, and who waits for it: unions of threads that may."""

    arriving: dict[KernelObject, int] = field(default_factory=dict)
    waiting: dict[KernelObject, int] = field(default_factory=dict)


def _signals(view: KernelView) -> _Signals:
    found = _Signals()
    for barrier, calls in view.reach.by_receiver.items() if view.reach is not None else ():
        arriving = waiting = 0
        for reached in calls:
            if reached.operation.op in _ARRIVALS:
                arriving |= reached.participants.possible
            elif reached.operation.op is Op.BARRIER_WAIT:
                waiting |= reached.participants.possible
        if arriving:
            found.arriving[barrier] = arriving
        if waiting:
            found.waiting[barrier] = waiting
    return found


def _signalled_after(view: KernelView, who: int) -> frozenset[KernelObject]:
    """Return the barriers on which some thread arrives after an access, or after a wait for one.

    A commit ends what its thread multiplied, whoever reads the accumulator waits for it, and who
    waits for the readers comes after both.
    """
    signals = view.once(_signals)
    signalled: list[KernelObject] = []
    left = list(signals.arriving.items())
    while True:
        fresh = [barrier for barrier, arriving in left if arriving & who]
        if not fresh:
            return frozenset(signalled)
        left = [(barrier, arriving) for barrier, arriving in left if not arriving & who]
        signalled += fresh
        for barrier in fresh:
            who |= signals.waiting.get(barrier, 0)


def _insert(view: KernelView, freed: Reached, access: Reached, barrier: str) -> Fix | None:
    """Write a barrier before the top-level statement that frees, if the access is not in it."""
    body = view.kernel.body
    outermost = freed.operation.stack[0] if freed.operation.stack else freed.operation.statement
    index = top_level(body, outermost)
    used = access.operation.stack[0] if access.operation.stack else access.operation.statement
    if index is None or top_level(body, used) == index:
        return None
    statement = body.statements[index]
    span = statement.span if isinstance(statement, Branch) else None
    lines = whole_lines(view.source, span) if span is not None else None
    if span is None or lines is None:
        return None
    text = f"{indentation(view.source, span)}{tirx_name(view)}.cuda.{barrier}()\n"
    place = Span(lines.start, lines.start)
    return Fix(f"Insert `{barrier}()`", Applicability.UNSAFE, (Edit(place, text),))
