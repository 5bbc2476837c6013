"""One file and what was found in it: what every report is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file by the path it was named by, its text, and its findings in order."""

    path: Path
    source: SourceText
    findings: tuple[Finding, ...]


def has_safe_fix(finding: Finding) -> bool:
    """Tell whether `--fix` alone would mend a finding."""
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE
