"""A small instance of a kernel's handoffs, written out: what each role does, in order.

Everything is decided here: loops are unrolled, slots and parities are numbers, guards are gone. It
speaks of barrier words, not of expressions, so any front end may make one.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.record import record

if TYPE_CHECKING:
    from tirx_lens.model.span import Span


class Signal(Enum):
    """What ends the phases of a barrier; the value is what a message says of it."""

    THREADS = "threads arrive"
    BYTES = "the bytes of TMA loads arrive"
    COMMIT = "tcgen05.commit arrives when the MMAs before it are done"


@record()
class Word:
    """One mbarrier: slot `slot` of the barrier `barrier` in the SMEM of CTA `cta`.

    `count` is what it is initialised with: the arrivals that end a phase.
    """

    barrier: str
    slot: int
    cta: int
    count: int
    signal: Signal = Signal.THREADS


class Place(Enum):
    """Which memory an area lies in."""

    SHARED = "SMEM"
    TENSOR = "TMEM"
    REGISTERS = "registers"


@record()
class Area:
    """A box of elements of one buffer in the memory of one CTA.

    `bounds` are `(start, stop)` of each dimension, outermost first. Where `is_exact` is false they
    are an upper bound: the access may touch any part of it, or none.
    """

    buffer: str
    cta: int
    bounds: tuple[tuple[int, int], ...]
    place: Place = Place.SHARED
    is_exact: bool = True

    def overlaps(self, other: Area) -> bool:
        """Tell whether the two boxes share an element."""
        if self.buffer != other.buffer or self.cta != other.cta:
            return False
        for (start, stop), (first, end) in zip(self.bounds, other.bounds, strict=False):
            if start >= end or first >= stop:
                return False
        return True

    def covers(self, other: Area) -> bool:
        """Tell whether every element of the other box is in this one."""
        return (
            self.is_exact
            and self.buffer == other.buffer
            and self.cta == other.cta
            and all(
                one[0] <= two[0] and two[1] <= one[1]
                for one, two in zip(self.bounds, other.bounds, strict=False)
            )
        )


class Scope(Enum):
    """Whose threads meet at a barrier that is no mbarrier."""

    WARP = "warp barrier"
    NAMED = "named barrier"
    CTA = "CTA-wide barrier"
    CLUSTER = "cluster-wide barrier"


@record()
class Meeting:
    """A barrier at which threads meet: a named one by its `number`, of one CTA.

    `number` is the warp of the CTA where the scope is `WARP`; a cluster's has CTA -1.
    """

    scope: Scope
    cta: int
    number: int = 0


@record()
class Init:
    """Initialises words. `at` is where it is written."""

    at: Span
    words: tuple[int, ...]


@record()
class Wait:
    """Waits until the phase of parity `parity` of a word is over.

    PTX ISA, mbarrier.try_wait.parity: of the current, incomplete phase the test is false, of the
    phase before it true. So parity 1 passes at a word that has ended no phase.
    """

    at: Span
    word: int
    parity: int


@record()
class Arrive:
    """Arrives at each of some words `arrivals` times, each time having armed it with `bytes`.

    Each time by another thread: a phase that ends before the last has arrived tells who waits for
    it nothing of what the role has done.
    """

    at: Span
    words: tuple[int, ...]
    arrivals: int
    bytes: int = 0


@record()
class Load:
    """A TMA load: writes areas of SMEM some time later, and then tells each word of the bytes."""

    at: Span
    writes: tuple[Area, ...]
    words: tuple[int, ...]
    bytes: int


@record()
class Store:
    """A TMA store: reads an area of SMEM some time later; None where it is not known which."""

    at: Span
    reads: Area | None


@record()
class CloseGroup:
    """Makes the TMA stores of this role so far a bulk group (`commit_group`)."""

    at: Span


@record()
class AwaitGroups:
    """Waits until at most `left` of this role's bulk groups still read SMEM (`wait_group`)."""

    at: Span
    left: int


@record()
class Multiply:
    """An MMA: some time later it has read its operands in SMEM and written its columns in TMEM.

    `adds` says that it accumulates on what is there.
    """

    at: Span
    reads: tuple[Area, ...]
    writes: tuple[Area, ...]
    adds: bool


@record()
class Commit:
    """Arrives once at each of some words when the MMAs that this role issued before are done."""

    at: Span
    words: tuple[int, ...]


@record()
class Touch:
    """Threads read or write an area of SMEM, or registers, by ordinary instructions."""

    at: Span
    area: Area
    writes: bool


@record()
class TmemLoad:
    """Threads begin to read an area of TMEM into registers; `tcgen05.wait.ld` ends it."""

    at: Span
    area: Area
    to: Area | None = None


@record()
class TmemStore:
    """Threads begin to write an area of TMEM; `tcgen05.wait.st` ends it."""

    at: Span
    area: Area


@record()
class AwaitTmem:
    """Waits for this role's loads from TMEM, or its stores to it."""

    at: Span
    loads: bool


@record()
class Meet:
    """Comes to a meeting of `expected` threads; goes on when all are there if it `blocks`.

    Where they are `all_left`, the barrier is of a whole CTA or cluster: threads that leave the
    kernel are not waited for.
    """

    at: Span
    meeting: Meeting
    expected: int
    blocks: bool = True
    all_left: bool = False


@record()
class Fence:
    """Orders this role's writes to SMEM before later reads by the asynchronous proxy."""

    at: Span


@record()
class Free:
    """Gives tensor memory of some CTAs back: `tcgen05.dealloc`."""

    at: Span
    ctas: tuple[int, ...]


@record()
class Spin:
    """Goes round a loop that never ends."""

    at: Span


Step: TypeAlias = (
    "Init | Wait | Arrive | Load | Store | CloseGroup | AwaitGroups | Multiply | Commit | Touch"
    " | TmemLoad | TmemStore | AwaitTmem | Meet | Fence | Free | Spin"
)


@record()
class Role:
    """Threads of one CTA that do the same, in order.

    `family` names the warpgroup that they are in, with whose other threads they often go together;
    `threads` is how many they are: each `Meet` of the role counts so many. The `arrivals` of an
    `Arrive` are those of all of them together. `lanes` has a bit for each lane of TMEM that they
    reach: that of a thread is its number in the warpgroup.
    """

    name: str
    cta: int
    threads: int
    steps: tuple[Step, ...]
    family: str = ""
    lanes: int = 0


@record()
class Program:
    """A whole instance. `size` says in words which one it is: "4 tiles, 9 K tiles"."""

    words: tuple[Word, ...]
    roles: tuple[Role, ...]
    size: str = ""
