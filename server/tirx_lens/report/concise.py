"""Findings one a line: `file.py:12:5: TX102 error: ...`, as compilers and linters write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.report.checked import has_safe_fix
from tirx_lens.report.paths import shown_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.finding import Finding
    from tirx_lens.report.checked import CheckedFile


def concise(files: Iterable[CheckedFile]) -> Iterator[str]:
    """Yield a line for each finding; `[*]` marks those that `--fix` would mend."""
    for file in files:
        for finding in file.findings:
            yield (
                f"{file.shown_place(finding.span)}: {finding.code} "
                f"{finding.severity.value}: {_mark(finding)}{shown_text(finding.message)}"
            )


def summary(files: Iterable[CheckedFile]) -> str:
    """Say how many findings there are and how many `--fix` would mend."""
    findings = [finding for file in files for finding in file.findings]
    if not findings:
        return "No problems found."
    noun = "problem" if len(findings) == 1 else "problems"
    safe = sum(has_safe_fix(finding) for finding in findings)
    unsafe = sum(finding.fix is not None for finding in findings) - safe
    hints = []
    if safe:
        hints.append(f"{safe} fixable with `--fix`, marked [*]")
    if unsafe:
        hints.append(f"{unsafe} {'more' if safe else 'fixable'} with `--fix --unsafe-fixes`")
    hint = f" ({'; '.join(hints)})" if hints else ""
    return f"Found {len(findings)} {noun}{hint}."


def _mark(finding: Finding) -> str:
    return "[*] " if has_safe_fix(finding) else ""
