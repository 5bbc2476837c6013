"""Suppression comments: `# tirx-lens: ignore[TX102, TX201]` for a line, `ignore-file` for a file.

Without codes in brackets a comment silences every rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tirx_lens.model.span import Span
from tirx_lens.syntax.comments import comments_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.comments import Comment

EVERY = "TX"
"""What a comment without codes silences: the prefix of all of them."""

_LINE, _FILE = "ignore", "ignore-file"
_DIRECTIVES = ("args", _LINE, _FILE)
_SOME = re.compile(rb"#[ \t]*tirx-lens:[ \t]*(?!args\b)[A-Za-z]")
_DIRECTIVE = re.compile(rb"#[ \t]*tirx-lens:[ \t]*(?P<word>[A-Za-z][\w-]*)")
_LIST = re.compile(rb"[ \t]*\[(?P<codes>[^\]]*)(?P<end>\]?)")
_BARE = re.compile(rb"[ \t]+(TX\d{1,3})\b")
_CODE = re.compile(rb"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Code:
    """A code or prefix of codes, and where it is written."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Suppression:
    """One suppression comment.

    `span` goes from its `#` to its last bracket, so without the words after it. `listed` is what
    stands between the brackets; None where the comment has none and silences every rule. `line` is
    its zero-based line; None where it holds for the whole file.
    """

    span: Span
    line: int | None
    listed: Span | None
    codes: tuple[Code, ...]

    def silencing(self, code: str) -> tuple[Code, ...]:
        """Return the codes in it that silence a rule; the comment's own place stands for all."""
        if self.listed is None:
            return (Code(EVERY, self.span),)
        return tuple(one for one in self.codes if is_code(one.text) and code.startswith(one.text))


@dataclass(frozen=True, slots=True)
class Slip:
    """A comment that is no suppression, or not the one it was meant to be, and what is wrong."""

    span: Span
    message: str


@dataclass(frozen=True)
class Suppressions:
    """The suppression comments of a text, in order, and those that went wrong."""

    comments: tuple[Suppression, ...] = ()
    slips: tuple[Slip, ...] = ()

    def of(self, finding: Finding, source: SourceText) -> Iterator[Suppression]:
        """Yield the comments that silence a finding: on its first or last line, or of the file."""
        if not self.comments:
            return
        first = source.line_of(finding.span.start)
        last = source.line_of(max(finding.span.start, finding.span.end - 1))
        for comment in self.comments:
            if comment.line in (None, first, last) and comment.silencing(finding.code):
                yield comment

    def silence(self, finding: Finding, source: SourceText) -> bool:
        """Tell whether a comment silences a finding."""
        return any(True for _ in self.of(finding, source))


def is_code(text: str) -> bool:
    """Tell whether a word has the form of a code, or of the beginning of one."""
    return text.startswith(EVERY)


def read_suppressions(source: SourceText) -> Suppressions:
    """Find the suppression comments of a text. One that has none costs a search."""
    if _SOME.search(source.data) is None:
        return Suppressions()
    found: list[Suppression] = []
    slips: list[Slip] = []
    for comment in comments_of(source.data):
        for one in _read(comment, source):
            if isinstance(one, Slip):
                slips.append(one)
            else:
                found.append(one)
    return Suppressions(tuple(found), tuple(slips))


def _read(comment: Comment, source: SourceText) -> Iterator[Suppression | Slip]:
    data, end = source.data, comment.span.end
    for directive in _DIRECTIVE.finditer(data, comment.span.start, end):
        word = directive["word"].decode("utf-8", errors="replace")
        place = Span(*directive.span())
        if word not in (_LINE, _FILE):
            near = get_close_matches(word, _DIRECTIVES, n=1, cutoff=0.75)
            if near and near[0] != word:
                said = f"There is no comment `tirx-lens: {word}`: did you mean `{near[0]}`?"
                yield Slip(Span(*directive.span("word")), said)
            continue
        if word == _FILE and not comment.is_above_code:
            said = (
                "`ignore-file` silences nothing here: it counts above the first statement of the "
                "file only, where everybody sees it"
            )
            yield Slip(place, said)
            continue
        line = source.line_of(place.start) if word == _LINE else None
        listed = _LIST.match(data, place.end, end)
        if listed is None:
            if (bare := _BARE.match(data, place.end, end)) is not None:
                code = bare[1].decode()
                said = f"Without brackets this silences every rule: write `{word}[{code}]`"
                yield Slip(Span(place.start, bare.end()), said)
            yield Suppression(place, line, None, ())
        elif not listed["end"]:
            said = f"This silences nothing: the `]` after the codes of `{word}[` is missing"
            yield Slip(Span(place.start, listed.end()), said)
        else:
            codes = _CODE.finditer(data, *listed.span("codes"))
            yield Suppression(
                Span(place.start, listed.end()),
                line,
                Span(*listed.span("codes")),
                tuple(
                    Code(code[0].decode("utf-8", errors="replace"), Span(*code.span()))
                    for code in codes
                ),
            )
