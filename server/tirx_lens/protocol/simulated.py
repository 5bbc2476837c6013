"""A kernel's handoffs run: what comes out, or why they cannot be run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.protocol.explore import explore
from tirx_lens.protocol.follow.follow import follow
from tirx_lens.protocol.follow.unfollowed import Unfollowed
from tirx_lens.protocol.history import Hazard
from tirx_lens.protocol.sizes import sizes

if TYPE_CHECKING:
    from tirx_lens.protocol.history import History
    from tirx_lens.rules.rule import KernelView

_BUDGET = 20_000  # events in all orders together: about as many milliseconds at most
_MOST_ORDERS = 12
_SAID = frozenset(Hazard) - {Hazard.UNREAD}


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of running a kernel.

    `history` is the one to show: the first that stops or has a race, else the plain one; None where
    the kernel is `unfollowed`. `is_plain` says that it is the plain one, in which everybody goes on
    as soon as possible; `is_complete`, that no other order can end differently.
    """

    history: History | None = None
    unfollowed: Unfollowed | None = None
    is_plain: bool = True
    is_complete: bool = False

    @property
    def ends_well(self) -> bool:
        """Whether the run comes to its end with nothing to say."""
        return self.history is not None and not is_bad(self.history)


def simulated(view: KernelView) -> Simulated:
    """Run the handoffs of a kernel; worked out once for all who ask.

    Raise `NoLongerWantedError` where the view's `run_while` says no meanwhile.
    """
    return view.once(_simulated)


def _simulated(view: KernelView) -> Simulated:
    program = follow(view)
    if isinstance(program, Unfollowed):
        return Simulated(unfollowed=program)
    explored = explore(program, _BUDGET, is_bad, _MOST_ORDERS, view.run_while)
    bad = next(filter(is_bad, explored.histories), None)
    plain = explored.histories[0]
    return Simulated(bad or plain, None, bad in (None, plain), explored.is_complete)


@dataclass(frozen=True, slots=True)
class OtherSize:
    """A run of a kernel at another size that does not end well; `size` says at which."""

    size: str
    simulated: Simulated


def at_other_sizes(view: KernelView) -> OtherSize | None:
    """Return the first other size at which a kernel that runs well does not; None if none does."""
    return view.once(_at_other_sizes)


def _at_other_sizes(view: KernelView) -> OtherSize | None:
    if not simulated(view).ends_well:
        return None
    for size in sizes(view):
        ran = simulated(size.view)
        if ran.history is not None and ran.is_plain and is_bad(ran.history):
            return OtherSize(size.text, ran)
    return None


def is_bad(history: History) -> bool:
    """Tell whether a history stops, or has a race that a finding tells of."""
    return bool(history.blocked) or any(race.hazard in _SAID for race in history.races)
