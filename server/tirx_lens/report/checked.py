"""One file and what was found in it: what every report is made from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability
from tirx_lens.report.paths import path_beside, shown_path

if TYPE_CHECKING:
    from tirx_lens.model.finding import Finding, Related
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text, and the path that reports call it by."""

    path: Path
    source: SourceText

    def shown_place(self, span: Span) -> str:
        """Return where a place begins as people read it: path, cell of a notebook, line, column."""
        part = self.source.part(span)
        where = part.source.position(part.span.start)
        return f"{shown_path(self.path)}:{part.prefix}{where.line + 1}:{where.column + 1}"


@dataclass(frozen=True, slots=True)
class CheckedFile(NamedText):
    """A file by the path it was named by, its text, and its findings in order."""

    findings: tuple[Finding, ...]

    def holder_of(self, related: Related) -> NamedText:
        """Return the text that a related place is in: this one, or that of an imported module."""
        module = related.module
        if module is None:
            return self
        return NamedText(path_beside(Path(module.path), self.path), module.source)


def has_safe_fix(finding: Finding) -> bool:
    """Tell whether `--fix` alone would mend a finding."""
    return finding.fix is not None and finding.fix.applicability is Applicability.SAFE
