"""The simulator against the enumeration of all orders, on random small protocols.

The two share the data they speak of, `Program` and `History`, and no code.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fuzz.profiles import examples
from hypothesis import assume, given

from tirx_lens.protocol.explore import Explored, explore
from tirx_lens.protocol.program import (
    Arrive,
    Commit,
    Fence,
    Load,
    Meet,
    Meeting,
    Multiply,
    Scope,
    Store,
    Touch,
    Wait,
    Word,
)
from tirx_lens.protocol.run import run

from .brute_force import TooMany, accesses, outcomes
from .programs import AT, WARP, program, rings, smem, wild
from .replay import ORDERED, replay

if TYPE_CHECKING:
    from tirx_lens.protocol.history import History
    from tirx_lens.protocol.program import Program

    from .brute_force import Key, Outcomes, Pair

ENGINES = (Load, Store, Multiply)


ONE, TWO = Word("b", 0, 0, 1), Word("b", 0, 0, 2)
A = smem(0, 4)
COMES = Meet(AT, Meeting(Scope.NAMED, 0, 1), 2 * WARP)
KNOWN = {
    "an arrival after all waits that it may overtake": program(
        [ONE], [Wait(AT, 0, 1)] * 3, [Arrive(AT, (0,), 1)]
    ),
    "the first to arrive may be lapped, or the second": program(
        [TWO], *[[Arrive(AT, (0,), 1), Wait(AT, 0, 1)]] * 2
    ),
    "either of two commits may lap either waiter": program(
        [ONE], *[[Commit(AT, (0,)), Fence(AT), Fence(AT), Wait(AT, 0, 0)]] * 2
    ),
    "bytes that balance for a moment": program(
        [ONE],
        [Arrive(AT, (0,), 1, 2), *(Load(AT, (smem(i, i + 1),), (0,), i) for i in (1, 2))],
        [Wait(AT, 0, 0)],
    ),
    "too many arrivals, unless the bytes come between them": program(
        [ONE], [Arrive(AT, (0,), 1, 8), Load(AT, (A,), (0,), 8)] * 2, [Wait(AT, 0, 0)]
    ),
    "three come to a meeting of two": program([ONE], [COMES], [COMES], [COMES]),
    "a role that only arrives meets one of two": program(
        [ONE], [replace(COMES, blocks=False)], [COMES], [COMES]
    ),
    "commits of one role arrive in order": program(
        [ONE], [Commit(AT, (0,)), Wait(AT, 0, 0)], [Commit(AT, (0,))] * 2
    ),
    "a commit is not overtaken by the next one": program(
        [ONE],
        [Multiply(AT, (A,), (), True), Commit(AT, (0,)), Commit(AT, (0,))],
        [Wait(AT, 0, 0), Load(AT, (A,), (), 8)],
    ),
    "one arrival too many laps a role that is late": program(
        [ONE, TWO],
        [Arrive(AT, (0,), 1), Wait(AT, 1, 0), Arrive(AT, (0,), 1)],
        [Wait(AT, 0, 0), Arrive(AT, (1,), 1), Wait(AT, 0, 1), Arrive(AT, (1,), 1)],
        [Wait(AT, 0, 0), *[Arrive(AT, (1,), 1)] * 2, Wait(AT, 0, 1)],
    ),
    "whose load is the one too many": program(
        [ONE],
        [Arrive(AT, (0,), 1, 16), *(Load(AT, (smem(i, i + 1),), (0,), 8) for i in range(3))],
        [Wait(AT, 0, 0), *(Touch(AT, smem(i, i + 1), False) for i in range(3))],
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_what_was_once_got_wrong(case: str) -> None:
    agree(KNOWN[case])


@examples(60, 2000)
@given(rings())
def test_whole_rings(ring: Program) -> None:
    explored = agree(ring)
    for history in explored.histories:
        assert not history.blocked
        assert not history.races


@examples(120, 6000)
@given(rings(damages=3))
def test_damaged_rings(any_: Program) -> None:
    agree(any_)


@examples(120, 6000)
@given(wild())
def test_any_steps(any_: Program) -> None:
    agree(any_)


@examples(60, 3000)
@given(wild(10))
def test_many_steps(any_: Program) -> None:
    agree(any_)


def agree(program: Program) -> Explored:
    """Assert that the simulator finds the endings and the races there are, and nothing else."""
    try:
        expected = outcomes(program)
    except TooMany:
        assume(False)
    explored = explore(program)
    for history in explored.histories:
        replay(history)
    assert explored.histories[0] == run(program)
    found = {ending(history) for history in explored.histories}
    races: set[Pair] = set().union(*map(raced, explored.histories))
    assert found <= expected.endings
    assert not [pair for pair in races - expected.hazards if not late(pair, expected)]
    if explored.is_complete:
        assert found == expected.endings
        missed = expected.overlapping - races
        assert not [pair for pair in missed if certain(program, pair) and not shown(pair, races)]
    return explored


def late(pair: Pair, expected: Outcomes) -> bool:
    """Tell whether threads of one of the roles may arrive later than others of theirs."""
    return any(role == other for role, _ in pair for other, _ in expected.spilling)


def certain(program: Program, pair: Pair) -> bool:
    """Tell whether two accesses meet whichever thread touches which element of its area.

    What threads touch together, an engine must touch all of. Threads alone never do: in TMEM,
    each warp has lanes of its own.
    """
    one, two = (program.roles[role].steps[index] for role, index in pair)
    by_engine, also_by_engine = isinstance(one, ENGINES), isinstance(two, ENGINES)
    for area, writes in accesses(one):
        for other, also_writes in accesses(two):
            if (writes or also_writes) and area.is_exact and other.is_exact:
                if by_engine and also_by_engine and area.overlaps(other):
                    return True
                if by_engine and not also_by_engine and area.covers(other):
                    return True
                if also_by_engine and not by_engine and other.covers(area):
                    return True
    return False


def shown(pair: Pair, races: set[Pair]) -> bool:
    """Tell whether there is a race of one of two accesses with another one of the other's role."""
    return any(
        one in race and any(key[0] == other[0] for key in race if key != one)
        for one, other in (pair, pair[::-1])
        for race in races
    )


def ending(history: History) -> frozenset[Key]:
    """Return the steps at which roles are blocked."""
    return frozenset((one.role, one.index) for one in history.blocked)


def raced(history: History) -> set[Pair]:
    """Return the pairs of steps whose accesses nothing puts in order."""
    pairs: set[Pair] = set()
    for race in history.races:
        if race.hazard in ORDERED:
            assert race.second is not None
            one, two = history.events[race.first], history.events[race.second]
            keys = ((one.role, one.index), (two.role, two.index))
            pairs.add((min(keys), max(keys)))
    return pairs
