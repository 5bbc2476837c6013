"""The places that findings about threads show besides their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Related

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Operation
    from tirx_lens.threads.reach import Reached


def calls_around(operation: Operation) -> list[Related]:
    """Return the calls of `T.inline` functions around an operation, innermost first."""
    return [Related(call, "called from here") for call in reversed(operation.stack)]


def guards_and_calls(reached: Reached) -> list[Related]:
    """Return the guards that keep threads from a place, innermost first, then the calls."""
    guards = [
        Related(guard.span, f"{'' if guard.taken else 'the other side of '}this guard")
        for guard in reversed(reached.guards)
        if guard.selective
    ]
    return guards + calls_around(reached.operation)
