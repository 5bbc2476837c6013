"""What a guide from a symptom is made of: suspects, each a fact of this kernel with its places."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.cuda.resources import Resources
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.worksheet.sheet import KernelSheet
    from tirx_lens.rules.rule import KernelView


class Standing(Enum):
    """What is known of a suspect; the order of the members is that in which to look.

    The value is the heading that reports give them.
    """

    FOUND = "Found"
    ODD = "Unusual here"
    OPEN = "Not decided"
    LOOK = "To look at"
    GOOD = "Checked: rule these out"


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing to check: its name, what a mistake in it does on the hardware, and how to check."""

    title: str
    means: str
    check: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fact of the kernel with its numbers, and where it is written.

    `code` is that of the rule that found it, None where no rule did.
    """

    standing: Standing
    topic: Topic
    fact: str
    places: tuple[Span, ...] = ()
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known of one kernel.

    `findings` are of the rules, of builds too, and their places in or around the kernel.
    `resources` is what a build says that it takes of the GPU; None where it was not built.
    """

    view: KernelView
    sheet: KernelSheet
    findings: tuple[Finding, ...] = ()
    resources: tuple[Resources, ...] | None = None


@dataclass(frozen=True, slots=True)
class KernelSuspects:
    """The suspects of one kernel in the order in which to look, what is checked and good last.

    `others` are findings of rules whose mistakes usually show in another way. `is_whole` is false
    where statements of the kernel could not be read: then little can be said.
    """

    name: str
    builder: str | None
    place: Span
    suspects: tuple[Suspect, ...]
    others: tuple[Suspect, ...] = ()
    is_whole: bool = True

    @property
    def to_look_at(self) -> tuple[Suspect, ...]:
        """All that is not known to be good."""
        return tuple(one for one in self.suspects if one.standing is not Standing.GOOD)

    @property
    def checked(self) -> tuple[Suspect, ...]:
        """What is known to be good."""
        return tuple(one for one in self.suspects if one.standing is Standing.GOOD)
