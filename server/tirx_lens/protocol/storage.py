"""Accesses to storage while a program runs, and those that nothing puts in order."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.protocol.history import Hazard, Race
from tirx_lens.protocol.program import Place

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.protocol.program import Area


class By(Enum):
    """What makes an access."""

    THREADS = "ordinary instructions"
    TMA = "the TMA engine"
    MMA = "the tensor core"
    TMEM = "tcgen05.ld or tcgen05.st"


@dataclass(slots=True)
class Access:
    """An access: begun by the event `begun` and surely over with the event `done`, if any is.

    An access by threads is over when it is begun. `is_read` says of a write that it
    is read. `lanes` are those of TMEM that a `tcgen05.ld` or `.st` of its role reaches.
    """

    begun: int
    role: int
    area: Area
    writes: bool
    by: By
    done: int | None = None
    is_read: bool = False
    lanes: int = 0

    def is_over(self, past: int) -> bool:
        """Tell whether it is over for one who knows of `past`."""
        return self.done is not None and bool(past >> self.done & 1)


@dataclass(slots=True)
class Storage:
    """All accesses of a run that may still matter, and the races among them.

    `fences` has the proxy fences of each role, by event number, and what was known at each.
    """

    races: list[Race] = field(default_factory=list)
    fences: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    _accesses: dict[tuple[str, int], list[Access]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _freed: list[tuple[int, int]] = field(default_factory=list)
    _unread: list[tuple[Access, int | None]] = field(default_factory=list)
    _read: set[str] = field(default_factory=set)

    def begin(self, access: Access, past: int) -> Access:
        """Note an access that begins, knowing of `past`, and hold it against those before it."""
        kept: list[Access] = []
        if not access.writes:
            self._read.add(access.area.buffer)
        beside = self._accesses[access.area.buffer, access.area.cta]
        for other in beside:
            if not (other.writes or access.writes) or not other.area.overlaps(access.area):
                kept.append(other)
            elif _is_ordered(other, access, past):
                other.is_read |= not access.writes
                if not _replaces(access, other):
                    kept.append(other)
                elif other.by is By.TMA and other.writes and not other.is_read:
                    self._unread.append((other, access.begun))
                if self._is_unfenced(other, access, past):
                    self._note(Hazard.UNFENCED, other.begun, access.begun, access.area)
            else:
                other.is_read |= not access.writes
                kept.append(other)
                if _surely_meet(other, access):
                    self._note(_hazard(other, access), other.begun, access.begun, access.area)
        kept.append(access)
        self._accesses[access.area.buffer, access.area.cta] = kept
        if access.area.place is Place.TENSOR:
            for freed, cta in self._freed:
                if cta == access.area.cta:
                    self._note(Hazard.FREED, freed, access.begun, access.area)
        return access

    def free(self, event: int, ctas: Iterable[int], past: int) -> None:
        """Note that tensor memory of some CTAs is given back by one who knows of `past`."""
        for cta in ctas:
            self._freed.append((event, cta))
            for accesses in self._accesses.values():
                for one in accesses:
                    mine = one.area.cta == cta and one.area.place is Place.TENSOR
                    if mine and not one.is_over(past):
                        self._note(Hazard.FREED, one.begun, event, one.area)

    def end(self) -> None:
        """Note what is left when the kernel ends: stores that go on, loads for nobody."""
        for accesses in self._accesses.values():
            for one in accesses:
                if one.by is By.TMA and not one.writes and one.done is None:
                    self._note(Hazard.UNFINISHED, one.begun, None, one.area)
                elif one.by is By.TMA and one.writes and not one.is_read:
                    self._unread.append((one, None))
        for one, over in sorted(self._unread, key=lambda pair: pair[0].begun):
            if one.area.buffer in self._read:  # else it is read in ways that are not seen
                self._note(Hazard.UNREAD, one.begun, over, one.area)

    def _is_unfenced(self, first: Access, second: Access, past: int) -> bool:
        """Tell whether an engine reads what threads wrote with no proxy fence in between."""
        if not first.writes or first.by is not By.THREADS or second.writes:
            return False
        if second.by not in (By.TMA, By.MMA) or not first.area.is_exact:
            return False
        return not any(
            known >> first.begun & 1 and past >> fence & 1
            for role in {first.role, second.role}
            for fence, known in self.fences[role]
        )

    def _note(self, hazard: Hazard, first: int, second: int | None, area: Area) -> None:
        self.races.append(Race(hazard, first, second, area))


def _replaces(access: Access, other: Access) -> bool:
    """Tell whether nothing of another access can matter after an access that it is ordered with.

    Threads touch parts of their area that are their own.
    """
    alone = access.by not in (By.THREADS, By.TMEM) or access.role == other.role
    return access.writes and alone and access.area.covers(other.area)


def _surely_meet(first: Access, second: Access) -> bool:
    """Tell whether two accesses whose areas overlap surely have an element in common.

    Threads touch some part of their area, each its own: only all of it has all of theirs.
    """
    if not first.area.is_exact or not second.area.is_exact:
        return False
    one_by_threads = first.by in (By.THREADS, By.TMEM)
    if one_by_threads and not second.area.covers(first.area):
        return False
    return second.by not in (By.THREADS, By.TMEM) or first.area.covers(second.area)


def _is_ordered(first: Access, second: Access, past: int) -> bool:
    by_threads = first.by in (By.THREADS, By.TMEM) and second.by in (By.THREADS, By.TMEM)
    known = first.area.place is Place.REGISTERS or _share_lanes(first, second)
    if by_threads and not known:
        return True  # who touches which element is not known
    if first.role == second.role and first.by is By.MMA and second.by is By.MMA:
        return True  # MMAs of one thread run one after the other
    return first.is_over(past)


def _share_lanes(first: Access, second: Access) -> bool:
    """Tell whether threads of two roles reach the same lanes of TMEM."""
    return first.role != second.role and bool(first.lanes & second.lanes)


def _hazard(first: Access, second: Access) -> Hazard:
    if not second.writes:
        return Hazard.READ_EARLY
    return Hazard.WRITTEN_TWICE if first.writes else Hazard.OVERWRITTEN
