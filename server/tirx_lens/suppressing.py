"""Findings held against the comments of their text, and the comments against the findings.

Two findings come from here and from no rule: `invalid-suppression`, a comment that cannot do what
it was written for, and `unused-suppression`, one that silences nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import (
    INVALID_SUPPRESSION,
    UNUSED_SUPPRESSION,
    Applicability,
    Edit,
    Finding,
    Fix,
    Severity,
)
from tirx_lens.model.span import Span
from tirx_lens.rules.codes import PREFIX, asked_under, codes_under, unknown_code
from tirx_lens.syntax.sharing import shared_definitions
from tirx_lens.syntax.suppressions import read_suppressions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.suppressions import Code, Suppression, Suppressions


def hold_against_comments(
    source: SourceText, findings: Sequence[Finding], reports: Callable[[str], bool] | None
) -> tuple[Finding, ...]:
    """Drop the findings that comments silence, and add what is wrong with the comments.

    `findings` are in order. `reports` tells of a code whether its rule ran; None where comments
    that silence nothing are not wanted, or cannot be told from others.
    """
    suppressions = read_suppressions(source)
    if not suppressions.comments and not suppressions.slips:
        return tuple(findings)
    used: set[Span] = set()
    left: list[Finding] = []
    for finding in findings:
        silencing = tuple(suppressions.of(finding, source))
        for comment in silencing:
            used.update(code.span for code in comment.silencing(finding.code))
        if not silencing:
            left.append(finding)
    left += _invalid(suppressions)
    if reports is not None:
        unused = [
            (comment, found)
            for comment in suppressions.comments
            for found in _unused(comment, used, source, reports)
        ]
        shared = shared_definitions(source) if unused else ()
        left += [
            found.fitted(source)
            for comment, found in unused
            if not _may_work_elsewhere(comment, shared)
        ]
    return tuple(sorted(left, key=lambda found: (found.span.start, found.code)))


def _may_work_elsewhere(comment: Suppression, shared: Sequence[Span]) -> bool:
    """Tell whether a comment may silence what kernels of other files do with code of this one."""
    if comment.line is None:
        return bool(shared)
    return any(place.contains(comment.span) for place in shared)


def _invalid(suppressions: Suppressions) -> Iterator[Finding]:
    for slip in suppressions.slips:
        yield _warning(INVALID_SUPPRESSION, slip.span, slip.message)
    for comment in suppressions.comments:
        for code in comment.codes:
            if not codes_under(code.text):
                said = unknown_code(code.text)
                message = f"`{code.text}` silences nothing: {said}"
                yield _warning(INVALID_SUPPRESSION, code.span, message)


def _unused(
    comment: Suppression, used: set[Span], source: SourceText, reports: Callable[[str], bool]
) -> Iterator[Finding]:
    place = "here" if comment.line is not None else "in this file"
    if comment.listed is None:
        if comment.span not in used and _all_ran(PREFIX, reports):
            message = f"No rule finds anything {place}, so this comment silences nothing"
            yield _warning(UNUSED_SUPPRESSION, comment.span, message, _without(comment, source))
        return
    unused = [
        code for code in comment.codes if code.span not in used and _all_ran(code.text, reports)
    ]
    kept = [code for code in comment.codes if code not in unused]
    if not kept:
        named = " and ".join(f"`{code.text}`" for code in unused)
        why = f"{named} {'find' if len(unused) > 1 else 'finds'} nothing {place}"
        why = why if unused else "This comment names no code"
        message = f"{why}, so this comment silences nothing"
        yield _warning(UNUSED_SUPPRESSION, comment.span, message, _without(comment, source))
        return
    for code in unused:
        message = f"`{code.text}` finds nothing {place}, so it silences nothing"
        yield _warning(
            UNUSED_SUPPRESSION, code.span, message, _with_only(comment.listed, kept, unused)
        )


def _all_ran(prefix: str, reports: Callable[[str], bool]) -> bool:
    codes = asked_under(prefix)  # what only a build reports is never unused here
    return bool(codes) and all(map(reports, codes))


def _warning(name: str, span: Span, message: str, fix: Fix | None = None) -> Finding:
    return Finding(name, name, Severity.WARNING, message, span, fix)


def _with_only(listed: Span, kept: Sequence[Code], unused: Sequence[Code]) -> Fix:
    """Return the fix that leaves only some codes: the same for each that goes."""
    named = " and ".join(code.text for code in unused)
    text = ", ".join(code.text for code in kept)
    return Fix(f"Remove {named} from the comment", Applicability.SAFE, (Edit(listed, text),))


def _without(comment: Suppression, source: SourceText) -> Fix:
    """Return the fix that takes a comment away; words around it stay a comment.

    A line that holds nothing else goes too.
    """
    data, start, end = source.data, comment.span.start, comment.span.end
    line = source.line_of(start)
    line_start = source.line_starts[line]
    line_end = line_start + len(source.line_bytes(line))
    before, after = data[line_start:start], data[end:line_end]
    words = after.lstrip()
    if words:
        end = line_end - len(words)
        edit = Edit(Span(start, end), "" if words.startswith(b"#") else "# ")
    elif before.strip():
        edit = Edit(Span(line_start + len(before.rstrip()), line_end), "")
    else:
        is_last = line + 1 == len(source.line_starts)
        edit = Edit(Span(line_start, len(data) if is_last else source.line_starts[line + 1]), "")
    return Fix("Remove the comment", Applicability.SAFE, (edit,))
