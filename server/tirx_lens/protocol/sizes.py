"""Other sizes of a kernel that are worth a run: its ring not filled, just filled, filled and more.

A size is arguments of the builder. The parameter that sets how often the ring's loops run is found
by trying: it is the one whose doubling doubles them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Loop, Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import operations, statements
from tirx_lens.protocol.wanted import check
from tirx_lens.rules.facts.nesting import turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

_MOST_PARAMETERS = 6


@dataclass(frozen=True, slots=True)
class Size:
    """A kernel with an argument of its builder changed: `rounds` of a ring of `depth` slots."""

    parameter: str
    value: int
    rounds: int
    depth: int
    view: KernelView

    @property
    def text(self) -> str:
        """The size in words."""
        times = f"{self.rounds} round{'s' if self.rounds > 1 else ''}"
        return f"{self.parameter}={self.value}, {times} of a ring of {self.depth}"


def sizes(view: KernelView) -> Iterator[Size]:
    """Yield the sizes of a kernel at which its ring is filled less, just, and more than once.

    None where no argument of the builder alone decides how often its loops run.
    """
    depth = _depth(view.kernel)
    found = _parameter(view) if depth is not None and depth > 1 else None
    if depth is None or found is None:
        return
    parameter, value, rounds = found
    for wanted in (depth - 1, depth, depth + 1):
        check(view.run_while)
        if wanted == rounds or value * wanted % rounds:
            continue
        argument = value * wanted // rounds
        there = view.at({parameter: argument})
        if there is not None and wanted in _ring_loops(there.kernel).values():
            yield Size(parameter, argument, wanted, depth, there)


def _depth(kernel: Kernel) -> int | None:
    """Return the slots of the deepest ring that a pipeline state walks through."""
    depths = [
        constant_int(operation.created.argument(0, "depth"))
        for operation in operations(kernel.body)
        if operation.created is not None and operation.created.kind is ObjectKind.PIPELINE_STATE
    ]
    return max((depth for depth in depths if depth is not None), default=None)


def _parameter(view: KernelView) -> tuple[str, int, int] | None:
    """Return the parameter that decides how often the ring goes round, its value, and how often."""
    before = _ring_loops(view.kernel)
    for name, value in view.kernel.arguments[:_MOST_PARAMETERS]:
        check(view.run_while)
        there = view.at({name: 2 * value}) if value > 0 else None
        after = _ring_loops(there.kernel) if there is not None else {}
        doubled = {
            rounds for span, rounds in before.items() if rounds and after.get(span) == 2 * rounds
        }
        if doubled:
            return name, value, min(doubled)
    return None


def _ring_loops(kernel: Kernel) -> dict[Span, int]:
    """Return how often each loop runs in which a pipeline state is advanced."""
    found: dict[Span, int] = {}
    for statement in statements(kernel.body):
        if isinstance(statement, Loop):
            known = turns(statement)
            advances = (one.op is Op.STATE_ADVANCE for one in operations(statement.body))
            if known is not None and any(advances):
                found[statement.span] = len(known)
    return found
