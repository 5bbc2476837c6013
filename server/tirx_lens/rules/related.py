"""The other places of a finding: the guards around an operation, and the calls that led to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Related

if TYPE_CHECKING:
    from tirx_lens.threads.reach import Reached


def around(reached: Reached) -> list[Related]:
    """Return the guards that keep threads out, innermost first, then the call stack."""
    guards = [
        Related(guard.span, "this guard" if guard.taken else "the other side of this guard")
        for guard in reversed(reached.guards)
        if guard.selective
    ]
    calls = [Related(call, "called from here") for call in reversed(reached.operation.stack)]
    return [*guards, *calls]
