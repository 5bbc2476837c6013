"""Changes of a text that change nothing of what it does.

Each takes a text and a source of choices and returns the new text, with the lines of the old one
that its lines come from.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_BOUND = re.compile(r"^[ ]{4,}([a-z_]\w*)(?:: [\w.\[\]]+)? = ", re.MULTILINE)
_KERNEL = re.compile(r"^@T\.prim_func", re.MULTILINE)
UNRELATED = """
@T.prim_func
def unrelated(Z: T.Buffer((64,), "float16")):
    T.device_entry()
    z_wg = T.warpgroup_id([2])
    if z_wg == 0:
        T.cuda.warpgroup_sync(3)
    T.cuda.cta_sync()
"""


@dataclass(frozen=True)
class Rewritten:
    """A text, and for each of its lines the line it was (None for a new one)."""

    text: str
    lines: list[int | None]


def logical_lines(text: str) -> list[tuple[int, int]]:
    """Return the first and last line of each statement or header; [] where it is no Python."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT):
                continue
            if token.type == tokenize.NEWLINE:
                if start is not None:
                    found.append((start, token.start[0] - 1))
                start = None
            elif start is None:
                start = token.start[0] - 1
    except (tokenize.TokenError, SyntaxError):
        return []
    return found


def renamed(text: str, rng: Random) -> Rewritten:
    """Give one local name of the kernels another, everywhere."""
    names = sorted({name for name in _BOUND.findall(text) if _is_free(text, name)})
    if names:
        name = rng.choice(names)
        text = re.sub(rf"(?<![.\w\"']){name}(?![\w\"'])", f"{name}_renamed", text)
    return Rewritten(text, list(range(text.count("\n") + 1)))


def _is_free(text: str, name: str) -> bool:
    """Tell whether a name is nothing else besides: no keyword argument, no member, no word."""
    return not re.search(rf"\b{name}=|\.{name}\b|#.*\b{name}\b|\"\"\"|T\.(?:half|float)", text)


def commented(text: str, rng: Random) -> Rewritten:
    """Put comments and blank lines between statements."""
    lines = text.splitlines(keepends=True)
    last = {last for _, last in logical_lines(text)}
    new: list[str] = []
    places: list[int | None] = []
    for number, line in enumerate(lines):
        new.append(line)
        places.append(number)
        if number in last and line.endswith("\n") and rng.random() < 0.4:
            remark = rng.choice(["# a remark\n", "        # T.cuda.cta_sync()\n"])
            # tree-sitter takes a comment further left than the decorator above it for an error.
            is_decorator = line.lstrip().startswith("@")
            new.append("\n" if is_decorator else rng.choice(["\n", remark, "\n\n"]))
            places += [None] * new[-1].count("\n")
    return Rewritten("".join(new), [*places, len(lines)])


def joined(text: str, rng: Random) -> Rewritten:
    """Write statements of several lines in one."""
    lines = text.split("\n")
    new: list[str] = []
    places: list[int | None] = []
    spans = dict(logical_lines(text))
    number = 0
    while number < len(lines):
        last = spans.get(number, number)
        piece = lines[number : last + 1]
        if last > number and not re.search(r"#|'{3}|\"{3}", "".join(piece)):
            new.append(piece[0] + " ".join(line.strip() for line in piece[1:]))
            places.append(number)
        else:
            new += piece
            places += range(number, last + 1)
        number = last + 1
    return Rewritten("\n".join(new), places)


def opened(text: str, rng: Random) -> Rewritten:
    """Put a line break behind the opening parenthesis of calls, as formatters do."""
    lines = text.split("\n")
    new: list[str] = []
    places: list[int | None] = []
    single = {first for first, last in logical_lines(text) if first == last}
    for number, line in enumerate(lines):
        call = re.fullmatch(r"([ ]+)([\w.]+)\((.+)\)", line)
        if number in single and call and "#" not in line and '"' not in line and rng.random() < 0.6:
            new += [f"{call[1]}{call[2]}(", f"{call[1]}    {call[3]}", f"{call[1]})"]
            places += [number] * 3
        else:
            new.append(line)
            places.append(number)
    return Rewritten("\n".join(new), places)


def built(text: str, rng: Random) -> Rewritten:
    """Put the only kernel of a module into a builder that returns it."""
    kernels = list(_KERNEL.finditer(text))
    whole = Rewritten(text, list(range(text.count("\n") + 1)))
    if len(kernels) != 1 or '"""' in text or "'''" in text:
        return whole
    head, kernel = text[: kernels[0].start()], text[kernels[0].start() :]
    body = kernel.rstrip("\n").split("\n")
    name = re.search(r"^def (\w+)", kernel, re.MULTILINE)
    if name is None or any(line and not line.startswith((" ", "@", "def ", ")")) for line in body):
        return whole
    before = head.count("\n")
    inside = ["    " + line if line else "" for line in body]
    new = [head + "def build_it():", *inside, "", f"    return {name[1]}", ""]
    lines: list[int | None] = [*range(before), None, *range(before, before + len(body))]
    return Rewritten("\n".join(new), [*lines, None, None, None])


def always(text: str, rng: Random) -> Rewritten:
    """Put a statement of the kernel under `if True:`."""
    lines = text.split("\n")
    simple = [
        number
        for number, last in logical_lines(text)
        if number == last and re.match(r"[ ]{4,}T\.\w[\w.]*\(.*\)$", lines[number])
    ]
    places: list[int | None] = list(range(len(lines)))
    if simple:
        number = rng.choice(simple)
        indent = re.match(r"[ ]*", lines[number])
        assert indent is not None
        lines[number : number + 1] = [f"{indent[0]}if True:", "    " + lines[number]]
        places.insert(number, None)
    return Rewritten("\n".join(lines), places)


def accompanied(text: str, rng: Random) -> Rewritten:
    """Add a kernel that has nothing to do with the others."""
    if not text.endswith("\n"):
        text += "\n"
    lines: list[int | None] = list(range(text.count("\n")))
    return Rewritten(text + "\n" + UNRELATED, lines + [None] * (UNRELATED.count("\n") + 2))


REWRITES: list[Callable[[str, Random], Rewritten]] = [
    renamed,
    commented,
    joined,
    opened,
    built,
    always,
    accompanied,
]
