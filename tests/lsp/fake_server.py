"""A server whose analysis is the test's own: it finds words, and each word stands for a case.

Run as a program it serves on standard input and output. `BAD` gets a safe fix, `RISKY` an unsafe
one, `NOTE` none; `SLOW` makes the analysis last half a second, `BREAK` makes it raise.
"""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

from tirx_lens.analysis import Analysis
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.analysis import Selection
    from tirx_lens.model.source import SourceText

SLOWNESS = 0.5


def analyse(source: SourceText, selection: Selection) -> Analysis:
    if b"SLOW" in source.data:
        time.sleep(SLOWNESS)
    if b"BREAK" in source.data:
        raise RuntimeError("the analysis broke")
    findings = []
    for match in re.finditer(rb"BAD|RISKY|NOTE", source.data):
        line = source.line_bytes(source.line_of(match.start()))
        code = {b"BAD": "TX901", b"RISKY": "TX902", b"NOTE": "TX903"}[match.group()]
        if selection.admits(code) and not re.search(rf"ignore\[.*{code}".encode(), line):
            findings.append(_finding(code, Span(match.start(), match.end())))
    return Analysis(source, tuple(findings))


def _finding(code: str, span: Span) -> Finding:
    fix = None
    if code != "TX903":
        applicability = Applicability.SAFE if code == "TX901" else Applicability.UNSAFE
        fix = Fix("Write good instead", applicability, (Edit(span, "good"),))
    severity = Severity.ERROR if code == "TX901" else Severity.WARNING
    related = (Related(Span(0, 4), "the text begins here"),)
    return Finding(code, "bad-word", severity, "This word is bad.", span, fix, related)


if __name__ == "__main__":
    from tirx_lens.lsp.logs import log_to_stderr
    from tirx_lens.lsp.server import create_server
    from tirx_lens.lsp.stdio import serve

    log_to_stderr("info")
    sys.exit(serve(create_server(analyse)))
