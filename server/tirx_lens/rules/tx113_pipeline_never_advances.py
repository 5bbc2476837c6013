"""TX113: a loop waits or arrives by a pipeline state that stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import constant_int
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.handoffs import Handoff, Handoffs, handoffs, variables_in
from tirx_lens.rules.facts.nesting import Placed, repeats, turns
from tirx_lens.rules.facts.phases import STATE_STORED
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.coverage import left_out
from tirx_lens.threads.describe import describe
from tirx_lens.threads.participants import Participants

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.model.kernel import Loop
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span


class PipelineNeverAdvances(Rule):
    """A loop goes through a ring by a state that it never advances.

    ## What it does
    Finds `wait(state.stage, state.phase)` and `arrive(state.stage)` in a loop that never calls
    `state.advance()`, or calls it behind a guard that some of the waiting threads do not pass.

    ## Why it is bad
    A `PipelineState` is a stage and a phase in registers of each thread. `advance()` moves that
    thread to the next stage, and flips the phase when the ring is through. A thread that skips it
    waits at the same slot for the same phase in every turn. The first wait is right; the next ones
    return at once, before the data is there, or never, because the other side has moved on to the
    next slot and waits for this one to be given back. On an H200 a consumer that does not advance
    hangs.

    ## Example
    ```python
    for k in range(K_TILES):
        full.wait(state.stage, state.phase)
        consume(state.stage)
        empty.arrive(state.stage)
    ```

    ## Use instead
    ```python
    for k in range(K_TILES):
        full.wait(state.stage, state.phase)
        consume(state.stage)
        empty.arrive(state.stage)
        state.advance()
    ```

    ## When not to
    A barrier that is signalled once, outside any loop, may be waited on again and again with the
    same phase: after the first time the wait passes. A state that is made or initialised in the
    loop, or whose stage or phase is stored to, is not judged; an inner loop may use one stage many
    times if a loop around it advances. Where a ring has one slot, an `arrive` needs no stage.

    ## References
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `PipelineState`
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.try_wait*
    """

    code: ClassVar[str] = "TX113"
    name: ClassVar[str] = "pipeline-never-advances"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.WRONG_ROWS)

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 4)
            empty = MBarrier(pool, 4)
            full.init(1)
            empty.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 1:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        load = PipelineState(4, phase=1)
                        for k in range(16):
                            empty.wait(load.stage, load.phase)
                            full.arrive(load.stage, 64)
                            load.advance()
            else:
                read = PipelineState(4, phase=0)
                for tile in range(4):
                    for k in range(4):
                        full.wait(read.stage, read.phase)
                        empty.arrive(read.stage)
                        read.advance()
        """),
        # Once a tile, in the last turn of a loop over its columns.
        in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 2)
            done.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 0:
                read = PipelineState(2, phase=0)
                for i in T.unroll(4):
                    if i == 3:
                        done.arrive(read.stage)
                read.advance()
            else:
                room = PipelineState(2, phase=0)
                done.wait(room.stage, room.phase)
        """),
        # Signalled once, waited for in every turn; made anew in every turn; advanced by a helper.
        in_kernel("""
            pool = T.SMEMPool()
            once = MBarrier(pool, 1)
            each = MBarrier(pool, 1)
            once.init(256)
            each.init(256)
            pool.commit()

            @T.inline
            def take(bar, state):
                bar.wait(0, state.phase)
                state.advance()

            T.cuda.cta_sync()
            still = PipelineState(1, phase=0)
            moved = PipelineState(1, phase=0)
            once.arrive(0)
            for k in range(8):
                once.wait(0, still.phase)
                each.arrive(0)
                take(each, moved)
        """),
        # In one turn of an inner loop only: two halves of Q share each block of K.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 4)
            empty = MBarrier(pool, 4)
            full.init(1)
            empty.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 1:
                if warp_id == 0:
                    if T.cuda.elect_sync():
                        load = PipelineState(4, phase=1)
                        for k in range(16):
                            empty.wait(load.stage, load.phase)
                            full.arrive(load.stage, 64)
                            load.advance()
            else:
                read = PipelineState(4, phase=0)
                for k in range(15):
                    for half in T.unroll(2):
                        if half == 0:
                            full.wait(read.stage, read.phase)
                        if half == 1:
                            empty.arrive(read.stage)
                    read.advance()
                for half in T.unroll(2):
                    if half == 0:
                        full.wait(read.stage, read.phase)
                    if half == 1:
                        empty.arrive(read.stage)
        """),
        # Moved by hand.
        in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            done.init(256)
            pool.commit()
            T.cuda.cta_sync()
            state = PipelineState(1, phase=0)
            for k in range(8):
                done.arrive(0)
                done.wait(state.stage, state.phase)
                state.phase ^= 1
        """),
    )

    INVALID = (
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 4)
                empty = MBarrier(pool, 4)
                full.init(1)
                empty.init(128)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 1:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            load = PipelineState(4, phase=1)
                            for k in range(16):
                                empty.wait(load.stage, load.phase)
                                full.arrive(load.stage, 64)
                                load.advance()
                else:
                    read = PipelineState(4, phase=0)
                    for k in range(16):
                        full.wait(read.stage, read.phase)  # <-
                        empty.arrive(read.stage)  # <-
            """)
        ),
        # A helper that waits, in the loop over tiles; the phase turned around.
        Invalid(
            in_finished_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                pool = T.SMEMPool()
                free = MBarrier(pool, 1)
                free.init(128)
                pool.commit()

                @T.inline
                def wait_for_room(state):
                    free.wait(0, state.phase ^ 1)  # <-

                T.cuda.cta_sync()
                room = PipelineState(1, phase=0)
                if wg_id == 0:
                    while tiles.valid():
                        free.arrive(0)
                        tiles.next_tile()
                elif T.filter(warp_id, warp_id == 2):
                    while tiles.valid():
                        wait_for_room(room)
                        tiles.next_tile()
            """)
        ),
        # Advanced once a tile, where the other side goes on at every step.
        Invalid(
            in_finished_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                pool = T.SMEMPool()
                ready = MBarrier(pool, 4)
                ready.init(128)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 0:
                    send = PipelineState(4, phase=0)
                    while tiles.valid():
                        for k in range(8):
                            ready.arrive(send.stage)
                            send.advance()
                        tiles.next_tile()
                else:
                    take = PipelineState(4, phase=0)
                    while tiles.valid():
                        for k in range(8):
                            ready.wait(take.stage, take.phase)  # <-
                        take.advance()
                        tiles.next_tile()
            """)
        ),
        # Advanced by the elected thread alone; the others wait, too.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="mbar", empty="mbar", init_full=128, init_empty=128)
                pool.commit()
                T.cuda.cta_sync()
                state = PipelineState(2, 0)
                if wg_id == 0:
                    for k in range(16):
                        pipe.full.wait(state.stage, state.phase)  # <-
                        if warp_id == 0 and T.ptx.elect_sync():
                            state.advance()
                        pipe.empty.arrive(k % 2)
                else:
                    for k in range(16):
                        pipe.full.arrive(k % 2)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for the advance of each state in the loops that wait or arrive by it."""
        if view.mentions(STATE_STORED) or not is_finished(view):
            return
        found = handoffs(view)
        if found.is_open:
            return
        said: set[Span] = set()  # a function that is called from two loops says it once
        for handoff in found.barriers:
            if handoff.elsewhere or not _is_signalled_in_a_loop(handoff):
                continue
            for place in (*handoff.waits, *handoff.arrivals):
                for finding in self._check_place(view, found, handoff, place):
                    if finding.span not in said:
                        said.add(finding.span)
                        yield finding

    def _check_place(
        self, view: KernelView, found: Handoffs, handoff: Handoff, place: Placed
    ) -> Iterator[Finding]:
        state = _state_used(found, handoff, place)
        loop = _still_loop(view, handoff, place, state) if state is not None else None
        if state is None or loop is None:
            return
        moves = [call for call in found.calls.get(state, ()) if call.is_in(loop)]
        still = _standing_still(view, place, moves) if moves else None
        if moves and still is None:
            return
        related = [Related(loop.header, "the loop"), *calls_around(place.operation)]
        verb = "waits" if place.operation.op is Op.BARRIER_WAIT else "arrives"
        if not moves:
            message = (
                f"this {verb} by `{state.name}`, and no `{state.name}.advance()` is in the loop on "
                f"line {view.line(loop.span)}: every turn uses the same slot and phase, while the "
                f"other side of `{handoff.barrier.name}` moves on. Advance the state once a turn"
            )
        else:
            message = (
                f"this {verb} by `{state.name}`, which each thread keeps for itself; {still} never "
                f"execute `{state.name}.advance()` in the loop on line {view.line(loop.span)}: "
                "they use the same slot and phase in every turn. Advance the state where all of "
                "them pass"
            )
            related.append(Related(moves[0].operation.span, "only some threads advance here"))
        yield self.finding(Severity.ERROR, message, place.operation.span, related=related)


def _is_signalled_in_a_loop(handoff: Handoff) -> bool:
    """Tell whether a barrier goes through more than one phase."""
    signals = (*handoff.arrivals, *handoff.pointers)
    return any(repeats(loop) for place in signals for loop in place.loops)


def _state_used(found: Handoffs, handoff: Handoff, place: Placed) -> KernelObject | None:
    """Return the state that a place follows, if standing still makes a difference there."""
    operation = place.operation
    for position, keyword in enumerate(("stage", "phase")):
        value = operation.argument(position, keyword)
        if value is None or (position and operation.op is not Op.BARRIER_WAIT):
            continue
        states = [found.state_of(variable) for variable in variables_in(value)]
        if len(states) == 1 and states[0] is not None:
            slots = constant_int(states[0].argument(0, "depth"))
            if position or (slots is not None and slots > 1 and handoff.depth != 1):
                return states[0]
    return None


def _still_loop(
    view: KernelView, handoff: Handoff, place: Placed, state: KernelObject
) -> Loop | None:
    """Return the loop around a place in which its state ought to move.

    That is the outermost repeated loop that the state outlives; or the innermost, where the other
    side goes through slots in a loop just as deep, by a state that it advances there. A loop that
    gets to the place in one of its turns only is none.
    """
    found = handoffs(view)
    made = found.makers.get(state)
    if made is None or place.is_chosen:
        return None
    around = view.once(_Surroundings)
    mine, steady = around.of(place)
    loops = [loop for loop in steady if not made.is_in(loop)]
    if len(loops) > 1 and not around.moves_in(state, loops[-1]):
        for other in (*handoff.arrivals, *handoff.pointers, *handoff.waits):
            theirs = list(filter(around.repeats, other.loops))
            mate = _state_used(found, handoff, other)
            if mate is None or mate == state or len(theirs) != len(mine):
                continue
            alike = all(_as_often(a, b) for a, b in zip(mine, theirs, strict=True))
            if alike and around.moves_in(mate, theirs[-1]):
                return loops[-1]
    return loops[0] if loops else None


class _Surroundings:
    """The loops around places and around what moves states, worked out once for each block."""

    def __init__(self, view: KernelView) -> None:
        self._calls = handoffs(view).calls
        self._loops: dict[int, tuple[list[Loop], list[Loop]]] = {}
        self._moved: dict[KernelObject, set[int]] = {}
        self._repeats: dict[int, bool] = {}

    def of(self, place: Placed) -> tuple[list[Loop], list[Loop]]:
        """Return the loops that bring a place more than once, and those that do in every turn."""
        block = id(place.around)
        if block not in self._loops:
            loops = filter(self.repeats, place.loops)
            repeated = [loop for loop in loops if not place.is_in_one_turn(loop)]
            steady = [loop for loop in repeated if not _picks_turns(loop, place)]
            self._loops[block] = repeated, steady
        return self._loops[block]

    def repeats(self, loop: Loop) -> bool:
        """Tell whether a loop may run more than once."""
        if id(loop) not in self._repeats:
            self._repeats[id(loop)] = repeats(loop)
        return self._repeats[id(loop)]

    def moves_in(self, state: KernelObject, loop: Loop) -> bool:
        """Tell whether a method of a state is called in a loop."""
        if state not in self._moved:
            calls = self._calls.get(state, ())
            self._moved[state] = {id(part) for call in calls for part in call.around}
        return id(loop) in self._moved[state]


def _picks_turns(loop: Loop, place: Placed) -> bool:
    """Tell whether a condition in a loop may let a place pass in some of its turns only."""
    return any(True for b in place.branches_in(loop) for _ in variables_in(b.condition))


def _as_often(one: Loop, other: Loop) -> bool:
    """Tell whether two loops surely run as often."""
    values = turns(one)
    if values is not None:
        return len(values) == len(turns(other) or ())
    return one.control == other.control


def _standing_still(view: KernelView, place: Placed, moves: Sequence[Placed]) -> str | None:
    """Say which threads come to a place and to none of the advances."""
    if view.reach is None:
        return None
    by_operation = view.reach.by_operation
    here = by_operation.get(id(place.operation))
    there = [by_operation[id(p.operation)] for p in moves if id(p.operation) in by_operation]
    left = left_out(here, there) if here is not None else 0
    return describe(Participants(left, left), view.reach.shape) if left else None
