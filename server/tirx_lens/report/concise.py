"""Findings one a line: `file.py:12:5: TX102 error: ...`, as compilers and linters write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.finding import Finding
    from tirx_lens.report.checked import CheckedFile


def concise(files: Iterable[CheckedFile]) -> Iterator[str]:
    """Yield a line for each finding; `[*]` marks those that `--fix` would mend."""
    for file in files:
        for finding in file.findings:
            where = file.source.position(finding.span.start)
            yield (
                f"{file.path}:{where.line + 1}:{where.column + 1}: {finding.code} "
                f"{finding.severity.value}: {_mark(finding)}{finding.message}"
            )


def summary(files: Iterable[CheckedFile]) -> str:
    """Say how many findings there are and how many `--fix` would mend."""
    findings = [finding for file in files for finding in file.findings]
    if not findings:
        return "No problems found."
    noun = "problem" if len(findings) == 1 else "problems"
    fixable = sum(_is_safe(finding) for finding in findings)
    hint = f" ({fixable} fixable with `--fix`, marked [*])" if fixable else ""
    return f"Found {len(findings)} {noun}{hint}."


def _mark(finding: Finding) -> str:
    return "[*] " if _is_safe(finding) else ""


def _is_safe(finding: Finding) -> bool:
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE
