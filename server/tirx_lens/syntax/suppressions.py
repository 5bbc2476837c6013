"""Suppression comments: `# tirx-lens: ignore[TX102, TX201]` or `# tirx-lens: ignore`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText

_MARK = b"tirx-lens:"
_COMMENT = re.compile(r"#\s*tirx-lens:\s*ignore\b(?:\s*\[([^\]]*)\])?")
EVERY = "TX"


@dataclass(frozen=True)
class Suppressions:
    """Which rules are silent on which lines: code prefixes by zero-based line."""

    by_line: Mapping[int, tuple[str, ...]]

    def silence(self, finding: Finding, source: SourceText) -> bool:
        """Tell whether a comment on the finding's first or last line silences it."""
        if not self.by_line:
            return False
        first = source.line_of(finding.span.start)
        last = source.line_of(max(finding.span.start, finding.span.end - 1))
        prefixes = (*self.by_line.get(first, ()), *self.by_line.get(last, ()))
        return any(finding.code.startswith(prefix) for prefix in prefixes)


def read_suppressions(source: SourceText) -> Suppressions:
    """Find the suppression comments of a text."""
    by_line: dict[int, tuple[str, ...]] = {}
    if _MARK in source.data:
        for number in range(len(source.line_starts)):
            line = source.line_bytes(number)
            if _MARK in line:
                matched = _COMMENT.search(line.decode("utf-8", errors="replace"))
                if matched is not None:
                    by_line[number] = _codes(matched.group(1))
    return Suppressions(by_line)


def _codes(listed: str | None) -> tuple[str, ...]:
    if listed is None:
        return (EVERY,)
    return tuple(code for code in re.split(r"[\s,]+", listed.strip()) if code.startswith(EVERY))
