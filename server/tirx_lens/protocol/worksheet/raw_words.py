"""Mbarrier words that are used without a wrapper: by pointer, one instruction at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.protocol.worksheet.cells import written
from tirx_lens.protocol.worksheet.words import pointer_of
from tirx_lens.rules.facts.bulk import barrier_in, bulk_copy
from tirx_lens.rules.facts.nesting import placed

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.rules.rule import KernelView

_OPS = (Op.MBARRIER_INIT, Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)


@dataclass(slots=True)
class RawWord:
    """The operations on the words that one pointer expression names, in program order."""

    name: str
    inits: list[Operation] = field(default_factory=list)
    waits: list[Operation] = field(default_factory=list)
    arrivals: list[Operation] = field(default_factory=list)
    loads: list[Operation] = field(default_factory=list)

    @property
    def count(self) -> int | None:
        """The arrivals that end a phase; None when the text does not say."""
        counts = {constant_int(init.argument(1, "count")) for init in self.inits}
        return counts.pop() if len(counts) == 1 else None


def raw_rows(view: KernelView) -> tuple[RawWord, ...]:
    """Return the raw words of a kernel, told apart by how their pointers are written."""
    found: dict[Expr, RawWord] = {}
    for place in placed(view.kernel.body):
        operation = place.operation
        pointer = _pointer(operation)
        if pointer is None:
            continue
        word = found.setdefault(pointer, RawWord(written(pointer.span, view)))
        {
            Op.MBARRIER_INIT: word.inits,
            Op.BARRIER_WAIT: word.waits,
            Op.BARRIER_ARRIVE: word.arrivals,
            Op.TCGEN05_COMMIT: word.arrivals,
        }.get(operation.op, word.loads).append(operation)
    return tuple(found.values())


def _pointer(operation: Operation) -> Expr | None:
    if operation.receiver is not None:
        return None
    if operation.op in _OPS:
        pointer = pointer_of(operation)
    else:
        copy = bulk_copy(operation)
        pointer = copy.mbar if copy is not None else None
    if pointer is None or barrier_in(pointer) is not None or pointer.span.end == 0:
        return None
    return pointer
