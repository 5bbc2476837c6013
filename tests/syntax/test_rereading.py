"""A kernel that is read with what its last version gave is the kernel that is read from nothing."""

from __future__ import annotations

import random
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.incremental import Analyser
from tirx_lens.model.source import SourceText
from tirx_lens.rules.registry import RULES
from tirx_lens.syntax.expressions import ExpressionReader
from tirx_lens.syntax.memory import Memories, TextMemories
from tirx_lens.syntax.statements import VersionReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from tirx_lens.model.expr import Expr

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


@pytest.mark.parametrize("part", range(8))
def test_examples_are_read_the_same_after_any_edits(part: int) -> None:
    for number in range(part, len(EXAMPLES), 8):
        edit_at_random(EXAMPLES[number], random.Random(number), 3)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_shapes_are_read_the_same_after_any_edits(number: int) -> None:
    edit_at_random(SHAPES[number], random.Random(number), 3)


MADE = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState, TMABar

DEPTH, WIDTH = 2, 64
SAME = WIDTH
OPTIONS = {"dispatch": "tma_auto"}


def build(rows: int):
    @T.prim_func
    def kernel(A: T.Buffer((128, WIDTH), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        pool = T.SMEMPool()
        stages = pool.alloc((DEPTH, SAME, WIDTH), "float16")
        full = TMABar(pool, DEPTH)
        pipe = Pipeline(pool, DEPTH, full="tma", empty="mbar")
        pool.commit()

        @T.inline
        def arm(stage):
            full.arrive(stage, WIDTH)

        row = T.meta_var(rows)
        tile = T.meta_var(0)
        parts = [full]
        more = parts
        parts.append(pipe.full)
        if DEPTH == 2:
            got = T.meta_var(T.cuda.ldg(A[0, 0]))
            full.init(1)
        if rows == 1:
            first = 0
        else:
            first = rows
        if wg_id == first:
            state = PipelineState(DEPTH, phase=1)
            for tile in range(SAME // WIDTH * 4):
                pipe.empty.wait(state.stage, state.phase)
                arm(state.stage)
                Tx.copy_async(
                    stages[state.stage, :, :], A[row + tile, :], mbar=full.ptr_to([tile]), **OPTIONS
                )
                state.advance()
        elif wg_id == 1:
            more[1].wait(tile\u200b + 0, 0)
            count = T.local_scalar("int32")
            count = count + 1
            pipe.full.wait(0, 0)
            with T.thread([T.elect()]):
                pipe.empty.arrive(0)
                T.cuda.warp_sync()
        T.cuda.cta_sync()

    return kernel


build(1)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DEPTH, WIDTH = 2, 64", "DEPTH, WIDTH = 2, 32"),
        ("DEPTH, WIDTH = 2, 64", "DEPTH, WIDTH = 2, 64  # moved"),
        ('"tma_auto"', '"bulk"'),
        ("build(1)", "build(2)"),
        ("build(1)", "build(rows=1)"),
        ("(128, WIDTH)", "(256, WIDTH)"),
        ("def kernel", "def other"),
        ("@T.prim_func", "@T.prim_func(private=True)"),
        ("[2])\n", "[2])\n        # a comment\n"),
        ("        pool = ", "        first = TMABar(pool, 1)\n        pool = "),
        ("full = TMABar(pool, DEPTH)", "full = TMABar(pool, DEPTH + 1)"),
        ("full = TMABar(pool, DEPTH)", "full = TMABar(pool,  DEPTH)"),
        ("full = TMABar(pool, DEPTH)", "full = MBarrier(pool, DEPTH)"),
        ('empty="mbar"', 'empty="tma"'),
        ("full.arrive(stage, WIDTH)", "full.arrive(stage, 1)"),
        ("row = T.meta_var(rows)", "row = T.meta_var(rows + 1)"),
        ("row = T.meta_var(rows)", "row = T.meta_var( rows)"),
        ("tile = T.meta_var(0)", "tile = T.meta_var(1)"),
        ("parts = [full]", "parts = [full]\n        parts.append(full)"),
        ("parts = [full]", "parts = [pipe.full]"),
        (
            "            got = ",
            "            got = T.meta_var(T.cuda.ldg(A[0, 0]))\n            got = ",
        ),
        ("wg_id == first", "wg_id == first - 1"),
        ("wg_id == first", "first == 1"),
        ("wg_id == first", "rows == DEPTH and wg_id == 0"),
        ("WIDTH * 4", "WIDTH * 5"),
        ("SAME = WIDTH", "SAME = 64"),
        ("rows == 1", "rows == 2"),
        ("first = rows", "first = rows + 1"),
        ("first = rows", "second = rows"),
        ("for tile", "for  tile"),
        ("for tile", "for state"),
        ("pipe.empty.wait(state.stage, state.phase)", "pass"),
        ("state.advance()", "state.advance("),
        ("state.advance()", "state = 1"),
        ("count = count + 1", "count += 1"),
        ("count = count + 1", "total = count + 1"),
        ("T.thread([T.elect()])", "T.thread([T.elect()]) as one"),
        ("                pipe.empty.arrive(0)\n", ""),
        ("        if wg_id == first:\n", "        if wg_id == first:\n            wg_id = 1\n"),
    ],
)
def test_what_depends_on_an_edit_is_read_again(old: str, new: str) -> None:
    assert MADE.count(old) >= 1
    changed = MADE.replace(old, new, 1)
    reading = Reading()
    for text in (MADE, MADE + "\n", MADE, changed, changed + "\n", MADE, changed):
        reading.read(text)
    # The same with an edit before it that takes over most of what stands beside it.
    inner = MADE.replace("warp_sync()", "warp_sync( )")
    for text in (MADE, inner, inner.replace(old, new, 1), inner):
        reading.read(text)


def test_a_list_of_the_host_grows_in_one_kernel_for_the_next() -> None:
    text = """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import TMABar


def build():
    bars = []

    @T.prim_func
    def first(A: T.Buffer((64,), "float16")):
        pool = T.SMEMPool()
        full = TMABar(pool, 1)
        full.init(1)
        bars[0].init(1)
        bars.append(full)

    @T.prim_func
    def second(A: T.Buffer((64,), "float16")):
        bars[0].init(1)
        bars[0].wait(0, 0)
"""
    without = text.replace("bars.append", "print")
    reading = Reading()
    for version in (without, without + "\n", text, text + "\n", without):
        reading.read(version)


def test_little_of_a_kernel_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read, nodes = ExpressionReader.read, 0

    def counting(reader: ExpressionReader, node: Node | None) -> Expr:
        nonlocal nodes
        nodes += 1
        return read(reader, node)

    monkeypatch.setattr(ExpressionReader, "read", counting)
    text = (ROOT / "kernels/flash_attention.py").read_text("utf-8")
    place = text.index("Tx.wg.", len(text) // 2)
    reader, memories = VersionReader(), TextMemories(Memories())
    taken = []
    for version in (
        text,
        text,
        *(text[:place] + "x = T.f()\n"[:n] + text[place:] for n in (1, 7, 8, 10)),
    ):
        nodes = 0
        memories.begin_version()
        reading = reader.read(version.encode()).kernels((), memories=memories)
        assert sum(len(kernels) for _, kernels in reading) == 1
        taken.append(nodes)
    whole, _, first, later, damaged, mended = taken
    assert damaged > whole / 5  # all below the bracket may belong to it
    assert all(few < whole / 5 for few in (first, later, mended)), taken


def test_memories_of_a_few_kernels_are_kept() -> None:
    memories = Memories(2)
    first, second = memories.of("first"), memories.of("second")
    assert memories.of("first") is first
    memories.of("third")
    assert memories.of("first") is first
    assert memories.of("second") is not second


def test_what_was_told_of_a_version_stays_as_it_was() -> None:
    analyser, told = Analyser(), []
    for version in (MADE, MADE + "\n", MADE.replace("[2])", "[2])  # moved")):
        analysis = analyser.analyse(SourceText(version))
        told.append((analysis, repr(analysis), [f.span for f in analysis.findings]))
    assert any(spans for _, _, spans in told)
    for analysis, written_then, _ in told:
        assert repr(analysis) == written_then
