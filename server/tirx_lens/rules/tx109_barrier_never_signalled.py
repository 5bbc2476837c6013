"""TX109: a barrier is waited for that nobody signals, or used that nobody initialised."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import Apply, Const, Operator, Variable, constant_int
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.balance import Imbalance, Trouble, imbalance, listed
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.handoffs import Handoff, Handoffs, handoffs, variables_in
from tirx_lens.rules.facts.nesting import Placed, turns
from tirx_lens.rules.facts.phases import phase_offset
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation

_NO_INIT = ("T.ptx.mbarrier.arrive", "T.ptx.tcgen05.commit", "T.ptx.cp.async.bulk.")
"""Instructions that take a pointer to a barrier and surely do not initialise it."""

_WORK = (Op.COPY, Op.COPY_ASYNC, Op.GEMM_ASYNC, Op.TILE_OP)
_INSTRUCTIONS = (
    "T.ptx.cp.",
    "T.ptx.tcgen05.",
    "T.ptx.mma.",
    "T.ptx.wgmma.",
    "T.ptx.ld",
    "T.ptx.st",
)


class BarrierNeverSignalled(Rule):
    """A barrier is waited for and nothing arrives at it, or it is used and never initialised.

    ## What it does
    Finds `wait` on a barrier at which no thread or commit of the kernel ever arrives, and barriers
    that are used though nothing initialises them. TMA copies that report to a barrier by `mbar=`
    bring bytes; unless somebody arms it with an `arrive`, these end no phase either. Where every
    role can be followed to its end, each slot of a ring is looked at by itself.

    ## Why it is bad
    A phase of an mbarrier ends by arrivals alone. Without any, a wait for the first phase never
    returns: the kernel hangs and the process has to be killed. (A wait for the phase *before* the
    first, with phase 1, passes: a ring's producer passes once for each slot, then hangs.) An
    mbarrier word that nobody initialised holds what shared memory held before; the first use of it
    fails the launch. TVM compiles both without a word.

    ## Example
    ```python
    done = MBarrier(pool, 1)
    done.init(128)
    if wg_id == 0:
        done.wait(0, 0)  # and nowhere `done.arrive(0)`
    ```

    ## Use instead
    ```python
    if wg_id == 1:
        produce()
        done.arrive(0)
    else:
        done.wait(0, 0)
    ```

    ## When not to
    An arrival under a guard that the text does not decide, a `ptr_to` that is passed on, a view in
    another CTA, and any function whose body is not known may signal; such barriers are not
    reported. A `Pipeline` initialises its barriers itself. Of kernels that move no data, and of
    those that initialise nothing and hold one side of a handoff only, nothing is said: they are
    fragments.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier, phase of the
      mbarrier object*
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, class `MBarrier`
    """

    code: ClassVar[str] = "TX109"
    name: ClassVar[str] = "barrier-never-signalled"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK,)

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            done.init(128)
            pool.commit()
            T.cuda.cta_sync()
            if wg_id == 1:
                done.arrive(0)
            else:
                done.wait(0, 0)
        """),
        # Signalled by a copy, by a commit of a raw pointer, from another CTA; initialised raw.
        in_kernel("""
            pool = T.SMEMPool()
            pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
            far = MBarrier(pool, 1)
            raw = TMABar(pool, 1)
            As = pool.alloc((2, 64, 64), "float16")
            far.init(1)
            pool.commit()
            if wg_id == 0 and warp_id == 0:
                if T.cuda.elect_sync():
                    T.ptx.mbarrier.init.shared.b64(raw.ptr_to([0]), T.uint32(1))
            T.cuda.cta_sync()
            view = far.remote_view(0)
            if wg_id == 0 and warp_id == 0:
                if T.cuda.elect_sync():
                    pipe.full.arrive(0, 8192)
                    Tx.copy_async(As[0, :, :], A[0:4096], dispatch="tma_auto",
                                  mbar=pipe.full.ptr_to([0]))
                    T.ptx["tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"](
                        pipe.empty.ptr_to([0]))
                    T.ptx.mbarrier.arrive.expect_tx.shared.b64(raw.ptr_to([0]), 64)
            if wg_id == 1:
                pipe.full.wait(0, 0)
                pipe.empty.wait(0, 0)
                far.wait(0, 0)
                raw.wait(0, 0)
        """),
        # The phase before the first: passes once, or once a slot.
        in_kernel("""
            pool = T.SMEMPool()
            room = MBarrier(pool, 4)
            room.init(128)
            pool.commit()
            T.cuda.cta_sync()
            load = PipelineState(4, phase=1)
            for k in range(4):
                room.wait(load.stage, load.phase)
                load.advance()
        """),
        # A function that may do anything; the words taken out of the wrapper.
        "def signal_all():\n    T.ptx.mbarrier.arrive(0)\n\n\n"
        + in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            pool.commit()
            T.cuda.cta_sync()
            signal_all()
            done.wait(0, 0)
        """),
        in_kernel("""
            pool = T.SMEMPool()
            done = MBarrier(pool, 1)
            pool.commit()
            T.cuda.cta_sync()
            word = done.buf
            T.ptx.mbarrier.arrive.shared.b64(word.ptr_to([0]))
            done.wait(0, 0)
        """),
        # Where the host leaves one side out.
        """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import MBarrier


def build(OVERLAP):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        done = MBarrier(pool, 1)
        done.init(128)
        pool.commit()
        T.cuda.cta_sync()
        if OVERLAP:
            done.wait(0, 0)

    return kernel
""",
    )

    INVALID = (
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                done = MBarrier(pool, 1)
                done.init(128)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 0:
                    done.wait(0, 0)  # <-
                    Tx.wg.copy(A[0:128], A[128:256])
            """)
        ),
        # A ring whose stages are never given back; a pipeline's side, in a T.inline function.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="mbar", init_empty=128)
                pool.commit()
                T.cuda.cta_sync()

                @T.inline
                def room(bar, state):
                    bar.wait(state.stage, state.phase)  # <-

                state = PipelineState(2, phase=1)
                if T.filter(lane_id, wg_id == 1 and warp_id == 0 and T.ptx.elect_sync()):
                    for k in T.serial(16):
                        room(pipe.empty, state)
                        Tx.copy(A[0:64], A[64:128])
                        pipe.full.arrive(state.stage, 64)
                        state.advance()
            """)
        ),
        # Nobody arms what the copy reports to; no thread gets to the arrival.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 1)
                done = MBarrier(pool, 1)
                As = pool.alloc((64, 64), "float16")
                full.init(1)
                done.init(128)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        Tx.copy_async(As, A[0:4096], dispatch="tma_auto", mbar=full.ptr_to([0]))
                elif wg_id == 1:
                    full.wait(0, 0)  # <-
                    done.wait(0, 0)  # <-
                    if wg_id == 0:
                        done.arrive(0)
            """)
        ),
        # Never initialised: waited for, armed, given to a copy.
        Invalid(
            in_finished_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 1)  # <-
                done = TCGen05Bar(pool, 1)  # <-
                As = pool.alloc((64, 64), "float16")
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    if T.cuda.elect_sync():
                        full.arrive(0, 8192)
                        Tx.copy_async(As, A[0:4096], dispatch="tma_auto", mbar=full.ptr_to([0]))
                        done.arrive(0)
                full.wait(0, 0)
                done.wait(0, 0)
            """)
        ),
        # The stages of the consumer's state are one fewer than the ring has: slot 3 stays full.
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
                    if T.filter(warp_id, warp_id == 0) and T.cuda.elect_sync():
                        load = PipelineState(4, phase=1)
                        for k in range(16):
                            empty.wait(load.stage, load.phase)  # <-
                            full.arrive(load.stage, 64)
                            load.advance()
                else:
                    read = PipelineState(3, phase=0)
                    for k in range(16):
                        full.wait(read.stage, read.phase)
                        Tx.wg.copy(A[0:128], A[128:256])
                        empty.arrive(read.stage)
                        read.advance()
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for what ends the phases of each barrier, and for what begins the first."""
        found = handoffs(view)
        if found.is_open or not any(map(_works, found.program)) or not is_finished(view):
            return
        fragment, unreached = _is_fragment(found), _unreached(view)
        for handoff in found.barriers:
            if handoff.made is None or handoff.made.is_chosen:
                continue
            if not _may_be_initialised(handoff) and _uses(handoff):
                if not fragment:
                    yield self._uninitialised(view, handoff)
            elif not _may_be_signalled(handoff, unreached):
                yield from self._unsignalled(found, handoff, unreached)

    def check_run(self, view: KernelView) -> Iterator[Finding]:
        """Look for a slot that is waited for while only others are signalled."""
        found = imbalance(view)
        if found is not None and found.trouble is Trouble.NEVER and is_finished(view):
            yield self._wrong_slot(found)

    def _wrong_slot(self, found: Imbalance) -> Finding:
        barrier, wait = found.handoff.barrier, found.shown.operation
        arrivals = [place.operation for place in found.handoff.arrivals]
        others = listed(found.signalled)
        where = f"only {others} gets arrivals" if others else "no thread arrives there"
        message = (
            f"this waits at slot {found.slot} of `{barrier.name}`{found.run}, and {where}: the "
            "phase never ends and the wait never returns. Both sides have to go through the same "
            "slots: as many stages, one `advance()` for each use, the stage for the slot"
        )
        related = [Related(barrier.span, f"`{barrier.name}` is made here")]
        related += [Related(arrival.span, "arrives here") for arrival in arrivals]
        return self.finding(
            Severity.ERROR, message, wait.span, related=[*related, *calls_around(wait)]
        )

    def _uninitialised(self, view: KernelView, handoff: Handoff) -> Finding:
        barrier, use = handoff.barrier, _uses(handoff)[0].operation
        message = (
            f"`{barrier.name}` is used (line {view.line(use.span)}) and nothing initialises it: "
            "its words hold what shared memory held before, and the first use of them fails the "
            f"launch. Call `{barrier.name}.init(count)` at the top level, before the CTA-wide "
            "barrier above the role branches"
        )
        related = [Related(use.span, "the first use"), *calls_around(use)]
        return self.finding(Severity.ERROR, message, barrier.span, related=related)

    def _unsignalled(
        self, found: Handoffs, handoff: Handoff, unreached: set[int]
    ) -> Iterator[Finding]:
        barrier = handoff.barrier
        for wait in handoff.waits:
            chosen = wait.is_chosen or id(wait.operation) in unreached
            if chosen or _passes(found, handoff, wait):
                continue
            if handoff.arrivals:
                why = "no thread reaches an `arrive` of it"
            elif handoff.copies:
                why = (
                    "the copies that report to it bring bytes, which are no arrivals, and no "
                    "`arrive` arms it"
                )
            else:
                why = "nothing in the kernel arrives at it: no `arrive`, no copy, no commit"
            message = (
                f"this waits for `{barrier.name}`, and {why}. The phase never ends and the wait "
                "never returns. Signal it where what it stands for is done"
            )
            related = [Related(barrier.span, f"`{barrier.name}` is made here")]
            related += [Related(p.operation.span, "no thread gets here") for p in handoff.arrivals]
            related += [Related(p.operation.span, "brings bytes") for p in handoff.copies]
            yield self.finding(
                Severity.ERROR,
                message,
                wait.operation.span,
                related=related + calls_around(wait.operation),
            )
            return


def _works(place: Placed) -> bool:
    """Tell whether an operation moves or computes anything."""
    return place.operation.op in _WORK or place.operation.name.startswith(_INSTRUCTIONS)


def _is_fragment(found: Handoffs) -> bool:
    """Tell whether a kernel is a fragment: nothing is initialised, and handoffs have one side."""
    if any(handoff.inits or handoff.pipeline is not None for handoff in found.barriers):
        return False
    return not all(h.waits and _may_be_signalled(h, set()) for h in found.barriers)


def _uses(handoff: Handoff) -> list[Placed]:
    places = (*handoff.waits, *handoff.arrivals, *handoff.copies, *handoff.remotes)
    return [place for place in places if not place.is_chosen]


def _may_be_initialised(handoff: Handoff) -> bool:
    if handoff.inits or handoff.pipeline is not None or not handoff.barrier.class_name:
        return True
    if len(handoff.pointers) > len(handoff.copies) + len(handoff.elsewhere):
        return True
    return any(not p.operation.name.startswith(_NO_INIT) for p in handoff.elsewhere)


def _may_be_signalled(handoff: Handoff, unreached: set[int]) -> bool:
    """Tell whether anything may arrive at a barrier.

    Copies to a TMA barrier report bytes, and bytes alone end no phase: someone has to arm it.
    """
    signals = [*handoff.arrivals, *handoff.remotes, *handoff.elsewhere]
    armed_elsewhere = handoff.barrier.kind is not ObjectKind.TMA_BARRIER
    if armed_elsewhere or len(handoff.pointers) > len(handoff.copies):
        signals += [*handoff.copies, *handoff.pointers]
    elif not all(_is_tma(place.operation) for place in handoff.copies):
        return True
    return any(id(place.operation) not in unreached for place in signals)


def _is_tma(copy: Operation) -> bool:
    dispatch = copy.argument(99, "dispatch")
    grouped = dict(copy.keywords).keys() & {"cta_group", "cta_mask", "multicast"}
    return isinstance(dispatch, Const) and str(dispatch.value).startswith("tma") and not grouped


def _unreached(view: KernelView) -> set[int]:
    """Return the operations that no thread gets to."""
    reached = view.reach.reached if view.reach is not None else ()
    return {id(r.operation) for r in reached if not r.participants.possible}


def _passes(found: Handoffs, handoff: Handoff, wait: Placed) -> bool:
    """Tell whether a wait may ask only for the phase before the first, which is over.

    With phase 1 it does; by a state that starts at phase 1, once for each stage.
    """
    phase = wait.operation.argument(1, "phase")
    offset = phase_offset(handoff)
    if phase is None or offset is None:
        return True
    states = [found.state_of(variable) for variable in variables_in(phase)]
    first = _first(phase, found)
    if first is not None and (first ^ offset) & 1 == 0:
        return False
    if not states:  # a constant, or something that the text does not tell
        return True
    stages = 1
    if states[0] is not None:
        stages = constant_int(states[0].argument(0, "depth")) or 0
    turned = 1
    for loop in wait.loops:
        values = turns(loop)
        turned *= len(values) if values is not None else stages + 1
    return not stages or turned <= stages


def _first(phase: Expr, found: Handoffs) -> int | None:
    """Return the value that a phase has at first; None when the text does not say."""
    match phase:
        case Const():
            return constant_int(phase)
        case Variable():
            state = found.state_of(phase)
            return constant_int(state.argument(1, "phase")) if state is not None else None
        case Apply(operator=Operator.BIT_XOR, operands=(left, right)):
            one, other = _first(left, found), _first(right, found)
            return one ^ other if one is not None and other is not None else None
    return None
