"""Whatever is typed, an analyser that remembers says what one that does not would say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tirx_lens import incremental
from tirx_lens.analysis import Selection, analyse, check_kernels
from tirx_lens.incremental import Analyser
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.wanted import always
from tirx_lens.syntax.reparse import Reparser, parse_text

KERNELS = Path(__file__).parents[1] / "kernels"
STEP_7 = (KERNELS / "gemm_step7_warp_specialized.py").read_text("utf-8")
STEP_9 = (KERNELS / "gemm_step9_two_consumers.py").read_text("utf-8")
BROKEN = [path.read_text("utf-8") for path in sorted((KERNELS / "broken").glob("*.py"))]

HEADER = """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import MBarrier, TMABar

GROUPS = 2
OWNER = GROUPS - 1


class Config:
    STAGES = 4
    OWNER = OWNER

    @T.prim_func
    def inside(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([GROUPS])
        if wg_id == 0:
            T.cuda.cta_sync()


def half(n):
    return n // DIVISOR


DIVISOR = 2


@T.inline
def meet():
    T.cuda.cta_sync()


@T.inline
def prepare(bar, count):
    bar.init(count)
    helper_below()


@T.inline
def helper_below():
    T.cuda.warpgroup_sync(1)

"""

BUILDER = """
# A builder.
{comment}def build_{n}(WIDTH=2, SIDE=0):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([GROUPS])
        warp_id = T.warp_id_in_wg([4])
        pool = T.SMEMPool()
        full = TMABar(pool, Config.STAGES)
        pool.commit()
        if wg_id == OWNER:
            prepare(full, half(4))
            meet()
        if wg_id == SIDE:
            T.cuda.cta_sync()  # in {n}
        if warp_id == WIDTH:
            meet()
        late = pool.alloc((64,), "float16")
        T.cuda.cta_sync()

    return kernel

"""

FOOTER = """
if __name__ == "__main__":
    build_1(SIDE=OWNER)
    build_2(2, SIDE=1)
    print("größer")
"""

COMMENTS = ("# tirx-lens: args WIDTH=3\n", "", "", "# tirx-lens: args SIDE=1\n")
BUILDERS = [BUILDER.format(n=n, comment=comment) for n, comment in enumerate(COMMENTS)]
MADE = HEADER + "".join(BUILDERS) + FOOTER


def text_for(seed: int) -> str:
    """Return one of the texts that are edited: ours, real kernels, and some of the broken ones."""
    some = random.Random(seed).sample(BROKEN, 2)
    return (MADE, STEP_7, "\n\n".join(some), MADE + STEP_9)[seed % 4]


TYPED = (
    *"()[]{}:.,=#\"'\\@ x0é",
    "\n",
    "\r\n",
    "    ",
    '"""',
    ":=",
    "\n# a comment\n",
    "\n# tirx-lens: args WIDTH=1\n",
    "  # tirx-lens: ignore[TX102]",
    "  # tirx-lens: ignore",
    "wg_id == 1",
    "T.cuda.cta_sync()\n",
    "\n\nOWNER = 0\n\n\n",
    "\n\nGROUPS = 1\n\n\n",
    "\nbuild_3(SIDE=1)\n",
    "return\n",
    "else:\n",
)
NAMES = ("GROUPS", "OWNER", "DIVISOR", "meet", "prepare", "SIDE=1", "STAGES", "WIDTH=3", "half(4)")


def edited(text: str, rng: random.Random) -> str:
    """Return the text after an edit as people and editors make them."""
    place = rng.randrange(len(text) + 1)
    match rng.randrange(8):
        case 0 | 1:
            return text[:place] + rng.choice(TYPED) + text[place:]
        case 2:
            return text[:place] + text[place + rng.choice((1, 1, 2, 20)) :]
        case 3:  # a line goes, or comes again
            lines = text.splitlines(keepends=True) or [""]
            index = rng.randrange(len(lines))
            return "".join(lines[:index] + lines[index:][rng.choice((1, 1, 3)) :])
        case 4:
            lines = text.splitlines(keepends=True) or [""]
            index = rng.randrange(len(lines))
            return "".join([*lines[:index], rng.choice(lines), *lines[index:]])
        case 5:
            return text.replace(
                rng.choice(NAMES), rng.choice(("1", "OWNER", "meet", "SIDE=OWNER")), 1
            )
        case 6:  # above everything, or below
            return rng.choice(("\n", "# line\n", "import math\n")) + text + rng.choice(("", "\n"))
        case _:
            digits = [i for i, character in enumerate(text) if character.isdigit()]
            index = rng.choice(digits) if digits else 0
            return text[:index] + rng.choice("0123") + text[index + 1 :]


@pytest.mark.parametrize("seed", range(16))
def test_random_edits_give_what_a_fresh_analysis_gives(seed: int) -> None:
    rng = random.Random(seed)
    start = text_for(seed)
    analyser = Analyser()
    versions = [start]
    run_while = None if seed % 4 else always  # runs of kernels take most of the time
    for _ in range(34):
        # Mostly one more edit, at times an undo, at times from the text that was sound.
        base = rng.choice((versions[-1], versions[-1], versions[-1], start, rng.choice(versions)))
        versions.append(edited(base, rng))
        source = SourceText(versions[-1])
        expected = analyse(source, run_while=run_while)
        assert analyser.analyse(source, run_while=run_while) == expected
    assert analyser.analyse(SourceText(start)) == analyse(SourceText(start))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The builders whose kernels were read since the list was last cleared."""
    names: list[str] = []

    def noting(source, kernels, *others, **options):
        names.extend(str(kernel.builder or kernel.name) for kernel in kernels)
        return check_kernels(source, kernels, *others, **options)

    monkeypatch.setattr(incremental, "check_kernels", noting)
    return names


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("# in 2", "# in two", {"build_2"}),
        ("from tvm.script", "\n\n# moved\nfrom tvm.script", set()),
        ('print("größer")', 'print("kleiner")', set()),
        ("OWNER = GROUPS - 1", "OWNER = 0", {"inside", "build_0", "build_1", "build_2", "build_3"}),
        ("DIVISOR = 2", "DIVISOR = 3", {"build_0", "build_1", "build_2", "build_3"}),
        ("bar.init(count)", "bar.init(1)", {"build_0", "build_1", "build_2", "build_3"}),
        ("build_2(2, SIDE=1)", "build_2(2, SIDE=0)", {"build_2"}),
        ("def build_3", "def build_4", {"build_4"}),
        ("args WIDTH=3", "args WIDTH=1", {"build_0"}),
        ("wg_id == 0", "wg_id == 1", {"inside", "build_0", "build_1", "build_2", "build_3"}),
    ],
)
def test_only_what_an_edit_can_change_is_read_again(
    old: str, new: str, expected: set[str], read: list[str]
) -> None:
    analyser = Analyser()
    analyser.analyse(SourceText(MADE))
    assert set(read) == {"inside", "build_0", "build_1", "build_2", "build_3"}
    read.clear()
    assert old in MADE
    source = SourceText(MADE.replace(old, new, 1))
    found = analyser.analyse(source)
    assert set(read) == expected
    assert found == analyse(source)
    read.clear()
    assert analyser.analyse(SourceText(MADE)) == analyse(SourceText(MADE))
    assert not read, "what an undo brings back is still known"


def test_a_name_beside_a_space_without_width_is_a_name() -> None:
    text = """\
from tvm.script import tirx as T

SIDE = 0


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    if T.warpgroup_id([2]) == SIDE\u200b:
        T.cuda.cta_sync()
"""
    analyser = Analyser()
    for version in (text, text.replace("SIDE = 0", "SIDE = 1"), text):
        found = analyser.analyse(SourceText(version))
        assert found.findings
        assert found == analyse(SourceText(version))


def test_lines_in_messages_move_with_their_kernels() -> None:
    analyser = Analyser()
    (before, *_) = (f for f in analyser.analyse(SourceText(MADE)).findings if "line" in f.message)
    (after, *_) = (
        f for f in analyser.analyse(SourceText("\n\n" + MADE)).findings if "line" in f.message
    )
    assert before.message != after.message
    assert after.span == before.span.moved(2)


def test_the_selection_and_the_comments_count_anew_each_time() -> None:
    analyser = Analyser()
    source = SourceText(MADE)
    silenced = SourceText(MADE.replace("# in 2", "# tirx-lens: ignore[TX102]"))
    only = Selection(("TX1",), ("TX101",))
    for version, selection in ((source, None), (silenced, None), (source, only), (source, None)):
        assert analyser.analyse(version, selection) == analyse(version, selection)
    assert len(analyse(silenced).findings) == len(analyse(source).findings) - 1


def test_a_tree_made_from_an_earlier_one_is_the_tree_made_from_nothing() -> None:
    rng = random.Random(5)
    reparser = Reparser()
    text = STEP_7
    for _ in range(200):
        text = edited(rng.choice((text, text, STEP_7)), rng)
        data = text.encode()
        assert _outline(reparser.parse(data)) == _outline(parse_text(data))


def _outline(roots) -> list[tuple[object, ...]]:
    pending, found = list(roots), []
    while pending:
        one = pending.pop()
        found.append(
            (one.type, one.text, one.start_byte, one.start_point, one.end_point, one.is_missing)
        )
        pending.extend(one.children)
    return found


def test_texts_without_kernels_and_texts_that_are_none() -> None:
    analyser = Analyser()
    for text in ("", "prim_func", "\x00prim_func\ud800", MADE, "", MADE.replace("\n", "\r"), MADE):
        assert analyser.analyse(SourceText(text)) == analyse(SourceText(text))
