"""TX111: a barrier is used at a slot that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import Memory, memory_of, region_of, shape_of_buffer
from tirx_lens.model.expr import (
    Apply,
    Const,
    Expr,
    Item,
    Operator,
    Sequence,
    Slice,
    Variable,
    constant_int,
)
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.handoffs import Handoff, Handoffs, handoffs, variables_in
from tirx_lens.rules.facts.nesting import Placed, counts, turns
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.syntax.fold import compute
from tirx_lens.threads.describe import describe
from tirx_lens.threads.participants import Participants, Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.threads.reach import ReachMap

_LONGEST = 4096  # turns of a loop whose slots are tried one by one


class BarrierSlotOutOfRange(Rule):
    """A barrier is used at a slot past its depth.

    ## What it does
    Finds `wait`, `arrive` and `ptr_to` at a slot that the barrier does not have: a constant, an
    index computed from thread ids or from the variable of a loop with known bounds, or the stage of
    a `PipelineState` with more stages than the barrier has slots. Buffers in shared memory that are
    indexed by such a stage, or by constants, are held to the same.

    ## Why it is bad
    `TMABar(pool, 4)` allocates four mbarrier words. Slot 4 is whatever lies behind them in shared
    memory: the next barrier, or data. It was not initialised as this one, and nobody signals it, so
    a wait there hangs; an arrival corrupts what lies there. TVM does not check.

    ## Example
    ```python
    full = TMABar(pool, 4)
    for s in range(5):
        full.wait(s, 0)
    ```

    ## Use instead
    ```python
    full = TMABar(pool, 4)
    for s in range(4):
        full.wait(s, 0)
    ```

    ## When not to
    Slots that the text does not tell, and those under a branch that asks for the loop's variable,
    are not judged. A state with fewer stages than the barrier has slots wastes slots, no more.

    ## References
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `MBarrier`, parameter `depth`
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier*
    """

    code: ClassVar[str] = "TX111"
    name: ClassVar[str] = "barrier-slot-out-of-range"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.CRASH)

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 4)
            empty = MBarrier(pool, 4)
            state = PipelineState(4, phase=0)
            pair = PipelineState(2, phase=0)
            full.init(1)
            empty.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 0:
                for k in range(16):
                    full.wait(state.stage, state.phase)
                    empty.arrive(k % 4)
                    state.advance()
                for k in T.unroll(2, 4):
                    full.wait(k, 0)
                for k in range(4):
                    empty.wait(pair.stage, pair.phase)
                    pair.advance()
            elif warp_id == 0:
                for k in range(16):
                    if T.cuda.elect_sync():
                        full.arrive(k % 4, 64)
                    if k < 4:
                        empty.wait(k, 1)
        """),
        # Two buffers take turns while the ring goes round; a short walk; registers for each stage.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 4)
            pair = pool.alloc((2, 64), "float16")
            three = pool.alloc((3, 64), "float16")
            full.init(1)
            pool.commit()
            T.cuda.cta_sync()
            rows = T.alloc_local((2, 64), "float16")
            state = PipelineState(4, phase=0)
            for k in range(32):
                full.wait(state.stage, state.phase)
                Tx.wg.copy(pair[state.stage % 2, :], A[0:64])
                state.advance()
            once = PipelineState(4, phase=0)
            for k in range(3):
                Tx.wg.copy(three[once.stage, :], A[0:64])
                once.advance()
        """),
        # All rows of a buffer, and its last ones.
        in_kernel("""
            pool = T.SMEMPool()
            rows = pool.alloc((128, 64), "float16")
            pool.commit()
            Tx.wg.copy(rows[0:128, 0:64], A[0:64])
            Tx.wg.copy(rows[96:, :], A[0:64])
            Tx.wg.copy(rows[127, :], A[0:64])
        """),
        # A depth that is not known, an index that is not known.
        """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import MBarrier


def build(DEPTH, DEEP):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        some = MBarrier(pool, DEPTH)
        four = MBarrier(pool, 4)
        some.init(128)
        four.init(128)
        pool.commit()
        T.cuda.cta_sync()
        some.arrive(7)
        some.wait(7, 0)
        four.arrive(DEPTH)
        four.wait(DEPTH, 0)
        if DEEP:
            four.arrive(4)
            four.wait(4, 0)

    return kernel
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                DEPTH = 2
                pool = T.SMEMPool()
                full = TMABar(pool, DEPTH)
                full.init(1)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 0:
                    full.wait(DEPTH, 0)  # <-
                elif T.filter(lane_id, warp_id == 0 and lane_id == 0):
                    full.arrive(2, 64)  # <-
            """)
        ),
        # Pipelines, pointers, keywords, negative slots.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 3, full="tma", empty="tcgen05")
                pool.commit()
                T.cuda.cta_sync()
                pipe.empty.wait(stage=3, phase=1)  # <-
                pipe.full.wait(-1, 0)  # <-
                T.evaluate(pipe.full.ptr_to([4]))  # <-
            """)
        ),
        # Loops: one turn too many, a ring of another depth, inside a T.inline function.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 4)
                empty = MBarrier(pool, 4)
                full.init(1)
                empty.init(128)
                pool.commit()

                @T.inline
                def drain(stages):
                    for stage in T.unroll(stages + 1):
                        empty.wait(stage, 0)  # <-

                if wg_id == 1:
                    drain(4)
                else:
                    for k in T.serial(32):
                        full.wait(k % 8, k // 8 % 2)  # <-
                        empty.arrive(k % 4)
            """)
        ),
        # A stage, and the length of the ring besides.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                full.init(1)
                pool.commit()
                state = PipelineState(2, phase=0)
                for k in range(32):
                    full.wait(state.stage + 2, state.phase)  # <-
                    state.advance()
            """)
        ),
        # A slot for each warpgroup, of which there are two.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                done = MBarrier(pool, 1)
                done.init(128)
                pool.commit()
                T.cuda.cta_sync()
                if warp_id == 0:
                    done.wait(wg_id, 0)  # <-
            """)
        ),
        # The state has more stages than the barrier has slots.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                full.init(1)
                pool.commit()
                state = PipelineState(4, phase=0)
                for k in range(32):
                    full.wait(state.stage, state.phase)  # <-
                    state.advance()
            """)
        ),
        # Rows past the end of a buffer.
        Invalid(
            in_kernel("""
                ROWS = 128
                pool = T.SMEMPool()
                rows = pool.alloc((ROWS, 64), "float16")
                pool.commit()
                Tx.wg.copy(rows[1 : ROWS + 1, :], A[0:64])  # <-
                Tx.wg.copy(A[0:64], rows[ROWS, :])  # <-
            """)
        ),
        # The state and the barrier have four, the buffer has three.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 4)
                stages = pool.alloc((3, 64), "float16")
                full.init(1)
                pool.commit()
                state = PipelineState(4, phase=0)
                for k in range(32):
                    full.wait(state.stage, state.phase)
                    Tx.wg.copy(A[0:64], stages[state.stage, :])  # <-
                    state.advance()
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare each slot with the depth of its barrier."""
        found = handoffs(view)
        for handoff in found.barriers:
            depth = handoff.depth
            if depth is None:
                continue
            for place in (*handoff.waits, *handoff.arrivals, *handoff.pointers):
                if not place.is_chosen:
                    yield from self._check_slot(view.reach, found, handoff, place, depth)
        said: set[tuple[KernelObject, Span]] = set()
        for place in found.program:
            for finding, key in self._check_stages(found, place):
                if key not in said:
                    said.add(key)
                    yield finding

    def _check_stages(
        self, found: Handoffs, place: Placed
    ) -> Iterator[tuple[Finding, tuple[KernelObject, Span]]]:
        """Look for parts of shared buffers that a state with too many stages picks."""
        operation = place.operation
        if place.is_chosen or operation.created is not None or not place.given:
            return
        for value in (*operation.arguments, *(value for _, value in operation.keywords)):
            region = region_of(value) if isinstance(value, Item) else None
            shape = shape_of_buffer(region.buffer) if region is not None else None
            if region is None or shape is None or memory_of(region.buffer) is not Memory.SHARED:
                continue
            for index, extent in zip(region.indices, map(constant_int, shape), strict=False):
                end = _end_of(index)
                if end is not None and extent is not None and end > extent:
                    yield self._no_element(place, region.buffer, extent, end)
                if not isinstance(index, Variable) or not index.name.endswith(".stage"):
                    continue
                state = found.state_of(index)
                if state is None or extent is None:
                    continue
                beyond = _past_the_end(found, place, state, extent)
                if beyond is not None:
                    yield self._no_stage(place, region.buffer, extent, beyond)

    def _no_stage(
        self, place: Placed, buffer: KernelObject, extent: int, beyond: str
    ) -> tuple[Finding, tuple[KernelObject, Span]]:
        operation = place.operation
        has = f"slots 0 to {extent - 1}" if extent > 1 else "slot 0 alone"
        message = (
            f"`{buffer.name}` has {has}, and this uses {beyond}: what lies there in shared memory "
            "is the next allocation, which is read in its place or overwritten. Give the buffer as "
            "many stages as the state has"
        )
        related = [
            Related(buffer.span, f"`{buffer.name}` is made here with {extent} of them"),
            *calls_around(operation),
        ]
        finding = self.finding(Severity.ERROR, message, operation.span, related=related)
        return finding, (buffer, operation.span)

    def _no_element(
        self, place: Placed, buffer: KernelObject, extent: int, end: int
    ) -> tuple[Finding, tuple[KernelObject, Span]]:
        operation = place.operation
        has = f"0 to {extent - 1}" if extent > 1 else "0 alone"
        message = (
            f"`{buffer.name}` has indices {has} here, and this goes up to {end - 1}: what lies "
            "there in shared memory is something else, which is read in its place or overwritten"
        )
        related = [
            Related(buffer.span, f"`{buffer.name}` is made here"),
            *calls_around(operation),
        ]
        finding = self.finding(Severity.ERROR, message, operation.span, related=related)
        return finding, (buffer, operation.span)

    def _check_slot(
        self, reach: ReachMap | None, found: Handoffs, handoff: Handoff, place: Placed, depth: int
    ) -> Iterator[Finding]:
        slot = _slot(place)
        if slot is None:
            return
        outside = _outside(found, place, slot, depth)
        if outside is None and reach is not None:
            outside = _beyond_in_some_thread(reach, place, slot, depth)
        if outside is None:
            return
        name = handoff.barrier.name
        has = f"slots 0 to {depth - 1}" if depth > 1 else "slot 0 alone"
        message = (
            f"`{name}` has {has}, and this uses {outside}: what lies there in shared memory is "
            "not this barrier. A wait there never returns, an arrival corrupts what it hits. Keep "
            f"the slot below {depth}, or give the barrier more slots"
        )
        related = [Related(handoff.barrier.span, f"`{name}` is made here with {depth} slots")]
        yield self.finding(
            Severity.ERROR,
            message,
            place.operation.span,
            related=related + calls_around(place.operation),
        )


def _slot(place: Placed) -> Expr | None:
    operation = place.operation
    if operation.name != "ptr_to":
        return operation.argument(0, "stage")
    given = operation.argument(0, "idx")
    return given.items[0] if isinstance(given, Sequence) and len(given.items) == 1 else None


def _end_of(index: Expr) -> int | None:
    """Return where a constant index or slice ends; None where the text does not tell."""
    if isinstance(index, Slice):
        return constant_int(index.stop) if index.stop is not None else None
    number = constant_int(index)
    return number + 1 if number is not None else None


def _outside(found: Handoffs, place: Placed, slot: Expr, depth: int) -> str | None:
    """Say which slot past the depth a place surely uses; None when it uses none, or it may."""
    number = constant_int(slot)
    if number is not None:
        return None if 0 <= number < depth else f"slot {number}"
    variables = set(variables_in(slot))
    if len(variables) != 1:
        return None
    variable = variables.pop()
    state = found.state_of(variable)
    if state is not None and slot == variable:
        return _past_the_end(found, place, state, depth)
    if state is not None and variable.name.endswith(".stage"):
        first = _computed(slot, variable, 0)  # every state begins at stage 0
        outside = isinstance(first, int) and not 0 <= first < depth
        return f"slot {first} at stage 0 of `{state.name}`" if outside else None
    for loop in place.loops:
        values = turns(loop) if counts(loop, variable) else None
        asked = any(variable in variables_in(b.condition) for b in place.branches_in(loop))
        if values is not None and not asked and len(values) <= _LONGEST:
            slots = [_computed(slot, variable, value) for value in values]
            beyond = [s for s in slots if isinstance(s, int) and not 0 <= s < depth]
            return f"slot {beyond[0]}" if beyond else None
    return None


def _beyond_in_some_thread(reach: ReachMap, place: Placed, slot: Expr, depth: int) -> str | None:
    """Say which threads bring a slot past the depth: `full.wait(wg_id, ...)`."""
    if isinstance(slot, Const) or any(True for _ in variables_in(slot)):
        return None
    outcome = reach.condition(Apply(Operator.GREATER_EQUAL, (slot, Const(depth))))
    reached = reach.by_operation.get(id(place.operation)) if outcome.yes else None
    if reached is None:
        return None
    who = reached.participants
    beyond = who.possible & outcome.yes
    if not beyond or who.pick is Pick.SOME:
        return None
    those = describe(Participants(beyond, beyond, who.pick), reach.shape)
    return f"slot {depth} or more in {those}"


def _past_the_end(found: Handoffs, place: Placed, state: KernelObject, depth: int) -> str | None:
    """Say how far a state's stages go, if it has more than the barrier and walks through them."""
    stages = constant_int(state.argument(0, "depth"))
    if stages is None or stages <= depth:
        return None
    for step in found.program:
        moves = step.operation.op is Op.STATE_ADVANCE and step.operation.receiver == state
        if moves and step.loops and step.is_beside(place):
            walked = 1
            for loop in step.loops:
                values = turns(loop)
                walked *= len(values) if values is not None else stages
            if walked > depth:
                return f"slot {depth} when `{state.name}`, of {stages} stages, gets there"
    return None


def _computed(expr: Expr, variable: Variable, value: int) -> object:
    """Compute an index for one value of its variable; None when it cannot be."""
    if expr == variable:
        return value
    match expr:
        case Const(value=constant):
            return constant
        case Apply(operator=operator, operands=(left, right)):
            first, second = _computed(left, variable, value), _computed(right, variable, value)
            return None if first is None or second is None else compute(operator, first, second)
    return None
