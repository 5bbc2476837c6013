"""What an engine reads from shared memory through the asynchronous proxy, and who wrote it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, memory_of, region_of
from tirx_lens.model.kernel import Op
from tirx_lens.rules.facts.bulk import BulkCopy, Direction
from tirx_lens.rules.facts.course import WRITES, apart, surely_overlap, written_by
from tirx_lens.rules.facts.engine_copies import engine_copies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached

_OPERANDS = ((1, "A"), (2, "B"))


@dataclass(frozen=True, slots=True)
class EngineRead:
    """A TMA store or an MMA, the `index` at which it is reached, and one part of SMEM it reads."""

    index: int
    reached: Reached
    source: Region

    @property
    def is_store(self) -> bool:
        """Whether the TMA engine reads, and not the tensor core."""
        return self.reached.operation.op is not Op.GEMM_ASYNC

    @property
    def what(self) -> str:
        """The engine's work in words."""
        return "TMA store" if self.is_store else "MMA"


def engine_reads(view: KernelView) -> tuple[EngineRead, ...]:
    """Return every read of SMEM by an engine that some thread starts, an MMA once an operand."""
    reach = view.reach
    if reach is None:
        return ()
    return tuple(
        EngineRead(reached.index, reached, source)
        for reached in reach.of(Op.GEMM_ASYNC, Op.COPY_ASYNC)
        if reached.participants.possible
        for source in _sources(reached.operation, engine_copies(reach))
    )


def _sources(operation: Operation, copies: Mapping[int, BulkCopy]) -> list[Region]:
    if operation.op is Op.GEMM_ASYNC:
        named = [region_of(operation.argument(*operand)) for operand in _OPERANDS]
        return [r for r in named if r is not None and memory_of(r.buffer) is Memory.SHARED]
    copy = copies.get(id(operation))
    if copy is None or copy.direction is not Direction.STORE or copy.shared is None:
        return []
    return [copy.shared]


def last_write(view: KernelView, read: EngineRead) -> int | None:
    """Return the index of the write by threads that an engine reads; None if that is not sure."""
    if view.reach is None:
        return None
    writes = view.once(_writes)
    places = writes.of_buffer.get(read.source.buffer, [])
    position = bisect_left(places, read.index) - 1
    if position < 0:
        return None
    index = places[position]
    if bisect_left(writes.unknown, index) != bisect_left(writes.unknown, read.index):
        return None
    reached = view.reach.reached[index]
    written = written_by(reached)
    sure = written is not None and surely_overlap(written, read.source)
    by_threads = reached.operation.op is not Op.COPY_ASYNC and bool(reached.participants.possible)
    return index if by_threads and sure and not apart(reached, read.reached) else None


def is_written_by_threads(view: KernelView, buffer: KernelObject) -> bool:
    """Tell whether threads write a buffer by tile operations at all."""
    return buffer in view.once(_writes).by_threads


@dataclass(frozen=True, slots=True)
class _Writes:
    """The indices of the writes of each buffer, and of the calls that may write any."""

    of_buffer: dict[KernelObject, list[int]]
    by_threads: set[KernelObject]
    unknown: list[int]


def _writes(view: KernelView) -> _Writes:
    found = _Writes({}, set(), [])
    reach = view.reach
    if reach is None:
        return found
    found.unknown.extend(reached.index for reached in reach.of(Op.OPAQUE))
    for reached in reach.of(*WRITES):
        index = reached.index
        written = written_by(reached)
        if written is not None:
            found.of_buffer.setdefault(written.buffer, []).append(index)
            if reached.operation.op is not Op.COPY_ASYNC:
                found.by_threads.add(written.buffer)
    return found
