"""What a rule says: a finding, the places it is about, and the change that mends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.model.span import Span


class Severity(Enum):
    """How sure and how bad; the meaning of each level is fixed in `docs/rules/README.md`."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class Applicability(Enum):
    """Whether a fix may be applied unread (safe) or wants its author's eyes (unsafe)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `text`. An empty span inserts, an empty text deletes."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that mends a finding. `message` is an imperative: "Move init() before ..."."""

    message: str
    applicability: Applicability
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place the finding is about, in the same text, and what is there."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule found.

    `code` and `name` are those of the rule ("TX102", "cta-sync-divergent"); `related` holds other
    places in the order a reader should visit them, the call stack of inlined code included.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    fix: Fix | None = None
    related: tuple[Related, ...] = field(default=())
