"""At whose copy of a barrier an `arrive` counts: its own CTA's, another's, or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const
from tirx_lens.model.objects import ObjectKind

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.facts.registers import Registers

_NONE = Const(None)
_OPERANDS = {  # of `arrive`, in order
    ObjectKind.MBARRIER: ("stage", "remote", "pred", "count"),
    ObjectKind.TMA_BARRIER: ("stage", "tx_count", "remote", "pred"),
    ObjectKind.TCGEN05_BARRIER: ("stage", "cta_group", "cta_mask", "pred"),
}


class ArrivalTargets:
    """The targets of arrivals in clusters of some CTAs (TVM, lang/pipeline.py: `arrive`)."""

    def __init__(self, ctas: int) -> None:
        self._ctas = ctas
        self._aims: dict[int, tuple[Expr | None, Expr | None] | None] = {}

    def of(
        self, barrier: KernelObject, operation: Operation, thread: Registers, own: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """Return the CTAs at whose copy of the barrier an arrival counts; None when not known.

        `own` is the one CTA of the thread.
        """
        if id(operation) not in self._aims:
            self._aims[id(operation)] = self._aim(barrier, operation)
        aim, ctas = self._aims[id(operation)], self._ctas
        if aim is None:
            return None
        far, mask = aim
        if far is not None:
            rank = thread.value(far)
            return (rank,) if rank is not None and 0 <= rank < ctas else None
        if mask is None:
            return own
        bits = thread.value(mask)
        if bits is None or not 0 < bits < 1 << ctas:
            return None
        if bits.bit_count() == 1:
            return own  # TVM takes the unicast form, to the CTA's own barrier
        return tuple(rank for rank in range(ctas) if bits >> rank & 1)

    def _aim(
        self, barrier: KernelObject, operation: Operation
    ) -> tuple[Expr | None, Expr | None] | None:
        """Return the `remote` and the `cta_mask` of an arrival that is plain in all else."""
        names = _OPERANDS[barrier.kind]
        given = dict(zip(names, operation.arguments, strict=False)) | dict(operation.keywords)
        if len(operation.arguments) > len(names) or not given.keys() <= set(names):
            return None
        if any(given.get(name, _NONE) != _NONE for name in ("pred", "count")):
            return None
        far, mask = given.get("remote", _NONE), given.get("cta_mask", _NONE)
        seen = operation.receiver.cta if operation.receiver is not None else None
        if seen is not None:
            if (far, mask) != (_NONE, _NONE):
                return None
            far = seen
        if self._ctas == 1 and (far, mask) != (_NONE, _NONE):
            return None  # of a cluster that the text does not speak of
        return None if far == _NONE else far, None if mask == _NONE else mask
