"""TX112: a barrier is initialised again while it is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import buffers_in
from tirx_lens.model.expr import Const, Variable, objects_in
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import BARRIERS, ObjectKind
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.handoffs import handoffs, variables_in
from tirx_lens.rules.facts.nesting import Placed, repeats
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.condition import Unsure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.model.kernel import Loop
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span

_SYNCS = (Op.CTA_SYNC, Op.CLUSTER_SYNC)


class BarrierInitInLoop(Rule):
    """A barrier is initialised inside the loop that waits on it.

    ## What it does
    Finds `.init()` of a barrier, a `Pipeline` that is made, or a raw `mbarrier.init`, inside a loop
    that also waits on that barrier.

    ## Why it is bad
    Each turn of the loop puts the barrier back to its first phase, with all arrivals outstanding.
    Arrivals that were on their way are lost, copies in flight report to a phase that is gone, and
    whoever waits keeps a phase of its own that no longer fits: sooner or later a wait never
    returns. To initialise a live mbarrier without `mbarrier.inval` is undefined in PTX besides.
    TVM compiles it without a word.

    ## Example
    ```python
    while tiles.valid():
        full.init(1)
        full.wait(0, state.phase)
        state.advance()
        tiles.next_tile()
    ```

    ## Use instead
    ```python
    full.init(1)
    T.cuda.cta_sync()
    while tiles.valid():
        full.wait(0, state.phase)
        state.advance()
        tiles.next_tile()
    ```

    ## When not to
    A loop over slots that initialises and waits for nothing is how raw barriers are set up. An
    `init` under a condition that may hold in one turn only, a loop with `mbarrier.inval`, and a
    barrier set up afresh for every turn (a CTA-wide barrier on either side of the `init`, and
    phases that start again in the loop) are not reported.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.init,
      mbarrier.inval*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `MBarrier`
    """

    code: ClassVar[str] = "TX112"
    name: ClassVar[str] = "barrier-init-in-loop"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.CRASH, Symptom.WRONG_ROWS)

    VALID = (
        # Slots of raw barriers; a loop that waits for another barrier.
        in_kernel("""
            pool = T.SMEMPool()
            words = pool.alloc((4,), "uint64")
            done = MBarrier(pool, 1)
            late = MBarrier(pool, 1)
            pool.commit()
            if wg_id == 0:
                if warp_id == 0:
                    if lane_id == 0:
                        for i in range(4):
                            T.ptx.mbarrier.init.shared.b64(words.ptr_to([i]), T.uint32(1))
            done.init(256)
            late.init(256)
            T.cuda.cta_sync()
            state = PipelineState(1, phase=0)
            for i in range(4):
                done.arrive(0)
                done.wait(0, state.phase)
                state.advance()
        """),
        # Set up afresh for every tile, between two meetings of the CTA.
        in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            tiles.init(bx)
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            pool.commit()
            while tiles.valid():
                done.init(256)
                T.cuda.cta_sync()
                done.arrive(0)
                done.wait(0, 0)
                T.cuda.cta_sync()
                tiles.next_tile()
        """),
        # In the first turn only; one turn only; after `mbarrier.inval`.
        in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            pool.commit()
            word = T.alloc_buffer((1,), "uint64", scope="shared")
            state = PipelineState(1, phase=0)
            for k in range(8):
                if k == 0:
                    done.init(256)
                    T.cuda.cta_sync()
                done.arrive(0)
                done.wait(0, state.phase)
                state.advance()
            for once in range(1):
                done.init(256)
                T.cuda.cta_sync()
                done.arrive(0)
                done.wait(0, 0)
            for k in range(8):
                if wg_id == 0 and warp_id == 0 and lane_id == 0:
                    T.ptx.mbarrier.init.shared.b64(word.ptr_to([0]), T.uint32(1))
                    T.ptx.mbarrier.arrive.shared.b64(word.ptr_to([0]), T.uint32(1))
                    T.cuda.mbarrier_wait(word.ptr_to([0]), 0)
                    T.ptx.mbarrier.inval.shared.b64(word.ptr_to([0]))
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                pool = T.SMEMPool()
                done = MBarrier(pool, 1)
                pool.commit()
                state = PipelineState(1, phase=0)
                while tiles.valid():
                    done.init(256)  # <-
                    T.cuda.cta_sync()
                    done.arrive(0)
                    done.wait(0, state.phase)
                    state.advance()
                    T.cuda.cta_sync()
                    tiles.next_tile()
            """)
        ),
        # Deeper than the waits, behind a thread guard, through a T.inline function.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                pool.commit()

                @T.inline
                def prepare(bar, count):
                    bar.init(count)  # <-

                for k in T.serial(16):
                    if wg_id == 0:
                        for s in range(2):
                            prepare(full, 1)
                    T.cuda.cta_sync()
                    full.wait(k % 2, 0)
            """)
        ),
        # Raw words in the older spelling, and a pipeline made in the loop.
        Invalid(
            in_kernel("""
                word = T.alloc_buffer((1,), "uint64", scope="shared")
                pool = T.SMEMPool()
                for k in range(16):
                    if T.filter(lane_id, wg_id == 0 and warp_id == 0 and lane_id == 0):
                        T.ptx.mbarrier.init(word.ptr_to([0]), 1)  # <-
                    pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")  # <-
                    T.ptx.mbarrier.try_wait(word.ptr_to([0]), k % 2)
                    pipe.full.wait(k % 2, k // 2 % 2)
                pool.commit()
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for a wait on the same barrier in each loop around an init."""
        program = handoffs(view).program
        for init in program:
            words = _initialised(init) if init.loops else []
            for loop in init.loops if words else ():
                inside = [place for place in program if place.is_in(loop)]
                waits = [place for place in inside if _waits_on(place, words)]
                if not waits or not repeats(loop) or _may_be_once(view, init, loop):
                    continue
                if any(".mbarrier.inval" in place.operation.name for place in inside):
                    continue
                if not _is_set_up_afresh(inside, init, waits, loop):
                    yield self._finding(view, init, waits[0], loop)
                    break

    def _finding(self, view: KernelView, init: Placed, wait: Placed, loop: Loop) -> Finding:
        operation = init.operation
        made = operation.receiver or operation.created
        what = f"`{made.name}`" if made is not None else "this mbarrier"
        message = (
            f"{what} is initialised in every turn of the loop on line {view.line(loop.span)}, "
            f"which also waits on it (line {view.line(wait.operation.span)}): each time it loses "
            "its arrivals and starts at its first phase again, and the waits no longer fit. "
            "Initialise it once, before the loop and the CTA-wide barrier above it"
        )
        related = [
            Related(loop.header, "the loop"),
            Related(wait.operation.span, "the wait"),
            *calls_around(operation),
        ]
        return self.finding(Severity.ERROR, message, operation.span, related=related)


def _initialised(place: Placed) -> list[KernelObject | Span]:
    """Return the barriers that an operation initialises; a pipeline's by where it is made."""
    operation = place.operation
    made = operation.created
    if operation.op is Op.BARRIER_INIT and operation.receiver is not None:
        return [operation.receiver]
    if operation.op is Op.MBARRIER_INIT and operation.arguments:
        return _words_in(place)
    if made is not None and made.kind is ObjectKind.PIPELINE and made.argument(99, "full"):
        return [made.span]
    return []


def _waits_on(place: Placed, words: Sequence[KernelObject | Span]) -> bool:
    operation = place.operation
    if operation.op is not Op.BARRIER_WAIT:
        return False
    barrier = operation.receiver
    if barrier is None:
        return any(word in words for word in _words_in(place))
    return barrier in words or (not barrier.class_name and barrier.span in words)


def _words_in(place: Placed) -> list[KernelObject | Span]:
    """Return the barrier, or the buffer of raw words, that an instruction is given."""
    pointer = place.operation.arguments[0] if place.operation.arguments else None
    if pointer is None:
        return []
    barriers = [target for target in objects_in(pointer) if target.kind in BARRIERS]
    return [*barriers, *buffers_in(pointer)]


def _may_be_once(view: KernelView, init: Placed, loop: Loop) -> bool:
    """Tell whether a condition may let the init through in one turn of the loop only."""
    for branch in init.branches_in(loop):
        if view.reach is None:
            return True
        outcome = view.reach.condition(branch.condition)
        if outcome.maybe and outcome.unsure in (Unsure.UNIFORM, Unsure.UNKNOWN):
            return True
    return False


def _is_set_up_afresh(
    inside: Sequence[Placed], init: Placed, waits: Sequence[Placed], loop: Loop
) -> bool:
    """Tell whether all threads meet before and after the init, and phases start again."""
    order = {id(place): index for index, place in enumerate(inside)}
    here = order[id(init)]
    syncs = [order[id(place)] for place in inside if place.operation.op in _SYNCS]
    uses = [order[id(place)] for place in waits]
    after = [use for use in uses if use > here]
    published = any(here < sync < min(after) for sync in syncs) if after else False
    retired = any(sync > max(uses) or sync < here for sync in syncs)
    return published and retired and all(_starts_again(inside, wait, loop) for wait in waits)


def _starts_again(inside: Sequence[Placed], wait: Placed, loop: Loop) -> bool:
    """Tell whether the phase of a wait starts again in each turn of the loop, or may do so."""
    phase = wait.operation.argument(1, "phase")
    if phase is None or isinstance(phase, Const):
        return True
    return not any(_is_carried(inside, variable, loop) for variable in variables_in(phase))


def _is_carried(inside: Sequence[Placed], variable: Variable, loop: Loop) -> bool:
    """Tell whether a variable is the phase of a state that outlives a turn of the loop."""
    if "." not in variable.name or loop.span.start <= variable.declared < loop.span.end:
        return False
    name = variable.name.partition(".")[0]
    return not any(
        place.operation.name == "init"
        and place.operation.receiver is not None
        and place.operation.receiver.name == name
        for place in inside
    )
