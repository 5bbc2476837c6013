"""What holds of the analysis of any text."""

from __future__ import annotations

from itertools import pairwise

from tirx_lens.analysis import Analysis, analyse
from tirx_lens.fixes import MAX_ROUNDS, apply_safe_fixes
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span


def sound(text: str) -> Analysis:
    """Analyse a text: nothing fails, and every place and edit lies in the text."""
    source = SourceText(text)
    analysis = analyse(source)
    assert not analysis.failures, analysis.failures
    whole = Span(0, len(source.data))
    for finding in analysis.findings:
        places = [finding.span, *(related.span for related in finding.related)]
        edits = sorted(finding.fix.edits, key=lambda edit: edit.span) if finding.fix else []
        for place in (*places, *(edit.span for edit in edits)):
            assert place.start <= place.end, finding
            assert whole.contains(place), finding
            source.data[place.start : place.end].decode()  # cuts no character in two
        for one, other in pairwise(edits):
            assert one.span.end <= other.span.start, finding
        assert "\x00line" not in finding.message
    return analysis


def mends(text: str) -> None:
    """Apply all fixes: what comes of it is as sound, and has nothing left to apply."""
    fixed = apply_safe_fixes(SourceText(text), analyse, unsafe=True)
    if not fixed.applied:
        return
    sound(fixed.text)
    if fixed.applied < MAX_ROUNDS:
        again = apply_safe_fixes(SourceText(fixed.text), analyse, unsafe=True)
        assert again.text == fixed.text
