"""The texts that a text imports, and places in them.

All places of one analysis are numbers of one line: those of the text itself come first, and each
text it imports has a stretch of its own far behind them. So a place says by itself which text it is
in, and two places are never taken for the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span

STRETCH = 1 << 40
"""Bytes from the start of one text to that of the next: more than any text has."""


def is_elsewhere(span: Span) -> bool:
    """Tell whether a place is in an imported text."""
    return span.start >= STRETCH


@dataclass(frozen=True, slots=True)
class ModuleText:
    """A module of the workspace: where it is, and its text.

    `path` tells it from all others, and is what a report calls it: the absolute path of its file.
    """

    path: str
    source: SourceText

    @property
    def is_package(self) -> bool:
        """Whether modules may stand below it."""
        return self.name == "__init__.py"

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.replace("\\", "/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ImportedText:
    """A module whose code is in a model, and the offset at which its stretch begins."""

    module: ModuleText
    base: int

    def local(self, span: Span) -> Span:
        """Return a place as the offsets in the module's own text."""
        return span.moved(-self.base)


@dataclass(frozen=True)
class TextWithImports(SourceText):
    """A text together with those that it imports: `slice` reads in all of them."""

    imported: tuple[ImportedText, ...] = ()

    def text_of(self, span: Span) -> ImportedText | None:
        """Return the imported text that holds a place; None for the text itself."""
        return self._by_base.get(span.start - span.start % STRETCH)

    def slice(self, span: Span) -> str:
        """Return the text of a span, wherever it is."""
        other = self.text_of(span)
        return (
            super().slice(span) if other is None else other.module.source.slice(other.local(span))
        )

    def line_before(self, offset: int) -> str:
        """Return what stands on a line before a place, wherever it is."""
        other = self.text_of(Span(offset, offset))
        if other is None:
            return super().line_before(offset)
        return other.module.source.line_before(offset - other.base)

    @cached_property
    def _by_base(self) -> dict[int, ImportedText]:
        return {one.base: one for one in self.imported}
