"""Texts to start from, and the ways in which they are damaged."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import strategies as st

from tirx_lens.rules.registry import RULES

ROOT = Path(__file__).parents[2]
KERNELS = [
    path.read_text("utf-8")
    for folder in ("kernels", "kernels/v0_26", "kernels/broken", "tests/rules/quiet")
    for path in sorted((ROOT / folder).glob("*.py"))
]
EXAMPLES = [
    text for rule in RULES for text in (*rule.VALID, *(example.code for example in rule.INVALID))
]
CORPUS = [
    path.read_text("utf-8")
    for path in sorted((ROOT / ".build" / "corpus").rglob("*.py"))
    if 2_000 < path.stat().st_size < 20_000
]
WORDS = sorted({word for text in KERNELS for word in re.findall(r"\w+(?:\.\w+)*", text)})
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ODD = [
    "\x00",
    "�",
    "\ufeff",
    "\u2028",
    "é",
    "🚀",
    "'''",
    "\\",
    "(",
    ")",
    ":",
    "@",
    "#",
    ":=",
    "if",
    "while",
    "return",
    "**",
    "10**9",
    "*",
]
ODD = st.sampled_from([*_ODD, "\r", "\r\n", "\x0c", "\t", "\n", "    ", "def f():\n"])
PYTHON_LIKE = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.sampled_from(["if ", "for ", " in ", ":\n", "\n", "    ", "@T.prim_func\n", "def f("]),
        st.sampled_from(["(", ")", "[", "]", ", ", " = ", ".", "'", "#", "x", "1", " == ", "\n\n"]),
        st.text(max_size=3),
    ),
    max_size=80,
).map("".join)


@st.composite
def damaged(draw: st.DrawFn, texts: list[str]) -> str:
    """Drop, double, swap and replace tokens of a kernel, and put odd characters into it."""
    tokens = _TOKEN.findall(draw(st.sampled_from(texts)))
    for _ in range(draw(st.integers(1, 8))):
        place = draw(st.integers(0, max(0, len(tokens) - 2)))
        match draw(st.integers(0, 6)):
            case 0:
                del tokens[place : place + draw(st.integers(1, 4))]
            case 1:
                tokens.insert(place, tokens[place] if tokens else "")
            case 2 if len(tokens) > 1:
                tokens[place : place + 2] = reversed(tokens[place : place + 2])
            case 3:
                tokens[place : place + 1] = [draw(st.sampled_from(WORDS))]
            case 4:
                tokens.insert(place, draw(ODD))
            case 5:
                other = draw(st.integers(0, max(0, len(tokens) - 1)))
                tokens[place : place + 1] = tokens[other : other + 1]
            case _:
                tokens[place:place] = [draw(st.text(max_size=4))]
    return "".join(tokens)


@st.composite
def disordered(draw: st.DrawFn, texts: list[str]) -> str:
    """Drop, double, move and swap lines: most of what is left is Python, and wrong."""
    lines = draw(st.sampled_from(texts)).splitlines(keepends=True)
    for _ in range(draw(st.integers(1, 5))):
        if len(lines) < 3:
            break
        one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        match draw(st.integers(0, 4)):
            case 0:
                del lines[one]
            case 1:
                lines.insert(one, lines[one])
            case 2:
                lines[one], lines[other] = lines[other], lines[one]
            case 3:
                lines.insert(other, lines.pop(one))
            case _:
                digits = re.sub(r"\d+", draw(st.sampled_from("0123")), lines[one], count=1)
                lines[one] = digits
    return "".join(lines)
