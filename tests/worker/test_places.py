"""Placing what the compiler made itself: by what it encloses, what comes next, what is around."""

from tirx_lens.worker.markers import Node
from tirx_lens.worker.messages import Frame, SourceFile, Via
from tirx_lens.worker.places import Places
from tirx_lens.worker.sources import SourceTree
from tirx_lens.worker.spans import Chain, Point
from tirx_lens.worker.texts import Texts

FILE = "/w/k.py"
TEXT = """\
def kernel():
    if a:
        f(
            1,
        )
        g()
    h()
"""
TREE = SourceTree("/copies", (SourceFile(FILE, TEXT),))
TEXTS = Texts(TREE)


def at(*lines: int) -> Chain:
    return tuple(Point(TREE.copy_of(FILE), line, line) for line in lines)


def test_the_statements_own_place_is_kept() -> None:
    places = Places([Node("Evaluate", at(7), None)], TEXTS)
    assert places.place(0) == (at(7), Via.STATEMENT)


def test_a_guard_is_placed_by_its_first_branch() -> None:
    nodes = [
        Node("IfThenElse", (), None, children=[1, 2, 3], then=2),
        Node("Evaluate", at(3), 0),
        Node("Evaluate", at(6), 0),
        Node("Evaluate", at(7), 0),
    ]
    assert Places(nodes, TEXTS).place(0) == (at(2), Via.INSIDE)


def test_a_guard_inside_one_call_is_that_call() -> None:
    nodes = [
        Node("For", (), None, children=[1, 2], then=2),
        Node("Evaluate", at(6, 3), 0),
        Node("Evaluate", at(6), 0),
    ]
    assert Places(nodes, TEXTS).place(0) == (at(6), Via.INSIDE)


def test_what_follows_and_what_is_around() -> None:
    nodes = [
        Node("Bind", (), None, "cse_v1"),
        Node("Bind", (), None, "v"),
        Node("While", at(2), None, children=[3, 4], then=2),
        Node("Evaluate", at(6), 2),
        Node("Evaluate", (), 2),
        Node("DeclBuffer", (), None, "b"),
    ]
    places = Places(nodes, TEXTS)
    assert places.place(0) == (at(2), Via.SHARED)
    assert places.place(1) == (at(2), Via.NEXT)
    assert places.place(4) == (at(2), Via.ENCLOSING)
    assert places.place(5) is None


def test_lines_of_libraries_are_left_out() -> None:
    inner = (Point("<string>", 1, 1), *at(7), Point("/x/tirx_lite/ring.py", 5, 5))
    nodes = [Node("Evaluate", inner, None), Node("Evaluate", inner[:1], None)]
    places = Places(nodes, TEXTS)
    assert places.place(0) == (at(7), Via.STATEMENT)
    assert places.place(1) is None


def test_the_innermost_line_is_not_told_twice() -> None:
    traced = (*at(6), *at(7, 6))
    assert Places([Node("Evaluate", traced, None)], TEXTS).place(0) == (at(7, 6), Via.STATEMENT)


def test_frames_are_statements_of_the_users_files() -> None:
    assert TEXTS.frames(at(7, 4, 3, 2)) == (Frame(FILE, 7, 7), Frame(FILE, 3, 5), Frame(FILE, 2, 2))
    elsewhere = (Point("/nowhere/at_all.py", 9, 12),)
    assert TEXTS.frames(elsewhere) == (Frame("/nowhere/at_all.py", 9, 9),)
