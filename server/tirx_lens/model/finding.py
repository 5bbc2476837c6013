"""What a rule says: a finding, the places it is about, and the change that mends it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.model.imported import ModuleText
    from tirx_lens.model.source import SourceText

    Move = Callable[[Span], Span]

_BARE_LINE_END = re.compile(r"(?<!\r)\n")
LINE_MARK = re.compile("\ufdd0(\\d+)\ufdd1")
"""What `line_mark` makes; the group is the offset."""

INVALID_SUPPRESSION = "invalid-suppression"
"""Code and name of what is said of a suppression comment that cannot do what it was written for."""

UNUSED_SUPPRESSION = "unused-suppression"
"""Code and name of what is said of a suppression comment, or a code in one, that silences nothing.

It goes without harm, so editors show it faded.
"""


def line_mark(offset: int) -> str:
    """Return what stands in a message for the line of a byte offset.

    Lines above a kernel come and go while its findings stay: the number is filled in when they are
    shown. The mark is made of code points that no text uses.
    """
    return f"\ufdd0{offset}\ufdd1"


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

    def moved(self, move: Move) -> Edit:
        """Return the edit with its place moved."""
        return Edit(move(self.span), self.text)

    def with_line_ends(self, source: SourceText) -> Edit:
        r"""Return the edit with each `\n` of its own as the line end of the text around it."""
        if "\n" not in self.text:
            return self
        ending = source.line_end(source.line_of(self.span.start))
        return Edit(self.span, _BARE_LINE_END.sub(ending, self.text))


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that mends a finding. `message` is an imperative: "Move init() before ..."."""

    message: str
    applicability: Applicability
    edits: tuple[Edit, ...]

    def moved(self, move: Move) -> Fix:
        """Return the fix with its places moved."""
        edits = tuple(edit.moved(move) for edit in self.edits)
        return Fix(_with_moved_marks(self.message, move), self.applicability, edits)

    def with_line_ends(self, source: SourceText) -> Fix:
        """Return the fix with the line ends of the text that it is for."""
        edits = tuple(edit.with_line_ends(source) for edit in self.edits)
        return replace(self, edits=edits)


@dataclass(frozen=True, slots=True)
class Related:
    """Another place the finding is about, and what is there.

    `module` is the imported module whose text the place is in; None for the text of the finding.
    """

    span: Span
    message: str
    module: ModuleText | None = None

    def moved(self, move: Move) -> Related:
        """Return the place moved, if it is in the text itself."""
        span = self.span if self.module is not None else move(self.span)
        return Related(span, _with_moved_marks(self.message, move), self.module)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a rule found.

    `code` and `name` are those of the rule ("TX102", "cta-sync-divergent"); `related` holds other
    places in the order a reader should visit them, the call stack of inlined code included. What is
    found in comments and configurations is found by no rule: its code is its name. Of what another
    program said, the message is one sentence and `detail` the whole text.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    fix: Fix | None = None
    related: tuple[Related, ...] = field(default=())
    detail: str = ""

    @property
    def is_of_rule(self) -> bool:
        """Whether a rule found it, which can be ignored."""
        return self.code != self.name

    def moved(self, move: Move) -> Finding:
        """Return the finding with every place it names moved."""
        return replace(
            self,
            message=_with_moved_marks(self.message, move),
            span=move(self.span),
            fix=self.fix.moved(move) if self.fix is not None else None,
            related=tuple(related.moved(move) for related in self.related),
        )

    def fitted(self, source: SourceText) -> Finding:
        """Return the finding as it is shown and applied in a text.

        Its messages have one-based line numbers where they had line marks, its fix the line ends of
        the text. A fix that cannot be made there is left out.
        """

        def spelled(message: str) -> str:
            return LINE_MARK.sub(
                lambda mark: source.named_line(int(mark[1]), self.span.start), message
            )

        can_be_made = self.fix is not None and all(
            source.may_edit(edit.span) for edit in self.fix.edits
        )
        return replace(
            self,
            message=spelled(self.message),
            fix=(
                replace(self.fix.with_line_ends(source), message=spelled(self.fix.message))
                if self.fix is not None and can_be_made
                else None
            ),
            related=tuple(replace(r, message=spelled(r.message)) for r in self.related),
        )


def _with_moved_marks(message: str, move: Move) -> str:
    def moved(mark: re.Match[str]) -> str:
        return line_mark(move(Span(int(mark[1]), int(mark[1]))).start)

    return LINE_MARK.sub(moved, message)
