"""Which operations name each buffer, looked up once for all rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.tmem import named_by, uses_tmem
from tirx_lens.threads.reach import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


@dataclass(frozen=True)
class Naming:
    """The buffers that operations name, each once, by their identity, and who names each.

    Only operations that are reached count, and of those only such as name a buffer.
    """

    by_operation: dict[int, tuple[KernelObject, ...]] = field(default_factory=dict)
    by_buffer: dict[KernelObject, list[Reached]] = field(default_factory=dict)

    def users(self, buffers: Iterable[KernelObject]) -> list[Reached]:
        """Return the operations that name one of some buffers, in program order."""
        found = {id(one): one for buffer in buffers for one in self.by_buffer.get(buffer, ())}
        return in_order(found.values())


def naming(view: KernelView) -> Naming:
    """Return who names which buffers."""
    return view.once(_naming)


def _naming(view: KernelView) -> Naming:
    found = Naming()
    reached = view.reach.by_operation if view.reach is not None else {}
    for place in handoffs(view).program:
        here = reached.get(id(place.operation)) if place.given else None
        if here is None or all(one.kind is not ObjectKind.BUFFER for one in place.given):
            continue
        buffers = tuple(dict.fromkeys(named_by(place.operation)))
        found.by_operation[id(place.operation)] = buffers
        for buffer in buffers:
            found.by_buffer.setdefault(buffer, []).append(here)
    return found


def tmem_users(view: KernelView) -> list[Reached]:
    """Return the operations that read or write TMEM, in program order."""
    reach, named = view.reach, naming(view).by_operation
    if reach is None:
        return []
    tile_work = reach.of(Op.GEMM_ASYNC, Op.COPY, Op.COPY_ASYNC, Op.TILE_OP)
    found = [
        reached
        for reached in (*tile_work, *reach.instructions)
        if uses_tmem(reached.operation, named.get(id(reached.operation), ()))
    ]
    return in_order(found)
