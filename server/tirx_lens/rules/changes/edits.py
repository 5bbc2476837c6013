"""Changes to statements, made so that the text around them stays as its author laid it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Edit
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.queries import statement_span
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Branch
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.rule import KernelView

_STEPS = ("    ", "\t", "  ", "        ")


def whole_lines(source: SourceText, span: Span) -> Span | None:
    """Return the lines of a statement, line end included; None when it shares them with another.

    A comment after the statement goes with it. Of a statement in another text: None.
    """
    if is_elsewhere(span):
        return None
    first, last = source.line_of(span.start), source.line_of(max(span.start, span.end - 1))
    start = source.line_starts[first]
    starts = source.line_starts
    end = starts[last + 1] if last + 1 < len(starts) else len(source.data)
    before = source.data[start : span.start]
    after = source.data[span.end : end].strip()
    if before.strip() or (after and not after.startswith(b"#")):
        return None
    return Span(start, end)


def indentation(source: SourceText, span: Span) -> str:
    """Return the white space before a statement."""
    start = source.line_starts[source.line_of(span.start)]
    return source.data[start : span.start].decode("utf-8", errors="replace")


def indentation_step(source: SourceText, span: Span) -> str:
    """Return what a block is indented by where a statement stands: as the one around it is."""
    inner = indentation(source, span)
    for line in range(source.line_of(span.start) - 1, -1, -1):
        text = source.line_bytes(line).decode("utf-8", errors="replace")
        outer = text[: len(text) - len(text.lstrip())]
        if text.strip() and inner.startswith(outer) and inner != outer:
            step = inner[len(outer) :]
            return step if step in _STEPS else _STEPS[0]
    return _STEPS[0]


def removal(view: KernelView, statement: Span) -> Edit | None:
    """Return the edit that takes a statement out of a kernel's body.

    An `if` that would be left empty goes with it; where something else would be left empty, a
    `pass` stays.
    """
    target = statement
    while True:
        lines = whole_lines(view.source, target)
        block = view.outline.block_of(target)
        if lines is None or block is None:
            return None
        alone = statement_span(block.statements[0])
        has_more = any(statement_span(other) != alone for other in block.statements)
        if has_more or block is view.kernel.body:
            return Edit(lines, "")
        parent = view.outline.branch_around(block)
        if parent is None or not _plain_if(view.source, parent):
            return Edit(target, "pass")
        target = parent.span


def insertion(source: SourceText, lines: Span, anchor: Span, *, after: bool) -> Edit | None:
    """Return the edit that writes the statement on `lines` before or after the one at `anchor`."""
    place = whole_lines(source, anchor)
    if place is None:
        return None
    old = indentation(source, Span(_first_text(source, lines), lines.end)).encode()
    new = indentation(source, anchor).encode()
    moved = source.data[lines.start : lines.end].splitlines(keepends=True)
    written = b"".join(_reindented(line, old, new) for line in moved)
    beside = _line_end(source.data[place.start : place.end])
    offset = place.end if after else place.start
    if after and not beside:  # the anchor is the last line of the text
        ending = _line_end(written)
        written = ending + written.removesuffix(ending)
    elif not _line_end(written):
        written += beside
    return Edit(Span(offset, offset), written.decode("utf-8", errors="replace"))


def dedented(source: SourceText, lines: Span, anchor: Span) -> str:
    """Return the text of whole lines, the first brought to where `anchor` stands."""
    old = indentation(source, Span(_first_text(source, lines), lines.end)).encode()
    new = indentation(source, anchor).encode()
    moved = source.data[lines.start : lines.end].splitlines(keepends=True)
    return b"".join(_reindented(line, old, new) for line in moved).decode("utf-8", "replace")


def _first_text(source: SourceText, lines: Span) -> int:
    data = source.data[lines.start : lines.end]
    return lines.start + len(data) - len(data.lstrip(b" \t"))


def _line_end(line: bytes) -> bytes:
    return line[len(line.rstrip(b"\r\n")) :]


def _reindented(line: bytes, old: bytes, new: bytes) -> bytes:
    return new + line[len(old) :] if line.startswith(old) else line


def _plain_if(source: SourceText, branch: Branch) -> bool:
    """Tell whether a branch is an `if` of its own, with no other side and no comment to lose."""
    text = source.slice(branch.span)
    return text.startswith("if") and not branch.orelse.statements and "#" not in text
