"""A kernel that is read with what its last version gave is the kernel that is read from nothing."""

from __future__ import annotations

import random
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.rules.registry import RULES
from tirx_lens.syntax.memory import Memories, TextMemories
from tirx_lens.syntax.statements import VersionReader

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KERNELS = [path.read_text("utf-8") for path in sorted((ROOT / "kernels").rglob("*.py"))]
SHAPES = [path.read_text("utf-8") for path in sorted((ROOT / "tests/corpus").rglob("*.py"))]
EXAMPLES = [
    text for rule in RULES for text in (*rule.VALID, *(example.code for example in rule.INVALID))
]
WORDS = re.compile(r"[\w.]+|\n +|[^\w\s]")
ODD = ("(", ")", '"', "#", "\n", ":", ",", "é", "\t", "😀", "if x:\n", "x = 1\n", "not ", "'''")


def written(value: object, known: dict[int, object]) -> object:
    """Write all that a value holds, its places too."""
    if isinstance(value, tuple):
        return [written(one, known) for one in value]
    if not is_dataclass(value):
        return repr(value)
    if id(value) not in known:
        parts = [(f.name, written(getattr(value, f.name), known)) for f in fields(value)]
        known[id(value)] = (type(value).__name__, parts)
    return known[id(value)]


class Reading:
    """Reads one version of a text after the other, and each from nothing too."""

    def __init__(self) -> None:
        self.reader, self.memories = VersionReader(), TextMemories(Memories())

    def read(self, text: str) -> None:
        data = text.encode("utf-8", errors="replace")
        self.memories.begin_version()
        version = self.reader.read(data)
        for again, fresh in zip(
            version.kernels((), memories=self.memories),
            VersionReader().read(data).kernels(()),
            strict=True,
        ):
            assert written(again, {}) == written(fresh, {}), text


def edits(text: str, rng: random.Random) -> Iterator[str]:
    """Yield the versions that one edit of a text makes."""
    lines = text.splitlines(keepends=True) or [""]
    words = list(WORDS.finditer(text))
    at, line = rng.randrange(len(text) + 1), rng.randrange(len(lines))
    match rng.randrange(8):
        case 0:  # a word, letter by letter
            new = rng.choice(words)[0] if words else "x"
            for count in range(1, len(new) + 1):
                yield text[:at] + new[:count] + text[at:]
        case 1:
            yield text[:at] + text[at + rng.randrange(1, 40) :]
        case 2:
            yield "".join([*lines[: line + 1], *lines[line:]])
        case 3:
            rest = lines[:line] + lines[line + 1 :]
            to = rng.randrange(len(rest) + 1)
            yield "".join([*rest[:to], lines[line], *rest[to:]])
        case 4 | 5 if words:  # a word for a word
            old, new = rng.choice(words), rng.choice(words)
            yield text[: old.start()] + new[0] + text[old.end() :]
        case 6:  # some lines one deeper
            last = line + rng.randrange(1, 5)
            yield "".join(
                [*lines[:line], *("    " + one for one in lines[line:last]), *lines[last:]]
            )
        case _:
            yield text[:at] + rng.choice(ODD) + text[at:]


def edit_at_random(text: str, rng: random.Random, count: int) -> None:
    reading, now = Reading(), text
    reading.read(text)
    for number in range(count):
        for version in edits(now, rng):
            reading.read(version)
            now = version
        if number % 5 == 4:  # mostly texts that are nearly sound
            now = text
            reading.read(now)


@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_kernels_are_read_the_same_after_any_edits(number: int) -> None:
    edit_at_random(KERNELS[number], random.Random(number), 15)
