"""What running a kernel's handoffs in small has shown, for the top of its worksheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.protocol.simulated import Simulated, is_bad, simulated
from tirx_lens.protocol.sizes import sizes
from tirx_lens.protocol.story import story
from tirx_lens.protocol.worksheet.cells import Said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.rules.rule import KernelView


def unfollowed(view: KernelView) -> Said | None:
    """Return why a kernel cannot be run; None where it can."""
    why = simulated(view).unfollowed
    if why is None:
        return None
    return Said(why.reason, (why.at,) if why.at is not None else ())


def runs(view: KernelView) -> tuple[Said, ...]:
    """Return how each instance of a kernel that was run has ended."""
    return tuple(_runs(view))


def _runs(view: KernelView) -> Iterator[Said]:
    ran = simulated(view)
    if ran.history is None:
        return
    arguments = ", ".join(f"{name}={value}" for name, value in view.kernel.arguments)
    yield _ending(f"With {arguments}" if arguments else "As it is", ran)
    if ran.ends_well:
        for size in sizes(view):
            yield _ending(f"With {size.text}", simulated(size.view))


def _ending(what: str, ran: Simulated) -> Said:
    history = ran.history
    if history is None:
        why = ran.unfollowed.reason if ran.unfollowed is not None else "it is not known why"
        return Said(f"{what}: not followed, {why}.")
    if not is_bad(history):
        others = "so do all other orders" if ran.is_complete else "not all orders were looked at"
        count = len(history.events)
        return Said(f"{what}: every role comes to its end, after {count} events; {others}.")
    last = story(history)[-1]
    how = "it stops" if history.blocked else "it has a race"
    rare = "" if ran.is_plain else ", in an order that nothing rules out"
    return Said(f"{what}: {how}{rare}. {last.text[:1].upper()}{last.text[1:]}.", (last.at,))
