"""What findings that come of a run show: its story, and the races of one kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Related
from tirx_lens.protocol.simulated import at_other_sizes, simulated
from tirx_lens.protocol.story import race_story
from tirx_lens.protocol.wording import area_name, role_name
from tirx_lens.rules.facts.finished import is_finished

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.history import Hazard, History, Race
    from tirx_lens.protocol.program import Place
    from tirx_lens.protocol.story import StoryStep
    from tirx_lens.rules.rule import KernelView


_MOST_PLACES = 2  # one mistake races at many


def races_of(
    view: KernelView, hazards: Collection[Hazard], places: Collection[Place] | None = None
) -> Iterator[RaceFound]:
    """Yield the races of some kinds in a run of a kernel that comes to its end, one a place.

    Of a run that stops nothing is said but that: what it was about to wait for is not known.
    """
    history = simulated(view).history if is_finished(view) else None
    if history is not None and not history.blocked:
        yield from _of(history, hazards, places)


def races_at_other_sizes(
    view: KernelView, hazards: Collection[Hazard], places: Collection[Place] | None = None
) -> Iterator[tuple[str, RaceFound]]:
    """Yield the same of a run at another size, with that size in words."""
    other = at_other_sizes(view) if is_finished(view) else None
    history = other.simulated.history if other is not None else None
    if other is not None and history is not None and not history.blocked:
        for found in _of(history, hazards, places):
            yield other.size, found


def _of(
    history: History, hazards: Collection[Hazard], places: Collection[Place] | None
) -> Iterator[RaceFound]:
    seen: set[Span] = set()
    for race in history.races:
        inside = places is None or (race.area is not None and race.area.place in places)
        found = RaceFound(history, race)
        if race.hazard in hazards and inside and found.at not in seen:
            seen.add(found.at)
            yield found
            if len(seen) == _MOST_PLACES:
                return


@dataclass(frozen=True, slots=True)
class RaceFound:
    """A race as a finding shows it: at the second access, or the only one."""

    history: History
    race: Race

    @property
    def at(self) -> Span:
        """Where it is shown."""
        second = self.race.second
        return self.history.events[self.race.first if second is None else second].step.at

    @property
    def other(self) -> Span:
        """Where the first access is written."""
        return self.history.events[self.race.first].step.at

    @property
    def who(self) -> str:
        """Who makes the access that is shown."""
        second = self.race.second
        event = self.history.events[self.race.first if second is None else second]
        return role_name(self.history.program, event.role)

    @property
    def first_who(self) -> str:
        """Who makes the first access."""
        return role_name(self.history.program, self.history.events[self.race.first].role)

    @property
    def area(self) -> str:
        """What they share."""
        return area_name(self.race.area)

    @property
    def related(self) -> list[Related]:
        """Both accesses, and what came before them."""
        return told(race_story(self.history, self.race))


def told(steps: Iterable[StoryStep]) -> list[Related]:
    """Return the steps of a story as related places, numbered."""
    return [Related(step.at, f"{step.number}. {step.text}") for step in steps]
