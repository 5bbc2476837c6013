from __future__ import annotations

import pytest

from tirx_lens.fixes import apply_edits
from tirx_lens.lsp.suppress import suppression
from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.syntax.suppressions import read_suppressions

MARK = "# tirx-lens: ignore[TX102]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(x)", f"f(x)  {MARK}"),
        ("f(x)   \r\ny\r\n", f"f(x)  {MARK}\r\ny\r\n"),
        ("'内😀'; f(x)  # 注", f"'内😀'; f(x)  # 注  {MARK}"),
        ("f(\n    x,\n)\n", f"f(  {MARK}\n    x,\n)\n"),
        ("f \\\n(x)\n", f"f \\\n(x)  {MARK}\n"),
        ("f(x)  # tirx-lens:ignore[TX1]", "f(x)  # tirx-lens:ignore[TX1, TX102]"),
        ("f \\\n(x)  # tirx-lens: ignore[ TX9 ]", "f \\\n(x)  # tirx-lens: ignore[ TX9 , TX102]"),
    ],
)
def test_the_comment_goes_where_the_analysis_looks_for_it(text, expected):
    source = SourceText(text)
    span = Span(source.data.index(b"f"), source.data.rindex(b")") + 1)
    finding = Finding("TX102", "cta-sync-divergent", Severity.ERROR, "m", span)
    edit = suppression(source, finding)
    silenced = apply_edits(source, [edit])
    assert silenced.text == expected
    moved = Finding("TX102", "n", Severity.ERROR, "m", Span(span.start, span.start + 1))
    last = Finding("TX102", "n", Severity.ERROR, "m", Span(span.start, silenced.data.index(b")")))
    suppressions = read_suppressions(silenced)
    assert suppressions.silence(moved, silenced) or suppressions.silence(last, silenced)


def test_no_comment_can_stand_after_a_backslash():
    source = SourceText("f(x) \\\n + 1")
    finding = Finding("TX102", "n", Severity.ERROR, "m", Span(0, 4))
    assert suppression(source, finding) is None
