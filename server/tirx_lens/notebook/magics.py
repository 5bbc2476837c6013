"""Which lines of a cell are IPython's own, and the cell as the Python that is left without them.

A line of IPython's keeps its length: its first characters are put out, so that every place of the
cell is where it was. Told by the rules of IPython's input transformer, which looks at the
beginnings of logical lines: inside of brackets and strings nothing is a magic.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LEXEMES = re.compile(
    r'(?P<string>"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\\?\Z)'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\\?\Z)"
    r'|"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*"?'
    r"|'[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*'?)"
    r"|(?P<comment>\#[^\r\n]*)"
    r"|(?P<opens>[(\[{])|(?P<closes>[)\]}])"
    r"|(?P<goes_on>\\(?:\r\n|\r|\n))"
    r"|(?P<line_end>\r\n|\r|\n)",
    re.DOTALL,
)
_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w*)")
_KEPT = frozenset({"time", "timeit", "capture", "prun", "debug"})
"""Cell magics whose cells are Python that runs in the notebook's own process."""
_TIMED = re.compile(r"[ \t]*(?P<put_out>%time[ \t]+)(?=[^-\s])")
_MAGIC = re.compile(r"(?P<indent>[ \t]*)[%!]")
_ASSIGNED = re.compile(r"[ \t]*[^\W\d][\w.,\[\] \t]*=[ \t]*(?P<put_out>[%!])(?!=)")
_HELP = re.compile(
    r"(?P<indent>[ \t]*)(?:\?[^\r\n]*|[%\w][\w.*]*(?:\[[^\r\n\]]*\])*\?{1,2}[ \t]*(?=[\r\n]|\Z))"
)
_NAME = r"[A-Za-z_]+(?!\w)"
_FUTURE = re.compile(
    rf"from[ \t]+__future__[ \t]+import[ \t]+(?P<names>{_NAME}(?:[ \t]*,[ \t]*{_NAME})*)"
)
_REST = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n|\r|\n)?)*")
"""The rest of a line, and those that a backslash adds to it."""
_ADDED = re.compile(r"\\(?:\r\n|\r|\n)[ \t]*(?P<first>[^\s])?")
_FIRST_CODE = re.compile(r"(?:[ \t]*(?:\#[^\r\n]*)?(?:\r\n|\r|\n))*(?P<indent>[ \t]*)[^\s#]")


@dataclass(frozen=True, slots=True)
class Code:
    """The Python of a cell: as many characters as the cell, in as many lines.

    `untouchable` are the places, in characters, that are put out and must not be edited. `futures`
    are names that it imports from `__future__`: Python takes those at the top of a file only.
    `open_quote` is what would end a string that the end of the cell leaves open. `is_indented`
    tells that its first statement is, which IPython takes.
    """

    text: str
    untouchable: tuple[tuple[int, int], ...] = ()
    futures: tuple[str, ...] = ()
    open_quote: str = ""
    is_indented: bool = False


def python_of(text: str) -> Code | None:
    """Return the Python of a cell; None for a cell that a magic hands to something else."""
    magic = _CELL_MAGIC.match(text)
    if magic is not None and magic["name"] not in _KEPT:
        return None
    found = list(_lines(text))
    characters = list(text) if found else []
    for line in found:
        characters[line.start : line.start + len(line.instead)] = line.instead
    written = "".join(characters) if found else text
    first = _FIRST_CODE.match(written)
    return Code(
        written,
        tuple((line.start, line.end) for line in found),
        tuple(name for line in found for name in line.futures),
        _open_quote(text, found),
        bool(first is not None and first["indent"]),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of IPython's from `start` on, and what stands in place of its first characters."""

    start: int
    end: int
    instead: str
    futures: tuple[str, ...] = ()


def _lines(text: str) -> Iterator[_Line]:
    """Yield what of a cell is put out, in order."""
    if not any(sign in text for sign in "%!?") and "__future__" not in text:
        return
    at, depth = 0, 0
    while at < len(text):
        found = _line_at(text, at) if depth == 0 else None
        if found is not None:
            yield found
            at = found.end
        at, depth = _next_line(text, at, depth)


def _line_at(text: str, at: int) -> _Line | None:
    """Return what is put out of the logical line that begins at a place."""
    if (timed := _TIMED.match(text, at)) is not None:
        start, end = timed.span("put_out")
        return _Line(start, end, "0" + " " * (end - start - 2) + ";")
    if (assigned := _ASSIGNED.match(text, at)) is not None:
        return _put_out(text, assigned.start("put_out"), is_value=True)
    if (help_ := _HELP.match(text, at)) is not None:
        return _put_out(text, help_.end("indent"), is_value=bool(help_["indent"]))
    if (magic := _MAGIC.match(text, at)) is not None:
        return _put_out(text, magic.end("indent"), is_value=bool(magic["indent"]))
    if (future := _FUTURE.match(text, at)) is not None:
        names = tuple(name.strip() for name in future["names"].split(","))
        return _Line(*future.span(), "#", names)
    return None


def _put_out(text: str, start: int, *, is_value: bool) -> _Line:
    """Make a comment of the rest of a line, behind a value where there has to be one."""
    rest = _REST.match(text, start)
    end = rest.end() if rest is not None else len(text)
    instead = ["0", "#"] if is_value and text[start + 1 : start + 2].isascii() else ["#"]
    instead = instead[: max(1, len(_first_line(text[start:end])))]
    for found in _ADDED.finditer(text[start:end]):
        place = found.start("first")
        if place >= 0 and found["first"].isascii():
            instead += text[start + len(instead) : start + place]
            instead.append("#")
    return _Line(start, end, "".join(instead))


def _first_line(text: str) -> str:
    return re.split(r"[\r\n]", text, maxsplit=1)[0]


def _next_line(text: str, at: int, depth: int) -> tuple[int, int]:
    """Return where the next line begins that is in no string, and how many brackets are open there.

    A line that a backslash adds to the one before begins nothing.
    """
    for lexeme in _LEXEMES.finditer(text, at):
        if lexeme["opens"]:
            depth += 1
        elif lexeme["closes"]:
            depth = max(0, depth - 1)
        elif lexeme["line_end"]:
            return lexeme.end(), depth
    return len(text), depth


def _open_quote(text: str, found: list[_Line]) -> str:
    """Return the quote of a string of several lines that nothing in the cell ends."""
    if '"""' not in text and "'''" not in text:
        return ""
    done, quote = 0, ""
    for lexeme in _LEXEMES.finditer(_blanked(text, found)):
        string, done = lexeme["string"] or "", lexeme.end()
        is_triple = string[:3] in ('"""', "'''")
        is_open = is_triple and not (len(string) >= 6 and string.endswith(string[:3]))
        quote = string[:3] if is_open else ""
    return quote if done == len(text) else ""


def _blanked(text: str, found: list[_Line]) -> str:
    for line in found:
        text = text[: line.start] + " " * (line.end - line.start) + text[line.end :]
    return text
