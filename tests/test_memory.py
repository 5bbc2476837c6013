"""What is kept of a text that is edited for hours: no garbage in cycles, and no more each hour."""

from __future__ import annotations

import gc
import random
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.explain.reading import read
from tirx_lens.incremental import Analyser
from tirx_lens.model.given import Given
from tirx_lens.model.imported import ImportedText, ModuleText
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.read import open_library
from tirx_lens.syntax.recent import KEPT, Recent
from tirx_lens.syntax.reparse import Reparser, split
from tirx_lens.syntax.statements import Statement, VersionReader
from tirx_lens.workspace import SourceCache, WorkspaceModules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.analysis import Analysis

KERNELS = Path(__file__).parents[1] / "kernels"
NAMES = ("gemm_step5_ring", "tma_ring_copy")
IMPORTER_NAME = "importer"
IMPORTER = """\
from tvm.script import tirx as T
from sizes import Sizes, half, THREADS

def build(M=256):
    rows = half(M) + Sizes.extra - (-3)
    @T.prim_func
    def kernel(a: T.handle):
        tx = T.launch_thread("threadIdx.x", THREADS)
        if tx < 12:
            T.cuda.cta_sync()
    return kernel
"""
MODULE = """\
THREADS = {threads}

def half(value):
    return value // 2

class Sizes:
    extra = 1

if THREADS > some_other:
    def late(value):
        return value
"""


class Session:
    """Texts edited at random, each analysed and read for questions, as a server does."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._rng = random.Random(seed)
        self._folder = folder
        self._module = SourceText(MODULE.format(threads=256))
        self._originals = {name: (KERNELS / f"{name}.py").read_text("utf-8") for name in NAMES}
        self._originals[IMPORTER_NAME] = IMPORTER
        self._texts = dict(self._originals)
        self._analysers = {name: Analyser(self._library(name)) for name in self._texts}
        self._libraries = {name: self._library(name) for name in self._texts}
        self._edits = 0

    def _library(self, name: str):
        path = self._folder / f"{name}.py"
        sizes = self._folder / "sizes.py"
        modules = WorkspaceModules(
            path, SourceCache(), (), lambda asked: self._module if asked == sizes else None
        )
        return open_library(modules, str(path))

    def edit(self, name: str | None = None) -> Analysis:
        """Make one edit, of a text or of the module, and analyse what it is about."""
        rng = self._rng
        name = name or rng.choice(list(self._texts))
        self._edits += 1
        if name == IMPORTER_NAME:
            self._module = SourceText(MODULE.format(threads=128 + self._edits))
        elif self._edits % 12 == 0:
            self._texts[name] = self._originals[name]
        else:
            text = self._texts[name]
            at = rng.randrange(len(text))
            new = rng.choice(["(", ")", '"', "x", "\n", "-1", " f'{a}'", "\\"])
            self._texts[name] = text[:at] + new + text[at + rng.randrange(9) :]
        source = SourceText(self._texts[name])
        read(source, Given(), self._libraries[name])
        return self._analysers[name].analyse(source)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "sizes.py").write_text(MODULE.format(threads=256))
    made = Session(tmp_path, 3)
    assert made.edit(IMPORTER_NAME).imported == {str(tmp_path / "sizes.py")}
    return made


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No look at cycles but the test's own."""
    gc.collect()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_no_version_leaves_garbage_in_a_cycle(session: Session) -> None:
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    for _ in range(40):
        session.edit()
    for path in sorted(KERNELS.glob("*.py")):
        source = SourceText(path.read_text("utf-8"))
        Analyser().analyse(source)
        read(source, Given())
    gc.collect()
    kinds = Counter(
        f"{type(one).__module__}.{getattr(one, '__qualname__', type(one).__qualname__)}"
        for one in gc.garbage
    )
    assert not kinds, kinds.most_common(20)


def test_the_objects_of_a_session_do_not_become_more(session: Session) -> None:
    def objects() -> int:
        return sum(type(one).__module__.startswith("tirx_lens") for one in gc.get_objects())

    def most(edits: int) -> int:
        counts = []
        for number in range(edits):
            session.edit()
            if number % 10 == 0:
                counts.append(objects())
        return max(counts)

    most(5 * KEPT)  # until something is kept of as many versions as ever will be
    early = most(100)
    assert most(200) <= 1.1 * early


def test_texts_of_modules_are_forgotten_with_what_speaks_of_them(session: Session) -> None:
    for _ in range(3 * KEPT):
        session.edit(IMPORTER_NAME)
    gc.collect()  # other tests' sessions
    held = Counter(type(one) for one in gc.get_objects())
    # Each of two libraries keeps those of as many versions as it keeps anything of.
    assert held[ImportedText] <= 2 * (KEPT + 3)
    assert held[ModuleText] <= 2 * (KEPT + 3)


def test_words_are_held_once_by_all_versions_of_all_texts() -> None:
    held: dict[str, set[int]] = {}
    for name in NAMES:
        text = (KERNELS / f"{name}.py").read_text("utf-8")
        reader = VersionReader()
        for number in range(3):
            reader.read(text.replace("T.handle", f"T.handle_{number}").encode())
        for statement in reader._known.values():
            for word in statement.words:
                held.setdefault(word, set()).add(id(word))
    assert len(held) > 100
    assert not [word for word, objects in held.items() if len(objects) > 1]


def test_trees_are_kept_of_the_newest_versions_alone() -> None:
    text = (KERNELS / "gemm_step9_two_consumers.py").read_text("utf-8")
    reparser = Reparser()
    broken = f"{text}\n\ndef f(:\n    pass\n"
    parts = len(split(broken.encode()))
    for number in range(50):
        reparser.parse(broken.replace("BLK_M", f"BLK_M{number}").encode())
    # The parts of the newest version, and of the few before it; and none of the whole.
    assert parts <= reparser.trees + 1 <= 5 * parts
    reparser.parse(text.encode())
    assert reparser.trees > 1  # it may break again
    for number in range(KEPT + 1):
        reparser.parse(f"{text}# {number}".encode())
    assert reparser.trees == 1


def test_what_is_unused_is_kept_to_its_room_the_oldest_forgotten_first() -> None:
    recent: Recent[str, str] = Recent()
    recent.put("below", "b", 100)
    for number in range(5):
        recent.begin_version(200)
        recent.put(f"typed {number}", "t", 60)
    recent.begin_version(200)  # 340 are unused, 60 are of the newest version
    assert recent.get("below") is None
    kept = [number for number in range(5) if recent.get(f"typed {number}") is not None]
    assert kept == [1, 2, 3, 4]  # the newest, and the three before it that fit


def test_what_the_newest_version_used_takes_no_room() -> None:
    recent: Recent[str, str] = Recent()
    for number in range(9):
        recent.put(f"statement {number}", "s", 100)
    for _ in range(3):
        recent.begin_version(0)
        for number in range(9):
            assert recent.get(f"statement {number}") == "s"


def test_versions_of_a_statement_are_kept_to_the_size_of_few_texts() -> None:
    """What a builder was before each letter is not kept, all that an open quote hides is."""
    text = "from tvm.script import tirx as T\n" + "".join(
        f"def build_{name}(M=1):\n    @T.prim_func\n    def {name}(a: T.handle):\n"
        f"        {'x = 1; ' * 200}\n    return {name}\n"
        for name in "ab"
    )
    analyser = Analyser()

    def statements() -> int:
        return sum(type(one) is Statement for one in gc.get_objects())

    before = statements()
    analyser.analyse(SourceText(text))
    whole = statements() - before
    for number in range(KEPT):
        analyser.analyse(SourceText(text.replace("x = 1; ", "x = 1; " + "y" * number, 1)))
    # Results of eight texts, each half of one: of thirty versions, some sixteen.
    assert whole < statements() - before <= whole + 18
    found = analyser.analyse(SourceText(text))
    reader = analyser._reader._known
    held = set(map(id, reader.values()))
    for typed in ('"""', '"""a', '"""ab'):
        analyser.analyse(SourceText(typed + text))
    assert analyser.analyse(SourceText(text)) == found
    assert len(held & set(map(id, reader.values()))) >= whole


@pytest.mark.usefixtures("uncollected")
def test_words_that_were_typed_once_are_let_go() -> None:
    def typed(first: int) -> int:
        reader = VersionReader()
        for number in range(first, first + 300):
            reader.read("".join(f"typed_{number}_{n} = 1\n" for n in range(20)).encode())
        del reader
        gc.collect()
        return sys.getallocatedblocks()

    before = typed(0)
    assert typed(300) - before < 600  # of 6,000 words
