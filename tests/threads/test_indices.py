"""What a reach map looks up is what walking all of it finds, on every kernel of this repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_lens.files import read_source
from tirx_lens.model.kernel import Bind, Exit, Loop, LoopKind, Op, Operation
from tirx_lens.model.listing import Listing
from tirx_lens.model.queries import statements
from tirx_lens.model.source import SourceText
from tirx_lens.rules.facts.course import apart
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import ReachMap, in_order, reach

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "kernels").glob("*.py")) + sorted(
    (ROOT / "tests" / "corpus" / "shapes").glob("*.py")
)


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def maps(request: pytest.FixtureRequest) -> list[ReachMap]:
    source = read_source(request.param)
    assert isinstance(source, SourceText)
    found = [reach(kernel, compute) for kernel in read_kernels(source).kernels]
    return [one for one in found if one is not None]


def test_operations_of_some_kinds_come_in_program_order(maps: list[ReachMap]):
    for each in maps:
        for kinds in ((Op.BARRIER_WAIT,), (Op.COPY_ASYNC, Op.BARRIER_ARRIVE), tuple(Op)):
            assert list(each.of(*kinds)) == [r for r in each.reached if r.operation.op in kinds]


def test_a_place_knows_its_index(maps: list[ReachMap]):
    for each in maps:
        assert [reached.index for reached in each.reached] == list(range(len(each.reached)))
        assert in_order(reversed(each.reached)) == list(each.reached)


def test_spans_hold_what_is_inside(maps: list[ReachMap]):
    for each in maps:
        for index, reached in enumerate(each.reached):
            around = {id(guard.branch) for guard in reached.guards}
            assert around == {part for part, span in each.spans.items() if index in span}
            assert {id(loop) for loop in reached.loops} <= around
            assert all(reached in each.inside(loop) for loop in reached.loops)


def test_operations_are_apart_on_two_sides_of_a_branch(maps: list[ReachMap]):
    for each in maps:
        for one in each.reached:
            sides = {id(guard.branch): guard.taken for guard in one.guards}
            for other in each.reached:
                expected = any(
                    sides.get(id(guard.branch), guard.taken) is not guard.taken
                    for guard in other.guards
                )
                assert apart(one, other) is expected


def test_a_listing_has_every_statement(maps: list[ReachMap]):
    for each in maps:
        listing, walked = Listing(each.kernel.body), list(statements(each.kernel.body))
        assert list(map(id, listing.statements)) == list(map(id, walked))
        for kind, listed in (
            (Operation, listing.operations),
            (Loop, listing.loops),
            (Bind, listing.binds),
        ):
            assert list(map(id, listed)) == [id(one) for one in walked if isinstance(one, kind)]
        assert listing.has_exit is any(isinstance(one, Exit) for one in walked)
        whiles = [loop for loop in listing.loops if loop.kind is LoopKind.WHILE]
        inner = {id(one) for loop in whiles for one in statements(loop.body)}
        assert listing.outer_whiles == [loop for loop in whiles if id(loop) not in inner]
