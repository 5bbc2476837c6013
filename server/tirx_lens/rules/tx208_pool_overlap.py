"""TX208: a rewind of the pool puts something on top of a barrier that is still in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import objects_in
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import BARRIERS, KernelObject, ObjectKind
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.pool_layout import Allocation, pool_layouts
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.threads.reach import Reached, ReachMap

_SHARED = frozenset({ObjectKind.BUFFER, *BARRIERS})


@dataclass(frozen=True, slots=True)
class _Overlap:
    """A barrier, what lies on top of it, and a use of the barrier behind one of the other."""

    barrier: Allocation
    over: Allocation
    used: Operation


class PoolOverlap(Rule):
    """Shared memory is allocated over a barrier that the kernel goes on using.

    ## What it does
    Follows the bytes of an SMEM pool through `move_base_to` and finds objects that lie on top of a
    barrier, where the barrier is used again after the other object has been.

    ## Why it is bad
    `move_base_to` sets the pool back, and what is allocated then shares bytes with what was
    allocated before. Tiles written over an mbarrier destroy its phase and its counts: the next wait
    passes at once, never returns, or is an illegal instruction. TVM checks nothing.

    ## Example
    ```python
    full = TMABar(pool, 4)                        # bytes 0 to 32
    pool.move_base_to(0)
    As = pool.alloc((4, 128, 64), "float16")      # bytes 0 to 65,536
    ```

    ## Use instead
    ```python
    full = TMABar(pool, 4)                        # bytes 0 to 32
    pool.move_base_to(1024)
    As = pool.alloc((4, 128, 64), "float16")      # bytes 1,024 to 66,560
    ```

    ## When not to
    To use bytes again once their object is done with is what `move_base_to` is for: buffers over
    buffers are not reported, nor are barriers that nothing uses any more, that are initialised anew
    behind the other object, or that only other threads use, which may be done by then. Pools with a
    size that is not known are not looked at.

    ## References
    - TVM, `python/tvm/backend/cuda/lang/alloc_pool.py`, `SMEMPool.move_base_to`
    - PTX ISA, *mbarrier*: the object is opaque and only mbarrier operations may touch it
    """

    code: ClassVar[str] = "TX208"
    name: ClassVar[str] = "pool-overlap"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (
        Symptom.WRONG_ROWS,
        Symptom.CRASH,
        Symptom.DEADLOCK,
        Symptom.NAN,
    )

    VALID = (
        # Barriers below, tiles above; the epilogue's tile on top of the ring's.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 4)
            pool.move_base_to(1024)
            As = pool.alloc((4, 128, 64), "float16")
            pool.move_base_to(1024)
            Ds = pool.alloc((128, 64), "float16")
            pool.commit()
            full.init(1)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            X = T.match_buffer(A, (128, 64), "float16")
            for tile in range(2):
                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            full.arrive(0, 128 * 64 * 2)
                            Tx.copy_async(
                                As[0, :, :],
                                X[:, :],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([0]),
                            )
                full.wait(0, tile)
                Tx.cta.copy(X[:, :], As[0, :, :])
                T.cuda.cta_sync()
                Tx.cta.copy(Ds[:, :], X[:, :])
                T.cuda.cta_sync()
        """),
        # The barrier is done with when the tile comes.
        in_kernel("""
            pool = T.SMEMPool()
            once = MBarrier(pool, 1)
            pool.move_base_to(0)
            Ds = pool.alloc((128, 64), "float16")
            pool.commit()
            once.init(256)
            T.cuda.cta_sync()
            once.arrive(0)
            once.wait(0, 0)
            T.cuda.cta_sync()
            X = T.match_buffer(A, (128, 64), "float16")
            Tx.cta.copy(Ds[:, :], X[:, :])
        """),
        # Each round initialises it again.
        in_kernel("""
            pool = T.SMEMPool()
            once = MBarrier(pool, 1)
            pool.move_base_to(0)
            Ds = pool.alloc((128, 64), "float16")
            pool.commit()
            X = T.match_buffer(A, (128, 64), "float16")
            Tx.cta.copy(Ds[:, :], X[:, :])
            T.cuda.cta_sync()
            once.init(256)
            T.cuda.cta_sync()
            once.arrive(0)
            once.wait(0, 0)
        """),
        # One or the other, as a scalar of the host says.
        """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier


@T.prim_func
def kernel(X: T.Buffer((128, 64), "float16"), mode: T.int32):
    T.device_entry()
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    once = MBarrier(pool, 1)
    pool.move_base_to(0)
    Ds = pool.alloc((128, 64), "float16")
    pool.commit()
    once.init(128)
    T.cuda.cta_sync()
    if mode == 0:
        Tx.cta.copy(Ds[:, :], X[:, :])
    else:
        once.arrive(0)
        once.wait(0, 0)
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 4)
                pool.move_base_to(0)
                As = pool.alloc((4, 128, 64), "float16")  # <-
                pool.commit()
                full.init(1)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                X = T.match_buffer(A, (128, 64), "float16")
                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            full.arrive(0, 128 * 64 * 2)
                            Tx.copy_async(
                                As[0, :, :],
                                X[:, :],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([0]),
                            )
                full.wait(0, 0)
            """)
        ),
        # A base that is too low by the last barrier; a loop; alignment; T.inline.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 4)
                empty = MBarrier(pool, 4)
                pool.move_base_to(56)
                Ds = pool.alloc((128, 8), "float16")  # <-
                pool.commit()
                full.init(1)
                empty.init(128)
                T.ptx.fence.mbarrier_init.release.cluster()
                T.cuda.cta_sync()
                X = T.match_buffer(A, (128, 8), "float16")

                @T.inline
                def write():
                    Tx.wg.copy(X[:, :], Ds[:, :])

                for k in range(4):
                    if wg_id == 0:
                        empty.arrive(0)
                        empty.wait(0, k % 2)
                        write()
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare the bytes of each barrier with those of whatever was allocated after it."""
        if view.reach is None:
            return
        for layout in pool_layouts(view):
            found: dict[KernelObject, list[_Overlap]] = {}
            for barrier, over in _shared_bytes(layout.allocations):
                used = _used_on(barrier.made, over.made, view.reach)
                if used is not None:
                    found.setdefault(over.made, []).append(_Overlap(barrier, over, used))
            for overlaps in found.values():
                yield self._finding(view, overlaps)

    def _finding(self, view: KernelView, overlaps: list[_Overlap]) -> Finding:
        over = overlaps[0].over
        barriers = ", ".join(
            f"`{o.barrier.made.name}` ({o.barrier.start:,} to {o.barrier.end:,}, "
            f"used on line {view.line(o.used.span)})"
            for o in overlaps
        )
        above = max(_above(overlap.barrier, over) for overlap in overlaps)
        message = (
            f"`{over.made.name}` lies at bytes {over.start:,} to {over.end:,} of the pool, on top "
            f"of barriers that are still used: {barriers}. What is written there destroys their "
            f"phases and counts. Move the base to {above:,} or above"
        )
        related = []
        for overlap in overlaps:
            name = overlap.barrier.made.name
            related.append(Related(overlap.barrier.operation.span, f"`{name}` is allocated here"))
            related.append(Related(overlap.used.span, f"`{name}` is used here"))
        return self.finding(Severity.ERROR, message, over.operation.span, related=related)


def _shared_bytes(allocations: Sequence[Allocation]) -> list[tuple[Allocation, Allocation]]:
    """Return barriers, each with something allocated later that shares bytes with it."""
    found: list[tuple[Allocation, Allocation]] = []
    barriers: list[Allocation] = []
    top = 0  # where the barriers so far end: most pools only grow
    for later in allocations:
        if later.start < top and later.made.kind in _SHARED:
            found += [(first, later) for first in barriers if first.overlaps(later)]
        if later.made.kind in BARRIERS:
            barriers.append(later)
            top = max(top, later.end)
    barrier_order = {id(barrier): index for index, barrier in enumerate(barriers)}
    return sorted(found, key=lambda pair: barrier_order[id(pair[0])])


def _above(barrier: Allocation, over: Allocation) -> int:
    """Return the first base behind a barrier at which the other object has its alignment."""
    align = min(over.start & -over.start, 1024) if over.start else 1024
    return -(-barrier.end // align) * align


def _used_on(barrier: KernelObject, over: KernelObject, reach: ReachMap) -> Operation | None:
    """Return a use of a barrier that surely comes after one of what lies on top of it."""
    of_barrier = [reached for reached in reach.reached if reached.operation.receiver == barrier]
    inits = [reached for reached in of_barrier if reached.operation.op is Op.BARRIER_INIT]
    uses = [r for r in of_barrier if r.operation.op in (Op.BARRIER_WAIT, Op.BARRIER_ARRIVE)]
    for other in (reached for reached in reach.reached if _names(reached.operation, over)):
        if any(_after(init, other) for init in inits):
            continue
        for use in uses:
            if _after(use, other) and _go_together(use, other):
                return use.operation
    return None


def _names(operation: Operation, made: KernelObject) -> bool:
    if operation.created == made:
        return False
    given = (*operation.arguments, *(value for _, value in operation.keywords))
    return operation.receiver == made or any(
        target == made for value in given for target in objects_in(value)
    )


def _after(place: Reached, other: Reached) -> bool:
    """Tell whether a place comes after another, in the program or in the next turn of a loop."""
    looped = any(loop is around for loop in place.loops for around in other.loops)
    return looped or place.index > other.index


def _go_together(place: Reached, other: Reached) -> bool:
    """Tell whether some thread that gets to one of two places gets to the other in that run."""
    mine, theirs = (
        {(guard.branch.span, guard.taken) for guard in reached.guards if guard.question is not None}
        for reached in (place, other)
    )
    same_thread = place.participants.typical & other.participants.typical
    return bool(same_thread) and (mine <= theirs or theirs <= mine)
