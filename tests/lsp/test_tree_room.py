"""How long trees are kept of the documents that are open."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from tirx_lens.analysis import Selection
from tirx_lens.incremental import Analyser
from tirx_lens.lsp.analyser import LazyAnalyser
from tirx_lens.lsp.server import create_server
from tirx_lens.lsp.tree_room import TreeRoom
from tirx_lens.model.given import Given
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.reparse import Reparser

KERNEL = Path(__file__).parents[2] / "kernels" / "gemm_step5_ring.py"


def opened(room: TreeRoom, sizes: list[int]) -> list[Reparser]:
    reparsers = [Reparser(room) for _ in sizes]
    for reparser, size in zip(reparsers, sizes, strict=True):
        reparser.parse(b"x" * size)
    return reparsers


def kept(reparsers: list[Reparser]) -> list[bool]:
    return [reparser.trees > 0 for reparser in reparsers]


def test_trees_of_the_texts_parsed_longest_ago_go() -> None:
    room = TreeRoom(100)
    reparsers = opened(room, [40, 40, 20, 30])
    assert kept(reparsers) == [False, True, True, True]
    reparsers[1].parse(b"y" * 40)  # it is the newest now
    reparsers[0].parse(b"y" * 40)
    assert kept(reparsers) == [True, True, False, False]


def test_none_older_than_one_that_did_not_fit_is_kept() -> None:
    assert kept(opened(TreeRoom(100), [5, 80, 30])) == [False, False, True]


def test_the_newest_is_kept_however_large() -> None:
    room = TreeRoom(100)
    reparsers = opened(room, [20, 3000])
    assert kept(reparsers) == [False, True]
    room.shrink()
    assert kept(reparsers) == [False, True]


def test_at_rest_those_of_the_newest_text_alone_are_kept() -> None:
    room = TreeRoom(100)
    reparsers = opened(room, [20, 30, 20])
    assert kept(reparsers) == [True, True, True]
    room.shrink()
    assert kept(reparsers) == [False, False, True]


def test_each_tree_of_a_broken_text_takes_room() -> None:
    text = b"def a():\n    pass\n\n\ndef b():\n    pass\n"
    room = TreeRoom(3 * len(text))
    other, broken = opened(room, [2 * len(text)]), Reparser(room)
    broken.parse(text)
    assert kept(other) == [True]
    broken.parse(text + b"\n(")  # one of the whole, and one of each part
    assert broken.trees > 1
    assert kept(other) == [False]


def test_a_text_without_its_trees_is_parsed_as_before() -> None:
    text = KERNEL.read_text("utf-8")
    room = TreeRoom(room=0)
    reparser, other = Reparser(room), Reparser(room)
    for version in (text, text.replace("BLK_M", "BLK_Q", 1), text + "\n(", text):
        other.parse(b"x")
        assert not reparser.trees
        roots = reparser.parse(version.encode())
        assert list(map(str, roots)) == list(map(str, Reparser().parse(version.encode())))


def test_a_document_that_is_closed_takes_no_room() -> None:
    room = TreeRoom(100)
    reparsers = opened(room, [50, 40])
    gone = weakref.ref(reparsers.pop())
    gc.collect()
    assert gone() is None
    reparsers += opened(room, [50])
    assert kept(reparsers) == [True, True]


def test_results_are_kept_when_trees_are_not() -> None:
    """What is found in a kernel that nobody edited is given again, not found again."""
    room = TreeRoom(room=0)
    text = KERNEL.read_text("utf-8")
    analyser = Analyser(room=room)
    analyser.analyse(SourceText(text))
    results = set(map(id, analyser._kept.values()))
    assert results
    opened(room, [9])
    moved = SourceText("\n" + text)
    assert analyser.analyse(moved) == Analyser().analyse(moved)
    assert results == set(map(id, analyser._kept.values()))


def test_the_documents_of_a_server_share_its_room() -> None:
    server = create_server()
    analysers = [LazyAnalyser(server, f"untitled:{number}") for number in range(3)]
    text = SourceText(KERNEL.read_text("utf-8"))
    for analyser in analysers:
        analyser(text, Selection(), Given())
    reparsers = [one._analyser._reader._parser for one in analysers if one._analyser]
    assert kept(reparsers) == [True, True, True]
    server._give_back(False)
    assert kept(reparsers) == [False, False, True]
