"""Colours of a terminal, by what they mean here."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_lens.model.finding import Severity

_SEVERITIES = {
    Severity.ERROR: "1;31",
    Severity.WARNING: "1;33",
    Severity.INFORMATION: "1;36",
    Severity.HINT: "1;32",
}


@dataclass(frozen=True, slots=True)
class Palette:
    """Paints text with the escape sequences of ECMA-48, or leaves it as it is."""

    coloured: bool = False

    def severity(self, severity: Severity, text: str) -> str:
        """Paint what belongs to a finding of this severity."""
        return self._paint(_SEVERITIES[severity], text)

    def strong(self, text: str) -> str:
        """Paint what is read first."""
        return self._paint("1", text)

    def frame(self, text: str) -> str:
        """Paint what stands around a source text, and marks of second rank."""
        return self._paint("1;34", text)

    def removed(self, text: str) -> str:
        """Paint a line that goes."""
        return self._paint("31", text)

    def added(self, text: str) -> str:
        """Paint a line that comes."""
        return self._paint("32", text)

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured and text else text
