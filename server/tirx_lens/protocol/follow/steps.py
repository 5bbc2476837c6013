"""What one operation is for one role at one moment: the steps of the program."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import region_of
from tirx_lens.model.expr import Const, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import BARRIERS, ObjectKind
from tirx_lens.protocol.follow.areas import Areas
from tirx_lens.protocol.follow.operands import Operands
from tirx_lens.protocol.follow.unfollowed import NotFollowed
from tirx_lens.protocol.follow.words import pointer_in
from tirx_lens.protocol.program import (
    Arrive,
    AwaitGroups,
    AwaitTmem,
    CloseGroup,
    Commit,
    Fence,
    Free,
    Init,
    Load,
    Meet,
    Meeting,
    Multiply,
    Place,
    Scope,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
)
from tirx_lens.rules.facts.barriers import initialising_threads
from tirx_lens.rules.facts.bulk import Direction
from tirx_lens.rules.facts.copies import given, leaves_dispatch_open
from tirx_lens.threads.contracts import CTA_BARRIER, barriers_in
from tirx_lens.threads.named import TILE_OPERATION_BARRIER
from tirx_lens.threads.shape import WARP, WARPGROUP
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tirx_lens.model.buffers import Region
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.protocol.follow.groups import Group
    from tirx_lens.protocol.follow.words import Words
    from tirx_lens.protocol.program import Area, Step
    from tirx_lens.rules.facts.arrival_targets import ArrivalTargets
    from tirx_lens.rules.facts.registers import Registers
    from tirx_lens.threads.reach import Reached, ReachMap

CONTROL = frozenset(
    {
        Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT, Op.CTA_SYNC, Op.CLUSTER_SYNC,
        Op.CLUSTER_ARRIVE, Op.WARPGROUP_SYNC, Op.WARP_SYNC, Op.NAMED_BARRIER, Op.OPAQUE,
        Op.BARRIER_INIT, Op.NEXT_TILE,
    }
)  # fmt: skip
"""Operations that decide who goes on: where one may or may not happen, nothing can be followed."""

ACCESSES = frozenset(
    {
        Op.COPY, Op.COPY_ASYNC, Op.GEMM_ASYNC, Op.TILE_OP, Op.BULK_COMMIT, Op.BULK_WAIT,
        Op.TMEM_WAIT_LOAD, Op.TMEM_WAIT_STORE, Op.FENCE_PROXY_ASYNC, Op.TMEM_DEALLOC,
    }
)  # fmt: skip
"""Operations that touch storage, or say when that is over."""


_DISPATCH = 3  # the position of `dispatch` in `copy_async`
_BY_ONE = (Op.GEMM_ASYNC,)
_SCOPES = {"warp": WARP, "wg": WARPGROUP, "warpgroup": WARPGROUP, "cta": 0}
"""The threads of an operation's scope: 0 for all of the CTA. One of them issues."""


@dataclass(slots=True)
class StepMaker:
    """Makes the steps of operations. `offsets` are what each barrier's phases are turned by.

    `loaded` are the register buffers that loads from TMEM fill.
    """

    reach: ReachMap
    words: Words
    targets: ArrivalTargets
    offsets: Mapping[KernelObject, int | None]
    loaded: frozenset[KernelObject]
    lanes_together: bool = True
    _sizes: dict[int, int] = field(default_factory=dict)
    _areas: Areas = field(init=False)
    _operands: Operands = field(init=False)

    def __post_init__(self) -> None:
        """Open what it keeps from round to round."""
        self._areas, self._operands = Areas(self.reach), Operands(self.loaded)

    def steps_of(self, reached: Reached, group: Group, thread: Registers) -> Iterator[Step]:
        """Yield what an operation is for a group; raise `NotFollowed` where that is not known."""
        operation = reached.operation
        at = operation.span
        if operation.op in _BY_ONE and not self._issues(reached, group):
            return
        match operation.op:
            case Op.BARRIER_INIT | Op.CONSTRUCT:
                yield from self._init(operation, group)
            case Op.BARRIER_WAIT:
                yield self._wait(operation, group, thread)
                yield from self._converge(reached, group)
            case Op.BARRIER_ARRIVE:
                yield from self._arrive(operation, group, thread)
            case Op.TCGEN05_COMMIT:
                yield from self._commit(operation, group, thread)
            case (
                Op.CTA_SYNC | Op.CLUSTER_SYNC | Op.WARPGROUP_SYNC | Op.NAMED_BARRIER | Op.WARP_SYNC
            ):
                for _ in range(barriers_in(operation)):
                    yield from self._meet(reached, group, thread)
            case Op.CLUSTER_ARRIVE:
                raise NotFollowed("arrival and wait of a cluster-wide barrier are apart", at)
            case Op.OPAQUE:
                raise NotFollowed(f"{operation.name} is a function whose body is not known", at)
            case Op.COPY | Op.TILE_OP:
                yield from self._touches(operation, group, thread)
            case Op.COPY_ASYNC:
                yield from self._copy(operation, group, thread)
            case Op.GEMM_ASYNC:
                yield self._multiply(operation, group, thread)
            case Op.BULK_COMMIT:
                yield CloseGroup(at)
            case Op.BULK_WAIT:
                left = thread.value(operation.argument(0, "n") or Const(0))
                yield AwaitGroups(at, left if left is not None else 0)
            case Op.TMEM_WAIT_LOAD | Op.TMEM_WAIT_STORE:
                yield AwaitTmem(at, loads=operation.op is Op.TMEM_WAIT_LOAD)
            case Op.FENCE_PROXY_ASYNC:
                yield Fence(at)
            case Op.TMEM_DEALLOC:
                yield Free(at, self._pair(operation.name, group))

    def _issues(self, reached: Reached, group: Group) -> bool:
        """Tell whether a group has the thread that issues an operation of a whole warp or more."""
        scope = reached.operation.name.split(".")[1:-1]
        if not scope or scope[0] not in _SCOPES:
            return True
        size, first = _SCOPES[scope[0]], group.number - group.cta * self.reach.shape.threads
        start = (first // size * size if size else 0) + group.cta * self.reach.shape.threads
        beside = reached.participants.typical >> start
        return bool(group.threads >> start & beside & -beside)

    def _slot(
        self, barrier: KernelObject, slot: Expr | None, thread: Registers, at: Operation
    ) -> int:
        value = thread.value(slot) if slot is not None else None
        if value is None:
            raise NotFollowed(f"which slot of {barrier.name} is meant is not known", at.span)
        return value

    def _init(self, operation: Operation, group: Group) -> Iterator[Init]:
        """Yield the initialisation of a barrier, if the group has the thread that does it."""
        if group.threads & initialising_threads(operation, self.reach):
            yield Init(operation.span, self.words.initialised_by(operation, group.cta))

    def _wait(self, operation: Operation, group: Group, thread: Registers) -> Wait:
        barrier, slot = operation.receiver, operation.argument(0, "stage")
        phase = operation.argument(1, "phase")
        offset = self.offsets.get(barrier) if barrier is not None else None
        if barrier is None:
            pointer = pointer_in(operation.argument(0, "mbar"))
            if pointer is None:
                raise NotFollowed("it waits at an mbarrier that is in no wrapper", operation.span)
            barrier, slot, offset = pointer.barrier, pointer.slot, 0
        if barrier.kind not in BARRIERS or len(operation.arguments) > 2 or offset is None:
            raise NotFollowed(f"the wait at {barrier.name} is not understood", operation.span)
        parity = thread.value(phase) if phase is not None else None
        if parity is None:
            raise NotFollowed(f"the phase asked of {barrier.name} is not known", operation.span)
        number = self._slot(barrier, slot, thread, operation)
        word = self.words.index_of(barrier, number, group.cta)
        return Wait(operation.span, word, (parity ^ offset) & 1)

    def _converge(self, reached: Reached, group: Group) -> Iterator[Meet]:
        """Let the lanes of a warp leave a wait together, as they do unless one is kept back."""
        shape = self.reach.shape
        warp = warps_touched(group.threads, shape)
        coming = reached.participants.typical & warp
        if self.lanes_together and coming != group.threads and warp.bit_count() <= WARP:
            number = (group.number - group.cta * shape.threads) // WARP
            meeting = Meeting(Scope.WARP, group.cta, number)
            yield Meet(reached.operation.span, meeting, coming.bit_count())

    def _arrive(self, operation: Operation, group: Group, thread: Registers) -> Iterator[Step]:
        barrier = operation.receiver
        if barrier is None or barrier.kind not in BARRIERS:
            raise NotFollowed("an arrival at an mbarrier that is in no wrapper", operation.span)
        slot = self._slot(barrier, operation.argument(0, "stage"), thread, operation)
        ctas = self.targets.of(barrier, operation, thread, (group.cta,))
        if ctas is None:
            raise NotFollowed(
                f"where this arrival at {barrier.name} counts is not known", operation.span
            )
        words = tuple(self.words.index_of(barrier, slot, cta) for cta in ctas)
        if barrier.kind is ObjectKind.TCGEN05_BARRIER:
            yield from self._commits(operation, group, words)
            return
        size = 0
        if barrier.kind is ObjectKind.TMA_BARRIER:
            count = operation.argument(1, "tx_count")
            known = thread.value(count) if count is not None else 0
            if known is None:
                raise NotFollowed(
                    f"the bytes that {barrier.name} is armed with are not known", operation.span
                )
            size = known
        yield Arrive(operation.span, words, group.size, size)

    def _commit(self, operation: Operation, group: Group, thread: Registers) -> Iterator[Step]:
        pointer = pointer_in(operation.argument(0, "mbar"))
        if pointer is None or "multicast" in operation.name:
            raise NotFollowed("which mbarrier this commit tells is not known", operation.span)
        slot = self._slot(pointer.barrier, pointer.slot, thread, operation)
        far = pointer.barrier.cta
        cta = thread.value(far) if far is not None else group.cta
        if cta is None:
            raise NotFollowed("which CTA's mbarrier this commit tells is not known", operation.span)
        yield from self._commits(
            operation, group, (self.words.index_of(pointer.barrier, slot, cta),)
        )

    def _commits(
        self, operation: Operation, group: Group, words: tuple[int, ...]
    ) -> Iterator[Step]:
        yield Commit(operation.span, words)
        if group.size > 1:  # the others have issued no MMA: theirs arrive at once
            yield Arrive(operation.span, words, group.size - 1)

    def _meet(self, reached: Reached, group: Group, thread: Registers) -> Iterator[Step]:
        operation, shape = reached.operation, self.reach.shape
        at, cta = operation.span, group.cta
        alive = shape.cta(cta) & ~reached.returned
        match operation.op:
            case Op.CLUSTER_SYNC:
                alive = shape.everyone & ~reached.returned
                yield Meet(at, Meeting(Scope.CLUSTER, -1), alive.bit_count(), all_left=True)
            case Op.CTA_SYNC:
                yield Meet(at, Meeting(Scope.CTA, cta), alive.bit_count(), all_left=True)
            case Op.WARP_SYNC:
                warps = warps_touched(group.threads, shape)
                if warps == group.threads:
                    return
                first = (group.number - cta * shape.threads) // WARP
                if warps.bit_count() > WARP:
                    raise NotFollowed("parts of several warps meet at warp barriers", at)
                coming = reached.participants.typical & warps
                yield Meet(at, Meeting(Scope.WARP, cta, first), coming.bit_count())
            case Op.WARPGROUP_SYNC:
                number = thread.value(operation.argument(0, "bar_no"))
                yield self._named(operation, group, number, WARPGROUP)
            case _:
                yield from self._raw_named(operation, group, thread, alive.bit_count())

    def _raw_named(
        self, operation: Operation, group: Group, thread: Registers, everyone: int
    ) -> Iterator[Step]:
        words = operation.name.split(".")
        if "sync" not in words and "arrive" not in words:
            raise NotFollowed(f"{operation.name} is not followed", operation.span)
        number = thread.value(operation.argument(0, "a") or operation.argument(0, "name_bar_id"))
        count = operation.argument(1, "b") or operation.argument(1, "thread_count")
        expected = everyone if count is None else thread.value(count)
        if expected is None:
            raise NotFollowed("how many threads meet here is not known", operation.span)
        yield self._named(operation, group, number, expected, blocks="sync" in words)

    def _named(
        self,
        operation: Operation,
        group: Group,
        number: int | None,
        expected: int,
        *,
        blocks: bool = True,
    ) -> Meet:
        if number is None:
            raise NotFollowed("the id of a named barrier is not known", operation.span)
        scope = Scope.CTA if number == CTA_BARRIER else Scope.NAMED
        return Meet(operation.span, Meeting(scope, group.cta, number), expected, blocks)

    def _touches(self, operation: Operation, group: Group, thread: Registers) -> Iterator[Step]:
        """Yield the reads and writes of SMEM by threads, and where TVM lets them meet inside."""
        touched = self._operands.touched(operation)
        for region in touched.loaded:
            area = self._areas.of(region, group.number, thread)
            if area is not None:
                yield Touch(operation.span, area, writes=False)
        for region, writes in touched.shared:
            area = self._areas.of(region, group.cta, thread)
            if area is not None:
                yield Touch(operation.span, area, writes)
        if touched.meets:
            yield self._inner_meeting(operation, group)

    def _registers(self, to: Region | None, group: Group, thread: Registers) -> Area | None:
        """Return the registers that a load from TMEM fills: each thread has its own."""
        return self._areas.of(to, group.number, thread) if to is not None else None

    def _inner_meeting(self, operation: Operation, group: Group) -> Meet:
        if operation.name.startswith("Tx.cta."):
            everyone = self.reach.shape.threads
            return Meet(operation.span, Meeting(Scope.CTA, group.cta), everyone, all_left=True)
        number = TILE_OPERATION_BARRIER
        return Meet(operation.span, Meeting(Scope.NAMED, group.cta, number), WARPGROUP)

    def _copy(self, operation: Operation, group: Group, thread: Registers) -> Iterator[Step]:
        copied = self._operands.copied(operation)
        bulk = copied.bulk
        to = self._area(copied.to, group.cta, thread)
        source = self._area(copied.source, group.cta, thread)
        if bulk is None:
            if to is not None and to.place is Place.TENSOR:
                if source is not None:  # tcgen05.cp: in order with the MMAs of its thread
                    yield Multiply(operation.span, (source,), (to,), adds=False)
                else:
                    yield TmemStore(operation.span, to)
            elif source is not None and source.place is Place.TENSOR:
                yield TmemLoad(operation.span, source, self._registers(copied.to, group, thread))
            elif given(operation, "mbar") is None or leaves_dispatch_open(operation, _DISPATCH):
                # With no `dispatch=`, TVM makes it a copy by threads and drops `mbar`.
                if to is not None:
                    yield Touch(operation.span, to, writes=True)
            else:
                raise NotFollowed("a copy with mbar= that is no TMA load", operation.span)
        elif bulk.direction is Direction.STORE:
            yield Store(operation.span, source)
        else:
            yield from self._load(operation, bulk.mbar, to, group, thread)

    def _load(
        self,
        operation: Operation,
        mbar: Expr | None,
        to: Area | None,
        group: Group,
        thread: Registers,
    ) -> Iterator[Step]:
        pointer = pointer_in(mbar)
        if pointer is None:
            raise NotFollowed("which mbarrier this load tells is not known", operation.span)
        if given(operation, "pred") is not None or given(operation, "predicate") is not None:
            raise NotFollowed("this load has a predicate", operation.span)
        slot = self._slot(pointer.barrier, pointer.slot, thread, operation)
        far, mask = pointer.barrier.cta, given(operation, "cta_mask")
        here = thread.value(far) if far is not None else group.cta
        ctas: tuple[int, ...] = (group.cta,)
        if mask is not None:
            bits = thread.value(mask)
            if not bits:
                raise NotFollowed("which CTAs get this load is not known", operation.span)
            ctas = tuple(rank for rank in range(self.reach.shape.ctas) if bits >> rank & 1)
        if here is None:
            raise NotFollowed("which CTA's mbarrier this load tells is not known", operation.span)
        targets = ctas if mask is not None and far is None else (here,)
        size = self._size_of(operation)
        words = tuple(self.words.index_of(pointer.barrier, slot, cta) for cta in targets)
        areas = () if to is None else tuple(_in_cta(to, cta) for cta in ctas)
        for _ in range(group.size):
            yield Load(operation.span, areas, words, size)

    def _size_of(self, load: Operation) -> int:
        """Return the bytes of a load, which are the same in every round."""
        known = self._sizes.get(id(load))
        if known is None:
            copied = self._operands.copied(load)
            regions = (copied.to, copied.source)
            sizes = {region.bytes() for region in regions if region is not None} - {None}
            known = sizes.pop() if len(sizes) == 1 else None
            if known is None:
                raise NotFollowed("how many bytes this load brings is not known", load.span)
            self._sizes[id(load)] = known
        return known

    def _multiply(self, operation: Operation, group: Group, thread: Registers) -> Multiply:
        ctas = self._pair(f"cta_group::{constant_int(given(operation, 'cta_group')) or 1}", group)
        reads: list[Area] = []
        for position, name in ((1, "A"), (2, "B")):
            area = self._area(region_of(operation.argument(position, name)), group.cta, thread)
            if area is not None:
                reads += [_in_cta(area, cta) for cta in ctas]
        to = self._area(region_of(operation.argument(0, "C")), group.cta, thread)
        writes = tuple(_in_cta(to, cta) for cta in ctas) if to is not None else ()
        accum = operation.argument(99, "accum")
        adds = accum is None or thread.value(accum) != 0
        return Multiply(operation.span, tuple(reads), writes, adds)

    def _pair(self, name: str, group: Group) -> tuple[int, ...]:
        """Return the CTAs that an instruction of tcgen05 works on."""
        if "cta_group::2" not in name or self.reach.shape.ctas < 2:
            return (group.cta,)
        first = group.cta & ~1
        return (first, first + 1)

    def _area(self, region: Region | None, cta: int, thread: Registers) -> Area | None:
        if region is None or self._areas.place_of(region.buffer) is Place.REGISTERS:
            return None
        return self._areas.of(region, cta, thread)


def _in_cta(area: Area, cta: int) -> Area:
    return area if area.cta == cta else replace(area, cta=cta)
