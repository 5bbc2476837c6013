"""What the operations of a kernel name: the same in every round of a loop, and for every role."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of, region_of
from tirx_lens.model.kernel import Op
from tirx_lens.model.record import record
from tirx_lens.rules.facts.bulk import bulk_copy
from tirx_lens.rules.facts.copies import destination, origin
from tirx_lens.rules.facts.inner_meetings import may_meet_inside

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.buffers import Region
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.bulk import BulkCopy


@record()
class Copied:
    """An asynchronous copy: where from, where to, and how, where the TMA engine makes it."""

    source: Region | None
    to: Region | None
    bulk: BulkCopy | None


@record()
class Touched:
    """What threads touch by themselves, and whether TVM lets them meet inside.

    `loaded` are registers that loads from TMEM fill, which are read; `shared` are parts of SMEM,
    each with whether it is written.
    """

    loaded: tuple[Region, ...]
    shared: tuple[tuple[Region, bool], ...]
    meets: bool


@dataclass(slots=True)
class Operands:
    """Looks once at each operation, by identity. `loaded` are buffers that TMEM is loaded to."""

    loaded: frozenset[KernelObject]
    _copied: dict[int, Copied] = field(default_factory=dict)
    _touched: dict[int, Touched] = field(default_factory=dict)

    def copied(self, operation: Operation) -> Copied:
        """Return the parts of a copy."""
        known = self._copied.get(id(operation))
        if known is None:
            known = Copied(origin(operation), destination(operation), bulk_copy(operation))
            self._copied[id(operation)] = known
        return known

    def touched(self, operation: Operation) -> Touched:
        """Return what an operation by threads touches."""
        known = self._touched.get(id(operation))
        if known is None:
            known = self._touched[id(operation)] = self._look(operation)
        return known

    def _look(self, operation: Operation) -> Touched:
        if operation.op is Op.TILE_OP:
            read = self._read(map(region_of, operation.arguments))
            return Touched(tuple(read), (), may_meet_inside(operation))
        source, to = origin(operation), destination(operation)
        shared = tuple(
            (region, writes)
            for region, writes in ((source, False), (to, True))
            if region is not None and memory_of(region.buffer) is Memory.SHARED
        )
        return Touched(tuple(self._read([source])), shared, meets=False)

    def _read(self, regions: Iterable[Region | None]) -> Iterator[Region]:
        for region in regions:
            if region is not None and region.buffer in self.loaded:
                yield region
