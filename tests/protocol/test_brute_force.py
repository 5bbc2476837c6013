"""The enumeration itself, on programs small enough to be done by hand."""

from __future__ import annotations

from fuzz.profiles import examples
from hypothesis import given

from tirx_lens.protocol.program import (
    Arrive,
    AwaitGroups,
    AwaitTmem,
    CloseGroup,
    Commit,
    Free,
    Load,
    Meet,
    Meeting,
    Multiply,
    Program,
    Scope,
    Store,
    TmemLoad,
    Touch,
    Wait,
    Word,
)

from .brute_force import outcomes
from .programs import AT, WARP, program, rings, smem, tmem

FINISHED = frozenset({frozenset()})
A, D = smem(0, 4), tmem(0, 4)
ONE, TWO = Word("b", 0, 0, 1), Word("b", 0, 0, 2)


@examples(80, 3000)
@given(rings())
def test_whole_rings_finish_without_a_hazard(ring: Program) -> None:
    found = outcomes(ring)
    assert found.endings == FINISHED
    assert not found.hazards
    assert not found.freed


def test_parity_one_passes_at_a_fresh_word_and_parity_zero_does_not() -> None:
    assert outcomes(program([ONE], [Wait(AT, 0, 1)])).endings == FINISHED
    assert outcomes(program([ONE], [Wait(AT, 0, 0)])).endings == {frozenset({(0, 0)})}


def test_a_waiter_that_may_be_lapped() -> None:
    """Two phases end one after the other: the waiter sees the first, or both."""
    found = outcomes(program([ONE], [Arrive(AT, (0,), 1)] * 2, [Wait(AT, 0, 0)]))
    assert found.endings == {frozenset(), frozenset({(1, 0)})}


def test_arrivals_of_one_event_go_on_counting_in_the_next_phase() -> None:
    three = program([TWO], [Arrive(AT, (0,), 3)], [Wait(AT, 0, 0), Arrive(AT, (0,), 1)])
    assert outcomes(three).endings == FINISHED
    four = program([TWO], [Arrive(AT, (0,), 4)], [Wait(AT, 0, 0)])
    assert outcomes(four).endings == {frozenset({(1, 0)})}


def test_bytes_may_come_before_they_are_expected() -> None:
    load = [Load(AT, (A,), (0,), 8), Arrive(AT, (0,), 1, 8)]
    found = outcomes(program([ONE], load, [Wait(AT, 0, 0), Touch(AT, A, False)]))
    assert found.endings == FINISHED
    assert not found.hazards


def test_too_few_and_too_many_bytes_expected() -> None:
    for expected in (4, 16):
        load = [Arrive(AT, (0,), 1, expected), Load(AT, (A,), (0,), 8)]
        found = outcomes(program([ONE], load, [Wait(AT, 0, 0)]))
        assert found.endings == {frozenset({(1, 0)})}


def test_an_arrival_without_bytes_before_the_load_lets_the_reader_in_early() -> None:
    load = [Arrive(AT, (0,), 1), Load(AT, (A,), (0,), 8)]
    found = outcomes(program([ONE], load, [Wait(AT, 0, 0), Touch(AT, A, False)]))
    assert found.overlapping == {((0, 1), (1, 1))}


def test_a_commit_tells_of_the_multiplications_before_it_only() -> None:
    mma = Multiply(AT, (A,), (D,), True)
    issuer = [mma, Commit(AT, (0,)), mma]
    found = outcomes(program([ONE], issuer, [Wait(AT, 0, 0), Touch(AT, A, True)]))
    assert found.overlapping == {((0, 2), (1, 1))}
    late = [mma, mma, Commit(AT, (0,))]
    found = outcomes(program([ONE], late, [Wait(AT, 0, 0), Touch(AT, A, True)]))
    assert not found.hazards


def test_commits_of_one_role_arrive_in_order() -> None:
    words = [ONE, Word("c", 0, 0, 1)]
    issuer = [Multiply(AT, (A,), (D,), True), Commit(AT, (0,)), Commit(AT, (1,))]
    found = outcomes(program(words, issuer, [Wait(AT, 1, 0), Wait(AT, 0, 0), Touch(AT, A, True)]))
    assert found.endings == FINISHED
    assert not found.hazards


def test_all_but_the_last_groups_have_been_read() -> None:
    store = [Store(AT, A), CloseGroup(AT), Store(AT, smem(4, 8)), CloseGroup(AT)]
    for left, touched, overlaps in ((1, A, False), (1, smem(4, 8), True), (0, smem(4, 8), False)):
        steps = [*store, AwaitGroups(AT, left), Touch(AT, touched, True)]
        assert bool(outcomes(program([ONE], steps)).hazards) == overlaps
    unclosed = [Store(AT, A), AwaitGroups(AT, 0), Touch(AT, A, True)]
    assert outcomes(program([ONE], unclosed)).hazards == {((0, 0), (0, 2))}


def test_tensor_memory_is_read_until_the_wait_for_loads() -> None:
    mma = [Wait(AT, 0, 0), Multiply(AT, (A,), (D,), True)]
    for loads, hazards in ((True, set()), (False, {((0, 0), (1, 1))})):
        reader = [TmemLoad(AT, D), AwaitTmem(AT, loads), Arrive(AT, (0,), 1)]
        assert outcomes(program([ONE], reader, mma)).hazards == hazards


def test_tensor_memory_given_back_while_it_is_read() -> None:
    meet = Meet(AT, Meeting(Scope.CTA, 0), 2 * WARP)
    reader = [TmemLoad(AT, D), AwaitTmem(AT, True), meet]
    assert not outcomes(program([ONE], reader, [meet, Free(AT, (0,))])).freed
    late = [TmemLoad(AT, D), meet, AwaitTmem(AT, True)]
    assert outcomes(program([ONE], late, [meet, Free(AT, (0,))])).freed == {((1, 1), (0, 0))}


def test_who_only_arrives_at_a_meeting_goes_on() -> None:
    meeting = Meeting(Scope.NAMED, 0, 1)
    comes, waits = Meet(AT, meeting, 2 * WARP, False), Meet(AT, meeting, 2 * WARP)
    assert outcomes(program([ONE], [comes], [waits])).endings == FINISHED
    assert outcomes(program([ONE], [comes], [])).endings == FINISHED
    assert outcomes(program([ONE], [waits], [])).endings == {frozenset({(0, 0)})}
    again = [waits, waits]
    assert outcomes(program([ONE], again, [comes])).endings == {frozenset({(0, 1)})}


def test_accesses_that_exclude_each_other_in_either_order() -> None:
    """Two rivals for one token, which comes back when the bytes of the first have come."""
    start, done = 0, 1
    token = Meet(AT, Meeting(Scope.NAMED, 0, 1), 2 * WARP, False)
    keeper = [token, Arrive(AT, (start,), 1), Wait(AT, done, 0), token]
    load = [Arrive(AT, (done,), 1, 8), Load(AT, (A,), (done,), 8)]
    rival = [Wait(AT, start, 0), Meet(AT, token.meeting, 2 * WARP), *load]
    found = outcomes(program([ONE, Word("done", 0, 0, 1)], keeper, rival, rival))
    assert found.either_first == {((1, 3), (2, 3))}
    assert not found.overlapping
