"""TX108: the handoffs of a kernel, run, come to a stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.blame import Blame, Cause, Signaller, blame
from tirx_lens.protocol.program import Meet
from tirx_lens.protocol.simulated import at_other_sizes, simulated
from tirx_lens.protocol.story import story
from tirx_lens.protocol.wording import (
    family_name,
    meeting_name,
    phase_name,
    role_name,
    wants,
    word_name,
)
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.histories import told
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.protocol.history import History

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
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                load = PipelineState(4, phase=1)
                for k in range(16):
                    empty.wait(load.stage, load.phase){mark}
                    full.arrive(load.stage, 128)
                    Tx.copy_async(
                        stages[load.stage, :],
                        A[k * 64 : k * 64 + 64],
                        dispatch="tma_auto",
                        mbar=full.ptr_to([load.stage]),
                    )
                    load.advance()
    else:
        read = PipelineState(4, phase=0)
        row = T.alloc_local((64,), "float16")
        for k in range(16):
            full.wait(read.stage, read.phase)
            Tx.copy(row[:], stages[read.stage, :])
{release}
"""
_RELEASE = """\
            empty.arrive(read.stage)
            read.advance()
"""
_LATE = """\
            read.advance()
            empty.arrive(read.stage)
"""
_MEETING = """
    pool = T.SMEMPool()
    ready = MBarrier(pool, 1)
    ready.init(128)
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 0:
        {first}
        {then}
    else:
        ready.wait(0, 0){mark}
        T.cuda.cta_sync()
"""
_MEET, _ARRIVE = "T.cuda.cta_sync()", "ready.arrive(0)"


class HandoffDeadlock(Rule):
    """The kernel's handoffs, run in small, stop: some role waits for an arrival that never comes.

    ## What it does
    Follows every role of the kernel and runs them together: barriers count arrivals and bytes and
    end phases as the hardware does, TMA loads and MMAs finish some time after they are issued,
    meetings wait for all their threads. Where the outcome depends on who is faster, the other
    order is run, too (a stop in that order alone is a warning). When all roles that are left wait,
    it tells who waits where, for which slot and phase, what that phase still wants, and how it came
    to that, step by step.

    A kernel that runs well is also run at other sizes, where an argument of its builder decides how
    often its ring goes round: with one round less than the ring has slots, as many, one more. What
    stops there is told as information: the author may not want those sizes.

    It speaks only where no other rule has found the mistake itself, and says nothing of kernels
    that it cannot follow.

    ## Why it is bad
    The kernel hangs, and with it the process, until it is killed.

    ## Example
    ```python
    for k in range(K_TILES):
        full.wait(read.stage, read.phase)
        Tx.copy(row[:], stages[read.stage, :])
        read.advance()
        empty.arrive(read.stage)  # gives back the next stage, not the one that was read
    ```

    ## Use instead
    ```python
    for k in range(K_TILES):
        full.wait(read.stage, read.phase)
        Tx.copy(row[:], stages[read.stage, :])
        empty.arrive(read.stage)
        read.advance()
    ```

    ## When not to
    Loops over the tiles of a scheduler run a few times, the same number in every role; loops whose
    bounds only the caller knows run a fixed number of times. A kernel that relies on another
    relation between them may be right all the same.

    ## References
    - PTX ISA, mbarrier: phase of the mbarrier object; mbarrier.try_wait; bar.sync
    """

    code: ClassVar[str] = "TX108"
    name: ClassVar[str] = "handoff-deadlock"
    levels: ClassVar[str] = "error; warning: in another order; information: at another size"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK,)

    VALID = (
        in_finished_kernel(_RING.format(mark="", release=_RELEASE)),
        in_finished_kernel(_MEETING.format(first=_ARRIVE, then=_MEET, mark="")),
        # Not finished yet: who gives the stages back may still be typed.
        in_finished_kernel(_RING.format(mark="", release=_LATE)).rpartition("\n\n\n")[0],
    )
    INVALID = (
        # Whether the stage that is given back too early is waited for by then is a matter of speed.
        Invalid(
            in_finished_kernel(_RING.format(mark="  # <-", release=_LATE)),
            severity=Severity.WARNING,
        ),
        Invalid(in_finished_kernel(_MEETING.format(first=_MEET, then=_ARRIVE, mark="  # <-"))),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:  # noqa: ARG002
        """Say nothing: what the text alone shows, other rules say."""
        yield from ()

    def check_history(self, view: KernelView) -> Iterator[Finding]:
        """Tell of a run that stops."""
        run = simulated(view)
        history = run.history if is_finished(view) else None
        if history is None:
            return
        if not history.blocked:
            other = at_other_sizes(view)
            there = other.simulated.history if other is not None else None
            if other is not None and there is not None and there.blocked:
                yield self._finding(view, there, Severity.INFORMATION, f"With {other.size}: ")
            return
        if run.is_plain:
            yield self._finding(view, history, Severity.ERROR, "")
        else:
            when = "In an order of events that nothing rules out: "
            yield self._finding(view, history, Severity.WARNING, when)

    def _finding(
        self, view: KernelView, history: History, severity: Severity, when: str
    ) -> Finding:
        found = blame(history)
        message = when + _message(view, history, found)
        related = told(story(history))
        return self.finding(severity, message, found.blocked.step.at, related=related)


def _message(view: KernelView, history: History, found: Blame) -> str:
    blocked, program = found.blocked, history.program
    who = role_name(program, blocked.role)
    if found.cause is Cause.SPIN:
        return (
            f"{who} never leaves this loop: it does not move on to the next tile. Call "
            "`next_tile()` in it"
        )
    if blocked.word is None:
        step = blocked.step
        where = meeting_name(step.meeting) if isinstance(step, Meet) else "this barrier"
        return (
            f"{who} never gets past {where}: {blocked.pending} more threads would have to come, "
            "and they wait elsewhere or have left. The kernel hangs"
        )
    word = word_name(program, blocked.word)
    asked = f"{who} waits here at {word} for {phase_name(blocked.phase)}, and never goes on"
    why = wants(history, blocked)
    match found.cause:
        case Cause.NOBODY:
            return f"{asked}: {why}, and nobody ever arrives there. The kernel hangs"
        case Cause.FINISHED:
            signals = " and ".join(_times(history, one) for one in found.signallers)
            return f"{asked}: {why}, and none is left ({signals}). Let both sides run equally often"
        case Cause.LAPPED:
            return (
                f"{asked}: {why}. Nothing makes those who arrive there wait for this role; let it "
                "tell them when it has passed"
            )
        case Cause.OVERRUN:
            return f"{asked}: {why}, so that the phase cannot end. Arrivals and bytes must add up"
    return f"{asked}: {why}. {_circle(view, history, found)}"


def _times(history: History, one: Signaller) -> str:
    who = role_name(history.program, one.role)
    times = "once" if one.done == 1 else f"{one.done} times"
    return f"{who} arrives there {times}"


def _circle(view: KernelView, history: History, found: Blame) -> str:
    program = history.program
    late = [one for one in found.signallers if one.step and one.blocked]
    if not late or late[0].step is None or late[0].blocked is None:
        return "The kernel hangs"
    other = late[0].blocked
    alike = {family_name(program, one.role) for one in late}
    several = len(late) > 1 and len(alike) == 1
    who = alike.pop() if several else role_name(program, late[0].role)
    if other.word is not None:
        where = f"{word_name(program, other.word)} for {phase_name(other.phase)}"
    else:
        step = other.step
        where = meeting_name(step.meeting) if isinstance(step, Meet) else "a barrier"
    return (
        f"Line {view.line(late[0].step.at)} would arrive there, but {who} waits itself on line "
        f"{view.line(other.step.at)}, at {where}. The kernel hangs"
    )
