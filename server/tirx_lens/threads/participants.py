"""The set of threads that reach a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kind import Kind
from tirx_lens.model.record import record
from tirx_lens.threads.condition import Condition, Unsure
from tirx_lens.threads.shape import WARPGROUP
from tirx_lens.threads.warps import lowest_lanes, warps_touched

if TYPE_CHECKING:
    from tirx_lens.threads.shape import Shape


class Pick(Kind):
    """Which of the possible threads come."""

    ALL = "all"
    ONE_PER_WARP = "one elected lane of each warp"
    ALL_BUT_ONE = "all but one lane of each warp"
    SOME = "some, not known which"


@record()
class Participants:
    """The threads that reach a statement.

    `possible` is an upper bound that is always right: a thread outside it never comes. `pick` says
    which of it do. `conditional` means that what decides is not known but alike for all of them
    (`if m < M:`, `while scheduler.valid():`), so they come together or not at all.

    `typical` is the set in one run, with each unknown guard passed and the lowest lane elected: it
    is there to compare places of one kernel with each other, not to prove something about a lane.
    """

    possible: int
    typical: int
    pick: Pick = Pick.ALL
    conditional: bool = False

    def narrowed(self, condition: Condition, shape: Shape) -> Participants:
        """Return the threads of this set that go on where `condition` holds."""
        possible = self.possible & (condition.yes | condition.maybe)
        typical = self.typical & (condition.yes | condition.maybe)
        unsure = self.possible & condition.maybe
        if not unsure:
            whole = self.possible & warps_touched(possible, shape) == possible
            pick = self.pick if self.pick is Pick.ALL or whole else Pick.SOME
            return Participants(possible, typical, pick, self.conditional)
        if self.possible & condition.yes:  # some surely, others perhaps
            return Participants(possible, typical, Pick.SOME, self.conditional)
        match condition.unsure:
            case Unsure.UNIFORM:
                return Participants(possible, typical, self.pick, conditional=True)
            case Unsure.ELECTED:
                pick = Pick.SOME if self.pick is Pick.SOME else Pick.ONE_PER_WARP
                elected = lowest_lanes(typical, shape)
                return Participants(possible, elected, pick, self.conditional)
            case Unsure.NOT_ELECTED:
                pick = Pick.ALL_BUT_ONE if self.pick is Pick.ALL else Pick.SOME
                rest = typical & ~lowest_lanes(typical, shape)
                return Participants(possible, rest, pick, self.conditional)
            case Unsure.UNKNOWN:
                return Participants(possible, typical, Pick.SOME, self.conditional)

    def without(self, gone: Participants) -> Participants:
        """Return what is left of this set after `gone` of it has left (`return`, `continue`)."""
        if not gone.possible & self.possible:
            return self
        typical = self.typical & ~gone.typical
        if gone.conditional or gone.pick is not Pick.ALL:
            left = self.typical if gone.conditional else typical
            same_fate = gone.possible & self.possible == self.possible and gone.conditional
            pick = self.pick if same_fate and gone.pick is Pick.ALL else Pick.SOME
            return Participants(self.possible, left, pick, conditional=True)
        return Participants(self.possible & ~gone.possible, typical, self.pick, self.conditional)

    def count(self, shape: Shape) -> int | None:
        """Return how many threads come, when that is known."""
        if self.pick is Pick.ALL:
            return self.possible.bit_count()
        elected = lowest_lanes(self.possible, shape).bit_count()
        if self.pick is Pick.ONE_PER_WARP:
            return elected
        return self.possible.bit_count() - elected if self.pick is Pick.ALL_BUT_ONE else None


def everyone(shape: Shape) -> Participants:
    """Return the threads that enter a kernel."""
    return Participants(shape.everyone, shape.everyone)


def only_warpgroup(who: Participants, shape: Shape) -> int | None:
    """Return the warpgroup whose 128 threads, and no others, come in each CTA that comes."""
    if who.pick is not Pick.ALL or not who.possible:
        return None
    for number in range(shape.threads // WARPGROUP):
        groups = [shape.warpgroup(number, cta) for cta in range(shape.ctas)]
        if who.possible == sum(group for group in groups if group & who.possible):
            return number
    return None
