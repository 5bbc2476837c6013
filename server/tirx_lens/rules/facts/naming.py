"""Which operations name each buffer, looked up once for all rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.tmem import named_by

if TYPE_CHECKING:
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


@dataclass(frozen=True)
class Naming:
    """The buffers that operations name, each once, by their identity, and who names each.

    Only operations that are reached count, and of those only such as name a buffer.
    """

    by_operation: dict[int, tuple[KernelObject, ...]] = field(default_factory=dict)
    by_buffer: dict[KernelObject, list[Reached]] = field(default_factory=dict)


def naming(view: KernelView) -> Naming:
    """Return who names which buffers."""
    return view.once(_naming)


def _naming(view: KernelView) -> Naming:
    found = Naming()
    reached = view.reach.by_operation if view.reach is not None else {}
    for place in handoffs(view).program:
        here = reached.get(id(place.operation))
        if here is None or not any(one.kind is ObjectKind.BUFFER for one in place.given):
            continue
        buffers = tuple(dict.fromkeys(named_by(place.operation)))
        found.by_operation[id(place.operation)] = buffers
        for buffer in buffers:
            found.by_buffer.setdefault(buffer, []).append(here)
    return found
