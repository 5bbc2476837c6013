"""TX106: two roles go through their ring a different number of times."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import Call
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import LoopKind
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.balance import Imbalance, Trouble, imbalance, listed
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.first_waits import first_round
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.rounds import Sides, sides_of
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.counts import polynomial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.model.kernel import Loop
    from tirx_lens.threads.reach import Reached

_ARGUMENT = re.compile(r"\(\s*([^\n,()]+?)\s*\)\s*:?\s*$")

_RING = """
    pool = T.SMEMPool()
    full = TMABar(pool, 4)
    empty = MBarrier(pool, 4)
    stages = pool.alloc((4, 64), "float16")
    full.init(1)
    empty.init(128)
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()

    @T.inline
    def fetch(state, k):
        empty.wait(state.stage, state.phase)
        full.arrive(state.stage, 128)
        Tx.copy_async(
            stages[state.stage, :],
            A[k * 64 : k * 64 + 64],
            dispatch="tma_auto",
            mbar=full.ptr_to([state.stage]),
        )
        state.advance()

    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                load = PipelineState(4, phase=1)
                for k in range({ahead}):
                    fetch(load, k)
                for k in range({load}):
                    fetch(load, k + 3)
    else:
        read = PipelineState(4, phase=0)
        for k in range({read}):
            full.wait(read.stage, read.phase){mark}
            empty.arrive(read.stage)
            read.advance()
"""

_TWICE = "            empty.arrive(read.stage)"
_ROOM = "empty.wait(state.stage, state.phase)  # <-"

_GEMM = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, PipelineState, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D


def build(K):
    K_TILES = K // 64

    @T.prim_func
    def kernel(A: T.Buffer((4096,), "float16")):
        T.device_entry()
        bx = T.cta_id([4])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
        tiles.init(bx)
        pool = T.SMEMPool()
        full = TMABar(pool, 4)
        empty = MBarrier(pool, 4)
        stages = pool.alloc((4, 64), "float16")
        full.init(1)
        empty.init(128)
        pool.commit()
        T.ptx.fence.mbarrier_init.release.cluster()
        T.cuda.cta_sync()
        if wg_id == 1:
            if warp_id == 0:
                if T.cuda.elect_sync():
                    load = PipelineState(4, phase=1)
                    while tiles.valid():
                        for k in range({load}):
                            empty.wait(load.stage, load.phase)
                            full.arrive(load.stage, 128)
                            Tx.copy_async(
                                stages[load.stage, :],
                                A[k * 64 : k * 64 + 64],
                                dispatch="tma_auto",
                                mbar=full.ptr_to([load.stage]),
                            )
                            load.advance()
                        tiles.next_tile()
                    for stage in range(4):
                        empty.wait(load.stage, load.phase)
                        load.advance()
        else:
            read = PipelineState(4, phase=0)
            while tiles.valid():
                for k in T.serial({read}):
                    full.wait(read.stage, read.phase){mark}
                    empty.arrive(read.stage)
                    read.advance()
                tiles.next_tile()

    return kernel
"""


class KLoopMismatch(Rule):
    """The producer and the consumer of a ring go through it a different number of times.

    ## What it does
    Counts how often each role is at a barrier that hands data over: the turns of its loops, of
    prologues, of peeled rounds and of what is left at the end, in one turn of the loop over tiles.
    It compares the signals with the waits where both come out as numbers, or as expressions of the
    same host values, and reports a difference.

    Where every role can be followed to its end, each slot of every barrier is looked at by itself:
    the phases that end there, and those that are waited for. So an `arrive` that has left its loop,
    a second one, and a constant in the place of a stage are found, too.

    ## Why it is bad
    Each phase of a `full` barrier is one stage of data. A consumer that waits once more than the
    producer signals never gets past its last wait. One that waits less often leaves data in the
    ring; in the next tile it multiplies what was loaded for the last one, or the producer ends up
    waiting for a stage that is never given back, or the block is gone while a copy still writes to
    its shared memory. TVM compiles it without a word.

    ## Example
    ```python
    for k in range(K_TILES):  # the producer
        empty.wait(load.stage, load.phase)
    ...
    for k in range(K_TILES - 1):  # the consumer
        full.wait(mma.stage, mma.phase)
    ```

    ## Use instead
    ```python
    for k in range(K_TILES):
        empty.wait(load.stage, load.phase)
    ...
    for k in range(K_TILES):
        full.wait(mma.stage, mma.phase)
    ```

    ## Fix
    Where each role has one loop, and only one of the two bounds adds or subtracts something, writes
    the other bound there. It is unsafe: which of the two was meant only the author knows.

    ## When not to
    A producer that waits for `empty` some more times at the end, until its last stages are free, is
    not counted: only signals and waits of data are. Rounds that a condition may leave out, waits by
    a state that does not advance with each of them, and loops over something else than numbers are
    left alone, and so is twice as often: two arrivals may make up one phase.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier*, phases
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `PipelineState`
    """

    code: ClassVar[str] = "TX106"
    name: ClassVar[str] = "k-loop-mismatch"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.WRONG_ROWS, Symptom.CRASH)
    fix_title: ClassVar[str | None] = "Give both loops the same bound"

    VALID = (
        # A prologue, and the rest of the rounds.
        in_kernel(_RING.format(ahead=3, load=13, read=16, mark="")),
        # Peeled on one side only: a round of its own.
        in_kernel(_RING.format(ahead=1, load=7, read="0, 8", mark="")),
        # At the end the producer waits until its last stages are free.
        _GEMM.format(load="K_TILES", read="K_TILES", mark=""),
        _GEMM.format(load="K_TILES - 1", read="K // 64 - 1", mark=""),
        # Twice as often: two arrivals may be one phase.
        in_kernel(_RING.format(ahead=8, load=8, read=8, mark="")),
    )

    INVALID = (
        Invalid(in_finished_kernel(_RING.format(ahead=3, load=13, read=15, mark="  # <-"))),
        # The host's number of rounds, less one; and one more.
        Invalid(
            _GEMM.format(load="K_TILES", read="K_TILES - 1", mark="  # <-"),
            replacement=_GEMM.format(load="K_TILES", read="K_TILES", mark=""),
        ),
        Invalid(
            _GEMM.format(load="K_TILES + 1", read="K_TILES", mark="  # <-"),
            replacement=_GEMM.format(load="K_TILES", read="K_TILES", mark=""),
        ),
        # The prologue was forgotten.
        Invalid(in_finished_kernel(_RING.format(ahead=3, load=16, read=16, mark="  # <-"))),
        # The rest of the rounds starts at the wrong number.
        Invalid(in_finished_kernel(_RING.format(ahead=3, load="4, 16", read=16, mark="  # <-"))),
        # Given back twice in each round; always the same slot taken.
        Invalid(
            in_finished_kernel(_RING.format(ahead=3, load=13, read=16, mark=""))
            .replace("empty.arrive(read.stage)", "empty.arrive(read.stage)\n" + _TWICE)
            .replace("empty.wait(state.stage, state.phase)", _ROOM)
        ),
        Invalid(
            in_finished_kernel(_RING.format(ahead=3, load=13, read=16, mark=""))
            .replace("full.wait(read.stage", "full.wait(0")
            .replace("full.arrive(state.stage, 128)", "full.arrive(state.stage, 128)  # <-")
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare signals and waits of each barrier that hands data over."""
        reach, first = view.reach, first_round(view)
        if reach is None or first is None or not is_finished(view):
            return
        found = handoffs(view)
        for signals in first.signals:
            sides = sides_of(found, signals, first.waits_of(signals.handoff), reach)
            if sides is not None:
                yield self._finding(view, sides)

    def check_run(self, view: KernelView) -> Iterator[Finding]:
        """Compare the phases that end at each slot with those that are waited for."""
        found = imbalance(view)
        uneven = (Trouble.SHORT, Trouble.LAPPED)
        if found is not None and found.trouble in uneven and is_finished(view):
            yield self._uneven_slot(found)

    def _uneven_slot(self, found: Imbalance) -> Finding:
        name, place = found.handoff.barrier.name, found.shown.operation
        where = f"slot {found.slot} of `{name}`"
        if found.trouble is Trouble.SHORT:
            message = (
                f"this role waits for {found.needed} phases of {where}{found.run}, and "
                f"{found.ended} end: {found.arrived} arrivals come there, and {found.count} end a "
                "phase. The last of the waits never returns. Signal the slot once for each time "
                "that it is waited for"
            )
        elif found.waiter is not None:
            message = (
                f"{where} goes through {found.ended} phases{found.run}, and this role waits for "
                f"{found.needed} of them: the parity of a wait tells two neighbouring phases "
                "apart, no more, so it goes on with what is not there yet, or waits for a phase "
                "that never comes. Wait for the slot once for each time that it is signalled"
            )
        else:
            message = (
                f"{where} is signalled here for {found.ended} phases{found.run}, and nobody waits "
                f"there: the waits are at {listed(found.waited)}. Both sides have to go through "
                "the same slots: as many stages, one `advance()` for each use, the stage for the "
                "slot"
            )
        others = [use.reached.operation for use in (*found.signals[:1], *found.others[:1])]
        related = [
            Related(other.span, f"the other side of `{name}`") for other in others if other != place
        ]
        return self.finding(
            Severity.ERROR, message, place.span, related=[*related, *calls_around(place)]
        )

    def _finding(self, view: KernelView, sides: Sides) -> Finding:
        name = sides.name
        more = f"{abs(sides.left)} {'time' if abs(sides.left) == 1 else 'times'} more"
        tile = " in each tile" if sides.tiled else ""
        if sides.left > 0:
            text = (
                f"`{name}` is signalled {more} than this role waits for it{tile}: what comes last "
                "is never taken out of the ring, and whoever uses the slots next is out of step"
            )
        else:
            text = (
                f"this role waits for `{name}` {more} than it is signalled{tile}: the last wait "
                "has nothing to wait for and never returns"
            )
        loops = [
            Related(loop.header, f"`{name}` is signalled in this loop")
            for place in sides.signals
            for loop in place.loops[-1:]
        ]
        mine = [
            Related(loop.header, f"`{name}` is waited for in this loop")
            for place in sides.waits
            for loop in place.loops[-1:]
        ]
        return self.finding(
            Severity.ERROR,
            f"{text}. Give both roles the same number of rounds",
            sides.waits[0].operation.span,
            fix=_same_bound(view, sides),
            related=[*dict.fromkeys((*loops, *mine)), *calls_around(sides.waits[0].operation)],
        )


def _same_bound(view: KernelView, sides: Sides) -> Fix | None:
    """Write the plain one of two bounds in the place of the other."""
    loops = (_only_loop(sides.signals), _only_loop(sides.waits))
    if loops[0] is None or loops[1] is None:
        return None
    one, other = (_bound(view, loop) for loop in loops if loop is not None)
    if one is None or other is None or one.is_shifted == other.is_shifted:
        return None
    wrong, right = (one, other) if one.is_shifted else (other, one)
    written = view.source.slice(right.span)
    return Fix(
        f"Loop over `{written}` here, too",
        Applicability.UNSAFE,
        (Edit(wrong.span, written),),
    )


def _only_loop(places: Sequence[Reached]) -> Loop | None:
    """Return the one counting loop in which a role has all its rounds, in the kernel itself."""
    counting = [loop for place in places for loop in place.loops if loop.kind is LoopKind.FOR]
    inlined = any(place.operation.stack for place in places)
    return counting[0] if len(places) == len(counting) == 1 and not inlined else None


@dataclass(frozen=True, slots=True)
class _Bound:
    """Where the one bound of a loop stands; `is_shifted` says that something is added to it."""

    span: Span
    is_shifted: bool


def _bound(view: KernelView, loop: Loop) -> _Bound | None:
    control = loop.control
    if not isinstance(control, Call) or len(control.arguments) != 1 or control.keywords:
        return None
    header = view.source.slice(loop.header)
    written = _ARGUMENT.search(header)
    if written is None:
        return None
    start = loop.header.start + len(header[: written.start(1)].encode())
    end = start + len(written.group(1).encode())
    return _Bound(Span(start, end), () in polynomial(control.arguments[0]))
