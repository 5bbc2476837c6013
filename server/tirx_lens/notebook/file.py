"""Notebook files: the cells in them, and the same file with other cells.

A file of Jupyter's is JSON (nbformat 4). It is read with the place of each cell's source, so that
writing it again changes the lines of sources that have changed and no other byte.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tirx_lens.model.span import Span
from tirx_lens.notebook.text import Cell, CellText, NotebookText, join

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.model.source import SourceText

LARGEST = 100 << 20
"""Bytes of a notebook that is still read: a larger one has hardly more code, and costs seconds."""

SUFFIX = ".ipynb"

_FORMAT = 4
_BLANKS = re.compile(r"[ \t\r\n]*")
_PYTHON = "python"


@dataclass(frozen=True)
class NotebookFile:
    """A notebook as it is on disk: its bytes, the code in it, and where that stands.

    `spans` has the place, in characters of the decoded file, of the source of each cell by its
    number.
    """

    data: bytes
    json: str
    source: NotebookText
    spans: dict[int, Span]

    encoding = "JSON"

    def encoded(self, text: SourceText) -> bytes | None:
        """Return the file with other sources in its cells; None where it cannot hold them."""
        if not isinstance(text, NotebookText):
            return None
        pieces: list[str] = []
        done = 0
        for before, after in zip(self.source.cells, text.cells, strict=True):
            old, new = before.cell.source.text, after.cell.source.text
            if old == new:
                continue
            if not _is_unicode(old):
                return None  # its text is not all of what the file holds
            span = self.spans[before.cell.number]
            pieces += [self.json[done : span.start], self._written(span, new)]
            done = span.end
        pieces.append(self.json[done:])
        try:
            return "".join(pieces).encode("utf-8")
        except UnicodeError:
            return None

    def _written(self, span: Span, text: str) -> str:
        """Write a source in the style of the one that stood there: a list of lines, or a string."""
        plain = self._is_ascii
        if self.json[span.start] != "[":
            return json.dumps(text, ensure_ascii=plain)
        items = [*_items(self.json, span.start)]
        lines = text.splitlines(keepends=True)
        if not items or not lines:
            return json.dumps(lines, ensure_ascii=plain)
        known = {str(item.value): self.json[item.start : item.end] for item in items}
        before = self.json[span.start : items[0].start]
        after = self.json[items[-1].end : span.end]
        between = f",{before[1:]}"
        if len(items) > 1:
            between = self.json[items[0].end : items[1].start]
        written = (
            known[line] if line in known else json.dumps(line, ensure_ascii=plain) for line in lines
        )
        return before + between.join(written) + after

    @cached_property
    def _is_ascii(self) -> bool:
        return self.json.isascii()


def read_notebook(data: bytes) -> NotebookFile | str:
    """Read the bytes of a notebook; a `str` says why that cannot be done."""
    if len(data) > LARGEST:
        return f"larger than {LARGEST >> 20} MiB: too large for a notebook that is to be checked"
    try:
        text = data.decode("utf-8")
    except UnicodeError:
        return "no notebook: it is not UTF-8 text"
    try:
        return _read(data, text)
    except json.JSONDecodeError as error:
        return f"no notebook: it is broken JSON, line {error.lineno}: {error.msg}"
    except RecursionError:
        return "no notebook: its JSON is nested too deeply"
    except ValueError as error:  # a number with too many digits, too
        return f"no notebook: {error}"


class _StrangeError(ValueError):
    """JSON that is no notebook of a kind that is read; the text says why."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of the JSON, and its place in characters."""

    value: Any
    start: int
    end: int


def _read(data: bytes, text: str) -> NotebookFile:
    at = _skipped(text, 1 if text.startswith("\ufeff") else 0)
    if text[at : at + 1] != "{":
        json.loads(text[at:])  # it says what is wrong, if it is no JSON at all
        raise _StrangeError("the JSON in it is no object")
    cells: _Value | None = None
    about: dict[str, Any] = {}
    end = at + 1
    for key, value in _members(text, at, "cells"):
        end = value.end
        if key == "cells":
            cells = value
        else:
            about[key] = value.value
    end = _skipped(text, _skipped(text, end) + 1)
    if end < len(text):
        raise json.JSONDecodeError("something stands behind its end", text, end)
    version = about.get("nbformat")
    if isinstance(version, int) and version != _FORMAT:
        raise _StrangeError(
            f"its format is {version}, and {_FORMAT} is what is read: save it again with Jupyter"
        )
    if cells is None or text[cells.start] != "[":
        raise _StrangeError("it has no list of cells")
    found: list[Cell] = []
    spans: dict[int, Span] = {}
    line_starts = [match.end() for match in re.finditer("\n", text)]
    is_python = _language_of(about.get("metadata")) in (None, _PYTHON)
    for number, cell in enumerate(_elements(text, cells.start), 1):
        members = dict(_members(text, cell, "")) if text[cell : cell + 1] == "{" else {}
        source = members.get("source")
        if source is None or not (is_python and _is_code(members)):
            continue
        items = _lines_of(text, source)
        if items is None:
            raise _StrangeError(f"the source of cell {number} is no string and no list of strings")
        whole = "".join(str(item.value) for item in items)
        lines = tuple(_file_lines(items, source, line_starts))
        found.append(Cell(number, CellText(whole), lines))
        spans[number] = Span(source.start, source.end)
    return NotebookFile(data, text, join(found), spans)


def _is_code(members: dict[str, _Value]) -> bool:
    """Tell whether a cell is one of code, and of Python where it says of what."""
    kind = members.get("cell_type")
    metadata = members.get("metadata")
    said = metadata.value if metadata is not None and isinstance(metadata.value, dict) else {}
    editor = said.get("vscode")
    language = editor.get("languageId") if isinstance(editor, dict) else None
    return kind is not None and kind.value == "code" and language in (None, _PYTHON)


def _language_of(metadata: object) -> str | None:
    """Return the language of a notebook, in small letters; None where it says none."""
    if not isinstance(metadata, dict):
        return None
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(key)
        language = about.get(name) if isinstance(about, dict) else None
        if isinstance(language, str):
            return _PYTHON if language.lower() in (_PYTHON, "ipython") else language.lower()
    return None


def _lines_of(text: str, source: _Value) -> list[_Value] | None:
    if isinstance(source.value, str):
        return [source]
    if not isinstance(source.value, list):
        return None
    items = list(_items(text, source.start))
    return items if all(isinstance(item.value, str) for item in items) else None


def _file_lines(
    items: Sequence[_Value], source: _Value, line_starts: Sequence[int]
) -> Iterator[int]:
    """Yield the line of the file that each line of a cell is on, both counted from 0."""
    begins, last = True, bisect_right(line_starts, source.start)
    for item in items:
        last = bisect_right(line_starts, item.start)
        for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", item.value):
            if begins:
                yield last
            begins = line.endswith(("\n", "\r"))
    if begins:
        yield last


def _items(text: str, at: int) -> Iterator[_Value]:
    """Yield the elements of the list that begins at a place, each with its own."""
    for start in _elements(text, at):
        yield _value(text, start)


def _elements(text: str, at: int) -> Iterator[int]:
    """Yield where the elements of the list that begins at a place begin."""
    at = _skipped(text, at + 1)
    while text[at : at + 1] != "]":
        yield at
        at = _skipped(text, _value(text, at).end)
        at = _next(text, at, "]")


def _members(text: str, at: int, unread: str) -> Iterator[tuple[str, _Value]]:
    """Yield the members of the object that begins at a place. `unread` is passed over, not kept."""
    at = _skipped(text, at + 1)
    while text[at : at + 1] != "}":
        key = _value(text, at)
        if not isinstance(key.value, str):
            raise json.JSONDecodeError("a name in quotes is missing", text, at)
        at = _skipped(text, key.end)
        if text[at : at + 1] != ":":
            raise json.JSONDecodeError("a `:` is missing", text, at)
        value = _value(text, _skipped(text, at + 1))
        yield key.value, _Value(None, value.start, value.end) if key.value == unread else value
        at = _next(text, _skipped(text, value.end), "}")


def _next(text: str, at: int, end: str) -> int:
    """Return where the next element begins behind a comma, or where the end stands."""
    sign = text[at : at + 1]
    if sign == end:
        return at
    if sign != ",":
        raise json.JSONDecodeError(f"a `,` or `{end}` is missing", text, at)
    following = _skipped(text, at + 1)
    if text[following : following + 1] == end:
        raise json.JSONDecodeError("nothing stands behind a comma", text, at)
    return following


def _value(text: str, at: int) -> _Value:
    value, end = _DECODER.raw_decode(text, at)
    return _Value(value, at, end)


def _skipped(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks is not None else at


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeError:
        return False
    return True


_DECODER = json.JSONDecoder()
