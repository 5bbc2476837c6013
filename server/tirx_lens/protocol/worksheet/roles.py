"""The Roles table: which threads do what, told by the operations that they get to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.buffers import Memory, memory_of, region_of
from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.protocol.worksheet.cells import Said, Who, in_order, names, who, written
from tirx_lens.protocol.worksheet.meetings import is_meeting, name_of
from tirx_lens.rules.facts.bulk import Direction, bulk_copy
from tirx_lens.rules.facts.copies import destination, origin
from tirx_lens.rules.facts.tmem import LARGEST, tmem_load
from tirx_lens.threads.issuers import issuers
from tirx_lens.threads.participants import Participants, Pick

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached

    Deed: TypeAlias = tuple[str, str]
    """A verb, and what it is about: "loads {} by TMA", "As"."""

_FENCES = {
    Op.FENCE: "fences",
    Op.FENCE_MBARRIER_INIT: "fences its mbarrier inits",
    Op.FENCE_PROXY_ASYNC: "fences its writes for the async proxy",
    Op.FENCE_AFTER_THREAD_SYNC: "orders tcgen05 behind what it waited for",
    Op.FENCE_BEFORE_THREAD_SYNC: "orders tcgen05 before what it signals",
}
_PREDICATED = (Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)


class Job(Enum):
    """What threads are for, by what they do."""

    PRODUCER = "TMA producer"
    MMA = "MMA issuer"
    WRITEBACK = "writeback"
    STORE = "TMA store issuer"
    CONSUMER = "consumer"
    TMEM = "TMEM owner"
    SET_UP = "set-up"
    COMPUTE = "compute"


@dataclass(frozen=True, slots=True)
class RoleRow:
    """Threads that do something together.

    `guards` are the conditions that let them through and keep others out, outermost first.
    `within` is the index of the row that these threads are some of, None for those in no other.
    """

    who: Who
    guards: tuple[str, ...]
    jobs: tuple[Job, ...]
    does: tuple[Said, ...]
    places: tuple[Span, ...]
    within: int | None = None


@dataclass(slots=True)
class _Group:
    """The operations of one set of threads.

    `ways` are the branches around them that keep other threads out, each with the side taken.
    """

    participants: Participants
    members: list[Reached] = field(default_factory=list)
    deeds: dict[Deed, list[Span]] = field(default_factory=dict)
    guards: dict[tuple[str, ...], None] = field(default_factory=dict)
    ways: set[tuple[tuple[int, bool], ...]] = field(default_factory=set)

    @property
    def threads(self) -> int:
        """All threads that may be of it."""
        return self.participants.possible


def roles(view: KernelView) -> tuple[RoleRow, ...]:
    """Return who does what; none where the kernel's threads are not known.

    A row is a set of threads, so what the same warp does in two branches is one row.
    """
    groups = list(_groups(view).values())
    return tuple(
        RoleRow(
            who(group.participants, view),
            _shortest(group),
            _jobs(group),
            _does(group),
            in_order(place for places in group.deeds.values() for place in places),
            _within(group, groups),
        )
        for group in groups
    )


def _groups(view: KernelView) -> dict[tuple[int, Pick], _Group]:
    found: dict[tuple[int, Pick], _Group] = {}
    if view.reach is None:
        return found
    for reached in view.reach.reached:
        operation, participants = reached.operation, reached.participants
        if operation.op in _PREDICATED:
            participants = issuers(reached, view.reach)
        deed = _deed(view, reached)
        if deed is None or not participants.possible:
            continue
        key = (participants.possible, participants.pick)
        alone = Participants(participants.possible, participants.typical, participants.pick)
        group = found.setdefault(key, _Group(alone))
        group.members.append(reached)
        group.deeds.setdefault(deed, []).append(operation.span)
        group.guards.setdefault(_guards(view, reached))
        group.ways.add(tuple((id(g.branch), g.taken) for g in reached.guards if g.selective))
    return found


def _guards(view: KernelView, reached: Reached) -> tuple[str, ...]:
    found = []
    for guard in reached.guards:
        if isinstance(guard.branch, Branch) and guard.selective:
            text = written(guard.span, view)
            found.append(text if guard.taken else f"not ({text})")
    return tuple(found)


def _shortest(group: _Group) -> tuple[str, ...]:
    return min(group.guards, key=len)


def _within(group: _Group, groups: list[_Group]) -> int | None:
    """Return the other group that goes a part of the way to a group's work, the longest part."""
    ways = [
        (len(way), index)
        for index, other in enumerate(groups)
        for way in other.ways
        if other is not group and not group.threads & ~other.threads
        if any(way == mine[: len(way)] and way != mine for mine in group.ways)
    ]
    return max(ways)[1] if ways else None


def _jobs(group: _Group) -> tuple[Job, ...]:
    verbs = {verb for verb, _ in group.deeds}
    found: list[Job] = []
    if "loads {} by TMA" in verbs:
        found.append(Job.PRODUCER)
    if "issues MMAs into" in verbs or "issues MMAs" in verbs:
        found.append(Job.MMA)
    if "stores {} by TMA" in verbs:
        found.append(Job.STORE)
    moved = {
        (memory_of(read.buffer), memory_of(put.buffer))
        for member in group.members
        if (read := origin(member.operation)) and (put := destination(member.operation))
        if member.operation.op in (Op.COPY, Op.COPY_ASYNC)
    }
    out = any(to in (Memory.SHARED, Memory.GLOBAL) for _, to in moved)
    if any(source is Memory.TENSOR for source, _ in moved) or "reads TMEM" in verbs:
        found.append(Job.WRITEBACK if out else Job.CONSUMER)
    elif any(source is Memory.SHARED for source, _ in moved) and "waits for" in verbs:
        found.append(Job.CONSUMER)
    if any(verb.startswith(("allocates", "frees")) for verb in verbs):
        found.append(Job.TMEM)
    if "initialises" in verbs:
        found.append(Job.SET_UP)
    if "computes" in verbs and not found:
        found.append(Job.COMPUTE)
    return tuple(found)


def _does(group: _Group) -> tuple[Said, ...]:
    """Put together what has the same verb."""
    by_verb: dict[str, tuple[list[str], list[Span]]] = {}
    for (verb, about), places in group.deeds.items():
        things, spans = by_verb.setdefault(verb, ([], []))
        if about:
            things.append(about)
        spans += places
    return tuple(
        Said(_sentence(verb, things), in_order(sorted(spans)))
        for verb, (things, spans) in by_verb.items()
    )


def _sentence(verb: str, things: list[str]) -> str:
    if "{}" not in verb:
        return f"{verb} {names(things)}" if things else verb
    return verb.replace("{}", names(things)) if things else verb.replace(" {}", "")


def _deed(view: KernelView, reached: Reached) -> Deed | None:
    """Say what an operation does, where that is worth a word."""
    operation = reached.operation
    op, about = operation.op, operation.receiver.name if operation.receiver is not None else ""
    bulk = bulk_copy(operation)
    if bulk is not None:
        verb = "loads {} by TMA" if bulk.direction is Direction.LOAD else "stores {} by TMA"
        return verb, bulk.shared.buffer.name if bulk.shared is not None else ""
    match op:
        case Op.BARRIER_INIT:
            return "initialises", about
        case Op.MBARRIER_INIT:
            return "initialises", "mbarrier words"
        case Op.BARRIER_WAIT:
            return "waits for", about or "mbarrier words"
        case Op.BARRIER_ARRIVE:
            commits = operation.receiver and operation.receiver.kind is ObjectKind.TCGEN05_BARRIER
            return "commits to" if commits else "arrives at", about or "mbarrier words"
        case Op.TCGEN05_COMMIT:
            return "commits to", "mbarrier words"
        case Op.GEMM_ASYNC:
            into = region_of(operation.argument(0, "C"))
            return "issues MMAs into", into.buffer.name if into is not None else ""
        case Op.COPY | Op.COPY_ASYNC:
            return _copy(operation)
        case Op.TILE_OP:
            return "computes", operation.name.rpartition(".")[2]
        case Op.TMEM_ALLOC:
            return f"allocates {_columns(operation)}", ""
        case Op.TMEM_DEALLOC:
            return f"frees {_columns(operation)}", ""
        case Op.TMEM_RELINQUISH:
            return "gives up the right to allocate TMEM", ""
        case Op.BULK_COMMIT:
            return "closes a bulk group", ""
        case Op.BULK_WAIT:
            return "waits for its bulk groups", ""
        case Op.SETMAXNREG:
            return "sets its register count", ""
        case Op.NEXT_TILE:
            return "steps", about
        case Op.TMEM_WAIT_LOAD:
            return "waits for its TMEM loads", ""
        case Op.TMEM_WAIT_STORE:
            return "waits for its TMEM stores", ""
        case Op.OPAQUE:
            return "calls, with a body that is not known,", operation.name
    if is_meeting(reached):
        return "meets at", name_of(view, reached)
    if op in _FENCES:
        return _FENCES[op], ""
    return _other(operation)


def _other(operation: Operation) -> Deed | None:
    made, receiver = operation.created, operation.receiver
    if made is not None and made.kind is ObjectKind.PIPELINE and made.argument(99, "full"):
        return "initialises", made.name
    if receiver is not None and receiver.kind is ObjectKind.TMEM_POOL:
        columns = constant_int(receiver.argument(1, "total_cols")) or LARGEST
        if operation.name in ("commit", "dealloc"):
            verb = "allocates" if operation.name == "commit" else "frees"
            return f"{verb} {columns} TMEM columns", ""
    if operation.name.startswith("T.ptx.tcgen05.mma"):
        return "issues MMAs", ""
    if tmem_load(operation) is not None:
        return "reads TMEM", ""
    if operation.name.startswith("T.ptx.tcgen05.st"):
        return "writes TMEM", ""
    if operation.name.startswith("T.ptx.tcgen05.cp"):
        return "copies from SMEM to TMEM by the tensor core", ""
    return None


def _copy(operation: Operation) -> Deed:
    read, put = origin(operation), destination(operation)
    source = memory_of(read.buffer) if read is not None else None
    to = memory_of(put.buffer) if put is not None else None
    if source is Memory.TENSOR and read is not None:
        return "reads {} out of TMEM", read.buffer.name
    if to is not Memory.LOCAL and put is not None:
        return "writes", put.buffer.name
    return "reads", read.buffer.name if read is not None else ""


def _columns(operation: Operation) -> str:
    columns = constant_int(operation.argument(1, "n_cols"))
    return f"{columns} TMEM columns" if columns is not None else "TMEM"
