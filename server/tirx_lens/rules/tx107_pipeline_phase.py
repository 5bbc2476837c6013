"""TX107: a role starts on the wrong phase of a barrier."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import Const
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.balance import Imbalance, Trouble, imbalance
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.first_waits import Content, FirstRound, Signals, Wait, first_round
from tirx_lens.rules.facts.handoffs import Handoffs, handoffs, variables_in
from tirx_lens.rules.facts.nesting import repeats
from tirx_lens.rules.facts.passing import passes_wrongly
from tirx_lens.rules.facts.phases import start_of_state, state_asked
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.span import Span

_RING = """
    pool = T.SMEMPool()
    full = TMABar(pool, 4)
    empty = MBarrier(pool, 4{offset})
    stages = pool.alloc((4, 64), "float16")
    full.init(1)
    empty.init(128)
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                load = PipelineState(4, {load})
                for k in range(16):
                    empty.wait(load.stage, {asked}){producer}
                    full.arrive(load.stage, 128)
                    Tx.copy_async(
                        stages[load.stage, :],
                        A[k * 64 : k * 64 + 64],
                        dispatch="tma_auto",
                        mbar=full.ptr_to([load.stage]),
                    )
                    load.advance()
    else:
        read = PipelineState(4, {read})
        for k in range(16):
            full.wait(read.stage, read.phase){consumer}
            empty.arrive(read.stage)
            read.advance()
"""

_DONE = """
    pool = T.SMEMPool()
    done = TCGen05Bar(pool, 1)
    done.init(1)
    pool.commit()
    T.ptx.fence.mbarrier_init()
    T.cuda.cta_sync()
    if warp_id == 0 and wg_id == 0:
        if T.ptx.elect_sync():
            done.arrive(0)
    done.wait(0, {phase}){mark}
"""

_TILES = """
    tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
    tiles.init(bx)
    pool = T.SMEMPool()
    acc = Pipeline(pool, 1, full="tcgen05", empty="mbar", init_empty=128)
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                free = PipelineState(1, phase={free})
                while tiles.valid():
                    acc.empty.wait(0, free.phase){room}
                    free.advance()
                    acc.full.arrive(0)
                    tiles.next_tile()
    else:
        ready = PipelineState(1)
        ready.init({ready})
        while tiles.valid():
            acc.full.wait(0, ready.phase){data}
            ready.advance()
            acc.empty.arrive(0)
            tiles.next_tile()
"""


def _ring(**parts: str) -> str:
    given = {"offset": "", "asked": "load.phase", "producer": "", "consumer": ""} | parts
    return _RING.format(**given)


class PipelinePhase(Rule):
    """A role's first wait on a barrier passes when it must block, or blocks when it must pass.

    ## What it does
    Works out which parity the first wait of each role asks for: the `phase` a `PipelineState`
    starts with, a `phase_offset` or `empty_phase_offset` of the barrier, `phase ^ 1`, literals, and
    the turns of a prologue. It reports two mistakes:

    - the wait for room in a ring blocks, though all that could end it comes after the data that
      this same wait holds back;
    - the wait for data passes, though nothing has been signalled yet.

    Where every role can be followed to its end, it also reports waits that ask for one parity again
    while their slot goes from phase to phase: a literal phase in a loop, a state that is advanced
    twice for one use, or one with more stages than the ring.

    ## Why it is bad
    A wait names a parity, and returns when the phase of that parity is over. On a barrier that has
    ended no phase, the one "before" the first counts as over: parity 1 passes at once, parity 0
    blocks. So a producer starts at 1, for the ring is empty, and a consumer at 0. On an H200 a
    producer that starts at 0 hangs, and a consumer that starts at 1 reads stages that nobody has
    filled, after which the launch fails.

    ## Example
    ```python
    load = PipelineState(DEPTH, phase=0)
    for k in range(K_TILES):
        empty.wait(load.stage, load.phase)  # nobody has given back anything
    ```

    ## Use instead
    ```python
    load = PipelineState(DEPTH, phase=1)
    for k in range(K_TILES):
        empty.wait(load.stage, load.phase)
    ```

    ## Fix
    Changes the phase that the state starts with, or the literal. It is safe where the state's phase
    is asked for at this one barrier only.

    ## When not to
    A producer that fills its ring before it first waits for room starts that wait at 0, and a ring
    whose slots are all given back beforehand does too: both are left alone. So are kernels that
    leave a loop or a function early, that store to a state's phase, or that hand a barrier to a
    function whose body is not known.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier.test_wait /
      mbarrier.try_wait*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, classes `PipelineState` and `MBarrier`,
      parameter `phase_offset`
    """

    code: ClassVar[str] = "TX107"
    name: ClassVar[str] = "pipeline-phase"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (
        Symptom.DEADLOCK,
        Symptom.CRASH,
        Symptom.WRONG_ROWS,
        Symptom.NAN,
    )
    fix_title: ClassVar[str | None] = "Start at the other phase"

    VALID = (
        in_kernel(_ring(load="phase=1", read="phase=0")),
        # Turned around twice: by the barrier, by the wait.
        in_kernel(_ring(load="0", read="0", offset=", phase_offset=1")),
        in_kernel(_ring(load="0", read="0", asked="load.phase ^ 1")),
        in_kernel(_DONE.format(phase=0, mark="")),
        # Two parities in turns, by two waits; one parity of a barrier that is signalled once.
        in_finished_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            once = MBarrier(pool, 1)
            done.init(256)
            once.init(256)
            pool.commit()
            T.cuda.cta_sync()
            once.arrive(0)
            for pair in range(8):
                once.wait(0, 0)
                done.arrive(0)
                done.wait(0, 0)
                done.arrive(0)
                done.wait(0, 1)
            Tx.copy(A[0:64], A[64:128])
        """),
        in_kernel(_TILES.format(free=1, ready=0, room="", data="")),
        # A prologue fills the ring without waiting: the first wait for room must block.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            empty = MBarrier(pool, 2)
            stages = pool.alloc((2, 64), "float16")
            full.init(1)
            empty.init(128)
            pool.commit()
            T.ptx.fence.mbarrier_init.release.cluster()

            @T.inline
            def fetch(k, stage):
                full.arrive(stage, 128)
                Tx.copy_async(
                    stages[stage, :],
                    A[k * 64 : k * 64 + 64],
                    dispatch="tma_auto",
                    mbar=full.ptr_to([stage]),
                )

            T.cuda.cta_sync()
            if wg_id == 1:
                if T.filter(warp_id, warp_id == 0) and T.cuda.elect_sync():
                    load = PipelineState(2, phase=0)
                    for k in range(2):
                        fetch(k, k)
                    for k in range(14):
                        empty.wait(load.stage, load.phase)
                        fetch(k + 2, load.stage)
                        load.advance()
            else:
                read = PipelineState(2, phase=0)
                for k in range(16):
                    full.wait(read.stage, read.phase)
                    empty.arrive(read.stage)
                    read.advance()
        """),
    )

    INVALID = (
        # The producer blocks at once.
        Invalid(
            in_finished_kernel(_ring(load="phase=0", read="phase=0", producer="  # <-")),
            replacement=in_finished_kernel(_ring(load="phase=1", read="phase=0")),
        ),
        # The consumer passes at once.
        Invalid(
            in_finished_kernel(_ring(load="1", read="1", consumer="  # <-")),
            replacement=in_finished_kernel(_ring(load="1", read="0")),
        ),
        # The barrier turns the phase around, and so does its author; and so does the wait.
        Invalid(
            in_finished_kernel(
                _ring(load="phase=1", read="0", offset=", phase_offset=1", producer="  # <-")
            ),
            replacement=in_finished_kernel(
                _ring(load="phase=0", read="0", offset=", phase_offset=1")
            ),
        ),
        Invalid(
            in_finished_kernel(
                _ring(load="phase=1", read="0", asked="load.phase ^ 1", producer="  # <-")
            ),
            replacement=in_finished_kernel(_ring(load="phase=0", read="0", asked="load.phase ^ 1")),
        ),
        # A literal, after the commit that it ought to wait for.
        Invalid(
            in_finished_kernel(_DONE.format(phase=1, mark="  # <-")),
            replacement=in_finished_kernel(_DONE.format(phase=0, mark="")),
        ),
        # A Pipeline: commits hand an accumulator over, a warpgroup gives it back.
        Invalid(
            in_finished_kernel(_TILES.format(free=0, ready=0, room="  # <-", data="")),
            replacement=in_finished_kernel(_TILES.format(free=1, ready=0, room="", data="")),
        ),
        Invalid(
            in_finished_kernel(_TILES.format(free=1, ready=1, room="", data="  # <-")),
            replacement=in_finished_kernel(_TILES.format(free=1, ready=0, room="", data="")),
        ),
        # One parity for all rounds; a state that turns twice, or every second time.
        Invalid(in_finished_kernel(_ring(load="1", read="0", asked="1", producer="  # <-"))),
        Invalid(
            in_finished_kernel(_TILES.format(free=1, ready=0, room="", data="  # <-")).replace(
                "ready.advance()", "ready.advance()\n            ready.advance()"
            )
        ),
        Invalid(
            in_finished_kernel(_TILES.format(free=1, ready=0, room="", data="  # <-")).replace(
                "ready = PipelineState(1)", "ready = PipelineState(2)"
            )
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Follow the first round of every role."""
        first = first_round(view)
        if first is None or not is_finished(view):
            return
        found = handoffs(view)
        said: set[Span] = set()  # a function that is called from two places says it once
        for finding in self._findings(found, first, view):
            if finding.span not in said:
                said.add(finding.span)
                yield finding

    def check_run(self, view: KernelView) -> Iterator[Finding]:
        """Look for waits at one slot that ask for one parity again and again."""
        found = imbalance(view)
        if found is not None and found.trouble is Trouble.STANDING and is_finished(view):
            yield self._standing(found)

    def _standing(self, found: Imbalance) -> Finding:
        wait, name = found.shown.operation, found.handoff.barrier.name
        parity = found.waiter.parity if found.waiter is not None else 0
        message = (
            f"{found.waits} waits at slot {found.slot} of `{name}`{found.run} ask for "
            f"{found.needed} of the {found.ended} phases that end there: this one asks for parity "
            f"{parity}, as the wait before it at this slot did. It returns at once while the next "
            "phase runs, and not at all once that is over. The parity has to flip each time that "
            "the slot comes round: one `advance()` for each use of the state, which has as many "
            "stages as the ring"
        )
        places = [
            Related(use.reached.operation.span, f"`{name}` is signalled here")
            for use in found.signals[:1]
        ]
        return self.finding(
            Severity.ERROR, message, wait.span, related=[*places, *calls_around(wait)]
        )

    def _findings(self, found: Handoffs, first: FirstRound, view: KernelView) -> Iterator[Finding]:
        for wait in first.stuck():
            yield from self._stuck(view, found, first, wait)
        if view.reach is not None:
            for wait in first.waits:
                if passes_wrongly(first, wait, view.reach):
                    yield self._passing(view, found, first, wait)

    def _stuck(
        self, view: KernelView, found: Handoffs, first: FirstRound, wait: Wait
    ) -> Iterator[Finding]:
        own = first.signals_of(wait.handoff)
        name = wait.handoff.barrier.name
        partner = _fed_by(first, wait, own)
        related = calls_around(wait.reached.operation)
        if partner is None:
            return
        data = partner.handoff.barrier.name
        message = (
            f"the first wait on `{name}` asks for parity 0 and blocks: all that arrives at "
            f"`{name}` waits for `{data}` first, and all that signals `{data}` comes after this "
            "wait, so the kernel hangs in its first round. Start at the other phase: parity 1 "
            "passes, because the phase before the first counts as over"
        )
        alike = first.waits_of(wait.handoff)
        freed = first.stuck(passing=alike)
        mended = not any(w.handoff in (wait.handoff, partner.handoff) for w in freed)
        places = [
            Related(place.operation.span, f"`{name}` gets arrivals here") for place in own.places
        ]
        yield self.finding(
            Severity.ERROR,
            message,
            wait.reached.operation.span,
            fix=_turned(view, found, wait) if mended else None,
            related=[*places, *related],
        )

    def _passing(self, view: KernelView, found: Handoffs, first: FirstRound, wait: Wait) -> Finding:
        own = first.signals_of(wait.handoff)
        name = wait.handoff.barrier.name
        what = {
            Content.BYTES: "it goes on to data that TMA has not delivered",
            Content.COMMIT: "it goes on while the tensor core still works",
        }[own.content]
        message = (
            f"the first wait on `{name}` asks for parity 1 and passes before anything is there: no "
            f"phase has ended yet, and the one before the first counts as over, so {what}. Start "
            "at the other phase: parity 0 blocks until the first phase is over"
        )
        places = [
            Related(place.operation.span, f"`{name}` is signalled here") for place in own.places
        ]
        return self.finding(
            Severity.ERROR,
            message,
            wait.reached.operation.span,
            fix=_turned(view, found, wait),
            related=[*places, *calls_around(wait.reached.operation)],
        )


def _fed_by(first: FirstRound, wait: Wait, own: Signals) -> Signals | None:
    """Return the data that a wait for room holds back, and that the room itself depends on."""
    for signals in first.signals:
        if signals.content <= own.content or not signals.is_known or not signals.places:
            continue
        if not all(first.comes_first(wait.reached, place) for place in signals.places):
            continue
        takers = first.waits_of(signals.handoff)
        if all(any(first.comes_first(t.reached, place) for t in takers) for place in own.places):
            return signals
    return None


def _turned(view: KernelView, found: Handoffs, wait: Wait) -> Fix | None:
    """Write the other phase where the wait gets its own from."""
    state = state_asked(found, wait.place)
    operation = wait.reached.operation
    if state is not None:
        made = found.makers[state].operation
        given, inside = start_of_state(found, state), made.span
        inits = [
            call.operation for call in found.calls.get(state, ()) if call.operation.name == "init"
        ]
        inside = inits[0].span if inits else inside
    else:
        given, inside = operation.argument(1, "phase"), operation.span
        if any(map(repeats, wait.reached.loops)):
            return None
    if not isinstance(given, Const) or not inside.contains(given.span):
        return None
    written = view.source.slice(given.span)
    if written not in ("0", "1"):
        return None
    other = "1" if written == "0" else "0"
    alone = state is None or not _is_asked_elsewhere(found, wait, f"{state.name}.phase")
    return Fix(
        f"Start `{state.name}` at phase {other}"
        if state is not None
        else f"Wait for phase {other}",
        Applicability.SAFE if alone else Applicability.UNSAFE,
        (Edit(given.span, other),),
    )


def _is_asked_elsewhere(found: Handoffs, wait: Wait, phase: str) -> bool:
    """Tell whether a state's phase is read for anything but waits on one barrier."""
    given = wait.reached.operation.argument(1, "phase")
    mine = set(variables_in(given)) if given is not None else set()
    for place in found.program:
        operation = place.operation
        if operation.op is Op.BARRIER_WAIT and operation.receiver == wait.handoff.barrier:
            continue
        values: list[Expr] = [*operation.arguments, *(value for _, value in operation.keywords)]
        if any(variable in mine for value in values for variable in variables_in(value)):
            return True
    return any(
        isinstance(part, Branch) and _reads(part.condition, phase)
        for place in found.program
        for part in place.around
    )


def _reads(condition: Expr, phase: str) -> bool:
    return any(variable.name == phase for variable in variables_in(condition))
