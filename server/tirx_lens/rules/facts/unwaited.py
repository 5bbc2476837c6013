"""Handoffs between engines and threads in which one side does not wait for the other at all.

An engine says that it is done through a barrier; threads say so by arriving. Who uses what it hands
over without having waited for that barrier, or for one whose phases end after that one's, races
with it. Only waiting that is missing is seen here, not waiting for the wrong slot or phase.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of, region_of
from tirx_lens.model.expr import Variable, constant_int
from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.rules.facts.bulk import Direction
from tirx_lens.rules.facts.course import WRITES, apart, written_by
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.facts.handoffs import handoffs, variables_in
from tirx_lens.rules.facts.naming import naming
from tirx_lens.rules.facts.nesting import counts, turns
from tirx_lens.rules.facts.ordering import implied, signals, undecided
from tirx_lens.rules.facts.races import Found, Race
from tirx_lens.rules.facts.tmem import tmem_load, written_tmem
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.buffers import Region
    from tirx_lens.model.kernel import Loop
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.bulk import BulkCopy
    from tirx_lens.rules.facts.ordering import Signals
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap

_OPERANDS = ((1, "A"), (2, "B"))
_RAW = ("T.ptx.tcgen05.st", "T.ptx.tcgen05.mma", "T.ptx.tcgen05.cp", "T.ptx.tcgen05.ld")
_NO_ACCESS = (Op.POOL_ALLOC, Op.CONSTRUCT, Op.POOL_COMMIT)


@dataclass(slots=True)
class _Uses:
    """The accesses to one buffer, by indices into the reach map.

    `loads` are TMA loads into it, `mmas` those that write it (TMEM), `reads` threads' copies out of
    it and MMAs that take it as an operand. `is_known` is false where something else names it.
    """

    loads: list[int] = field(default_factory=list)
    mmas: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    is_known: bool = True


@dataclass(frozen=True)
class _Kernel:
    """What the questions below ask of a kernel."""

    view: KernelView
    reach: ReachMap
    signals: Signals
    uses: dict[KernelObject, _Uses]
    _told: dict[tuple[int, bool], frozenset[KernelObject]] = field(default_factory=dict)
    _waits: dict[tuple[frozenset[KernelObject], int], list[int]] = field(default_factory=dict)

    def at(self, index: int) -> Reached:
        return self.reach.reached[index]

    def threads(self, index: int) -> int:
        return self.at(index).participants.possible

    def signalled_by(self, threads: int, *, commits: bool) -> frozenset[KernelObject]:
        """Return the barriers on which threads arrive; for MMAs only commits tell."""
        mine = warps_touched(threads, self.reach.shape)
        if (mine, commits) not in self._told:
            self._told[mine, commits] = frozenset(
                barrier
                for barrier, places in self.signals.arrivals.items()
                if (not commits or barrier.kind is ObjectKind.TCGEN05_BARRIER)
                and any(self.threads(index) & mine for index in places)
            )
        return self._told[mine, commits]

    def waits_for(self, told: frozenset[KernelObject], threads: int) -> list[int]:
        """Return, in order, the waits that put threads behind what barriers tell.

        A wait for a barrier that nobody signals is one of them: it does not end at all.
        """
        mine = warps_touched(threads, self.reach.shape)
        if (told, mine) not in self._waits:
            known = implied(self.reach, self.signals, told, mine)
            waits = self.signals.waits
            known.update(self.signals.unsignalled)
            self._waits[told, mine] = sorted(i for b in known for i in waits.get(b, ()))
        return self._waits[told, mine]


def unwaited(view: KernelView) -> Iterator[Found]:
    """Yield the uses of what an engine hands over, or takes back, without a wait for it."""
    found = signals(view)
    if view.reach is None or found is None:
        return
    kernel = _Kernel(view, view.reach, found, _uses(view, view.reach))
    for uses in kernel.uses.values():
        if uses.is_known:
            yield from _results(kernel, uses)
            yield from _refills(kernel, uses)
    yield from _early_commits(kernel)


def _results(kernel: _Kernel, uses: _Uses) -> Iterator[Found]:
    """Yield the reads, in their first turn, of what TMA or the tensor core is still writing."""
    writers = uses.loads or uses.mmas
    if not writers or (uses.loads and uses.mmas):
        return
    each = [_told_by(kernel, index) for index in writers]
    if not all(each):
        return  # a load whose barrier is not known
    told = frozenset().union(*each)
    for index in uses.reads:
        read = kernel.at(index)
        if read.participants.pick is Pick.SOME or undecided(read):
            continue
        before = next(
            (w for w in writers if w < index or apart(kernel.at(w), read)),
            None,
        )
        if before is None:
            continue
        rest = _not_waited(kernel, told, index)
        if rest:
            yield Found(Race.NOT_WAITED, read, kernel.at(before), rest)


def _told_by(kernel: _Kernel, writer: int) -> frozenset[KernelObject]:
    """Return the barriers that tell when a TMA load has landed or an MMA is complete."""
    copy = engine_copies(kernel.reach).get(id(kernel.at(writer).operation))
    if copy is not None:
        return frozenset((copy.barrier,)) if copy.barrier is not None else frozenset()
    return kernel.signalled_by(kernel.threads(writer), commits=True)


def _not_waited(kernel: _Kernel, told: frozenset[KernelObject], index: int) -> int:
    """Return the threads that come to a place for the first time without having waited."""
    here = kernel.at(index).participants
    waits = kernel.waits_for(told, here.possible)
    rest = here.typical
    for wait in waits:
        if wait > index or not rest:
            break
        rest &= ~warps_touched(kernel.threads(wait), kernel.reach.shape)
    for meeting in kernel.signals.meetings if waits else ():
        if meeting > index or not rest:
            break
        if meeting > waits[0]:
            rest &= ~warps_touched(kernel.threads(meeting), kernel.reach.shape)
    return rest


def _refills(kernel: _Kernel, uses: _Uses) -> Iterator[Found]:
    """Yield engine writes that come round to the same place with no wait for its readers."""
    if not uses.reads:
        return
    readers = [kernel.at(index) for index in uses.reads]
    reading = 0  # threads that read by themselves: one that starts a write is past its own reads
    for reader in readers:
        by_thread = reader.operation.op is not Op.GEMM_ASYNC
        reading |= reader.participants.possible if by_thread else 0
    told = frozenset(barrier for r in readers for barrier in _told_by_reader(kernel, r))
    by_mma = not uses.loads
    answers = _answers(kernel, readers) if by_mma else []
    for index in uses.loads or uses.mmas:
        write = kernel.at(index)
        if reading & write.participants.possible:
            continue
        part = _part(kernel.view, region_of(write.operation.argument(0, "C" if by_mma else "dst")))
        if part is None:
            continue
        loop = _comes_round(kernel, write, part, answers, by_mma=by_mma)
        if loop is None or write.participants.pick is Pick.SOME:
            continue
        if by_mma and not all(apart(reader, write) for reader in readers):
            continue
        who = write.participants
        if not _waits_in(kernel, loop, told, who.possible):
            yield Found(Race.REFILLED, write, readers[0], who.typical)
        elif not by_mma and _waits_too_late(kernel, index, part, loop, told):
            yield Found(Race.REFILLED_FIRST, write, readers[0], who.typical)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a buffer that an engine writes.

    `picking` are the variables in its indices, `state` is the pipeline state among them, and
    `depth` is how many places of the buffer a walk through it visits.
    """

    picking: frozenset[Variable]
    state: KernelObject | None
    depth: int


def _part(view: KernelView, region: Region | None) -> _Part | None:
    """Return what picks a part; None where the places that a walk visits are not known.

    Variables of loops do not count for them: in each of their turns they pick another part.
    """
    if region is None:
        return None
    picking = frozenset(v for index in region.indices for v in variables_in(index))
    moving = [variable for variable in picking if not variable.uniform]
    states = {handoffs(view).state_of(variable) for variable in moving}
    state = states.pop() if len(states) == 1 else None
    depth = constant_int(state.argument(0, "depth")) if state is not None else None
    if depth is None and moving:
        return None
    return _Part(picking, state, depth if depth is not None else 1)


def _comes_round(
    kernel: _Kernel, write: Reached, part: _Part, answers: list[int], *, by_mma: bool
) -> Loop | None:
    """Return the innermost loop in which a write surely comes to the same place again.

    An accumulator is written again and again until it is handed over: there the loop has to be one
    in which the writer signals those who read; `answers` are the places of such signals.
    """
    times = 1
    for loop in reversed(write.loops):
        if any(counts(loop, variable) for variable in part.picking):
            continue  # each of its turns writes another part
        if loop.kind is not LoopKind.WHILE:
            values = turns(loop)
            if values is None:
                return None
            times *= len(values)
        again = loop.kind is LoopKind.WHILE or times > part.depth
        if again and (not by_mma or _signals_in(kernel, loop, write, answers)):
            return loop
    return None


def _answers(kernel: _Kernel, readers: Iterable[Reached]) -> list[int]:
    """Return, in order, the signals on barriers that all readers wait for at one place."""
    reading = 0
    for reader in readers:
        reading |= reader.participants.possible
    reading = warps_touched(reading, kernel.reach.shape)
    return sorted(
        index
        for barrier, places in kernel.signals.arrivals.items()
        if any(
            not reading & ~warps_touched(kernel.threads(i), kernel.reach.shape)
            for i in kernel.signals.waits.get(barrier, ())
        )
        for index in places
    )


def _signals_in(kernel: _Kernel, loop: Loop, write: Reached, answers: list[int]) -> bool:
    inside = kernel.reach.spans[id(loop)]
    start, stop = bisect_left(answers, inside.start), bisect_left(answers, inside.stop)
    return any(kernel.threads(index) & write.participants.possible for index in answers[start:stop])


def _told_by_reader(kernel: _Kernel, reader: Reached) -> frozenset[KernelObject]:
    commits = reader.operation.op is Op.GEMM_ASYNC
    return kernel.signalled_by(reader.participants.possible, commits=commits)


def _waits_in(kernel: _Kernel, loop: Loop, told: frozenset[KernelObject], threads: int) -> bool:
    """Tell whether threads wait in a loop for what readers tell, or meet others there."""
    return any(True for _ in _waits_inside(kernel, loop, told, threads))


def _waits_inside(
    kernel: _Kernel, loop: Loop, told: frozenset[KernelObject], threads: int
) -> Iterator[int]:
    """Yield the waits of threads in a loop for what readers tell, and their meetings there."""
    inside = kernel.reach.spans[id(loop)]
    mine = warps_touched(threads, kernel.reach.shape)
    for places in (kernel.waits_for(told, threads), kernel.signals.meetings):
        first, end = bisect_left(places, inside.start), bisect_left(places, inside.stop)
        for index in places[first:end]:
            if kernel.threads(index) & mine:
                yield index


def _waits_too_late(
    kernel: _Kernel, index: int, part: _Part, loop: Loop, told: frozenset[KernelObject]
) -> bool:
    """Tell whether the waits of a turn are for the stage that is written, and come after the write.

    They are for the turn that has used it before, if the state starts at phase 1: its first waits
    pass. At phase 0 a wait behind the write is for that write itself to have been used.
    """
    state = part.state
    if state is None or constant_int(state.argument(1, "phase")) != 1:
        return False
    places = list(_waits_inside(kernel, loop, told, kernel.threads(index)))
    if min(places) < index:
        return False
    calls = handoffs(kernel.view).calls.get(state, ())
    moves = [call for call in calls if call.operation.op is not Op.STATE_ADVANCE]
    until = kernel.reach.reached[index : max(places)]
    return (
        not moves
        and all(_asks_plainly(kernel, place, state) for place in places)
        and not any(r.operation.receiver == state for r in until)
        and not any(undecided(kernel.at(place)) for place in places)
    )


def _asks_plainly(kernel: _Kernel, place: int, state: KernelObject) -> bool:
    """Tell whether a wait is for the stage and phase of a state as they are."""
    given = kernel.at(place).operation.arguments
    names = [value.name for value in given if isinstance(value, Variable)]
    known = {handoffs(kernel.view).state_of(v) for v in given if isinstance(v, Variable)}
    plain = [name.rpartition(".")[2] for name in names] == ["stage", "phase"]
    return len(given) == 2 and plain and known == {state}


def _early_commits(kernel: _Kernel) -> Iterator[Found]:
    """Yield commits that come before every MMA of their thread, and are for those that follow."""
    mmas = _tracked(kernel.reach)
    spans = kernel.reach.spans
    for barrier, places in kernel.signals.arrivals.items():
        if barrier.kind is not ObjectKind.TCGEN05_BARRIER or not kernel.signals.waits.get(barrier):
            continue
        first = kernel.at(places[0])
        mine = first.participants.possible
        own = [i for i in mmas if kernel.threads(i) & mine]
        if undecided(first) or not own or own[0] < places[0]:
            continue
        inside = spans[id(first.loops[-1])] if first.loops else range(len(kernel.reach.reached))
        last = max((i for i in own if i in inside), default=None)
        if last is None or any(last < i and i in inside for i in places):
            continue
        yield Found(Race.EARLY_COMMIT, first, kernel.at(own[0]), mine)


def _tracked(reach: ReachMap) -> list[int]:
    """Return the places of tensor-core work, which a commit tells the end of."""
    found = list(reach.of(Op.GEMM_ASYNC))
    found += [one for one in reach.instructions if one.operation.name.startswith(_RAW)]
    for reached in reach.of(*WRITES):
        written = written_by(reached)
        if written is not None and memory_of(written.buffer) is Memory.TENSOR:
            found.append(reached)
    return sorted(one.index for one in found if one.participants.possible)


def _uses(view: KernelView, reach: ReachMap) -> dict[KernelObject, _Uses]:
    """Return the accesses to each buffer that an engine writes."""
    found: dict[KernelObject, _Uses] = defaultdict(_Uses)
    if any(one.operation.name.startswith(_RAW) for one in reach.instructions):
        return {}
    copies = engine_copies(reach)
    for identity, buffers in naming(view).by_operation.items():
        reached = reach.by_operation[identity]
        if not reached.participants.possible or reached.operation.op in _NO_ACCESS:
            continue
        accounted = _note(found, reached.index, reached, copies.get(identity))
        for buffer in buffers:
            if buffer in accounted:
                continue
            if memory_of(buffer) in (Memory.SHARED, Memory.TENSOR) and _accesses(reached):
                found[buffer].is_known = False
    return found


def _note(
    found: dict[KernelObject, _Uses], index: int, reached: Reached, copy: BulkCopy | None
) -> set[KernelObject]:
    """Note an access of a kind that is understood; return the buffers it is to."""
    operation = reached.operation
    if operation.op is Op.GEMM_ASYNC:
        written = written_tmem(operation)
        operands = [region_of(operation.argument(*operand)) for operand in _OPERANDS]
        read = {
            r.buffer for r in operands if r is not None and memory_of(r.buffer) is Memory.SHARED
        }
        for buffer in read:
            found[buffer].reads.append(index)
        if written is not None:
            found[written].mmas.append(index)
            return {*read, written}
        return read
    if copy is not None and copy.direction is Direction.LOAD and copy.shared is not None:
        found[copy.shared.buffer].loads.append(index)
        return {copy.shared.buffer}
    load = tmem_load(operation)
    if load is not None and load.source is not None:
        found[load.source].reads.append(index)
        return {load.source}
    source = region_of(operation.argument(1, "src"))
    copies = operation.op is Op.COPY and written_by(reached) is not None
    if copies and source is not None and memory_of(source.buffer) is Memory.SHARED:
        found[source.buffer].reads.append(index)
        return {source.buffer}
    return set()


def _accesses(reached: Reached) -> bool:
    """Tell whether an operation does something to the buffers it names."""
    name = reached.operation.name
    return not name.endswith(("ptr_to", "address_of", "access_ptr"))
