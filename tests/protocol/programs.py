"""Random small programs: protocols as kernels have them, whole or damaged, and any steps at all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tirx_lens.model.span import Span
from tirx_lens.protocol.program import (
    Area,
    Arrive,
    AwaitGroups,
    AwaitTmem,
    CloseGroup,
    Commit,
    Fence,
    Free,
    Init,
    Load,
    Meet,
    Meeting,
    Multiply,
    Place,
    Program,
    Role,
    Scope,
    Signal,
    Store,
    TmemLoad,
    TmemStore,
    Touch,
    Wait,
    Word,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from tirx_lens.protocol.program import Step

AT = Span(0, 1)
WARP = 32
BYTES = 64
ALL = Meeting(Scope.CTA, 0)


def smem(start: int, stop: int, buffer: str = "A", is_exact: bool = True) -> Area:
    """Return some elements of a buffer in SMEM."""
    return Area(buffer, 0, ((start, stop),), Place.SHARED, is_exact)


def tmem(start: int, stop: int, is_exact: bool = True) -> Area:
    """Return some columns of TMEM."""
    return Area("D", 0, ((start, stop),), Place.TENSOR, is_exact)


def program(words: Sequence[Word], *roles: Sequence[Step], size: str = "") -> Program:
    """Return a program of roles of a warp each, each step with a place of its own."""
    named, place = [], 0
    for number, steps in enumerate(roles):
        moved = []
        for step in steps:
            moved.append(replace(step, at=Span(place, place + 1)))
            place += 1
        named.append(Role(f"role {number}", 0, WARP, tuple(moved)))
    return Program(tuple(words), tuple(named), size)


@st.composite
def rings(draw: DrawFn, damages: int = 0) -> Program:
    """Return a ring with full and empty barriers, perhaps an epilogue, with up to so many damages.

    Words: full of each slot, empty of each slot, then one that says the accumulator is complete.
    """
    depth = draw(st.integers(1, 2))
    consumers = draw(st.integers(1, 2))
    rounds = draw(st.integers(1, 4 if consumers == 1 else 2))
    by_tma, by_mma = draw(st.booleans()), draw(st.booleans())
    loads = draw(st.integers(1, 2)) if by_tma else 0
    several = draw(st.integers(1, 2)) if not by_mma else 1
    has_epilogue = by_mma and consumers == 1 and draw(st.booleans())
    tiles = 2 if has_epilogue and rounds < 2 and draw(st.booleans()) else 1
    words = [
        Word("full", slot, 0, 1, Signal.BYTES if by_tma else Signal.THREADS)
        for slot in range(depth)
    ]
    words += [
        Word("empty", slot, 0, consumers * several, Signal.COMMIT if by_mma else Signal.THREADS)
        for slot in range(depth)
    ]
    done, drained = len(words), len(words) + 1
    words += [Word("done", 0, 0, 1, Signal.COMMIT), Word("drained", 0, 0, 1)]
    producer: list[Step] = []
    eaters: list[list[Step]] = [[] for _ in range(consumers)]
    epilogue: list[Step] = []
    for turn in range(rounds * tiles):
        slot, parity = turn % depth, turn // depth & 1
        producer += _filling(slot, depth + slot, parity ^ 1, loads)
        for number, eater in enumerate(eaters):
            columns = tmem(4 * number, 4 * number + 4) if by_mma else None
            if has_epilogue and turn % rounds == 0:
                eater.append(Wait(AT, drained, (turn // rounds & 1) ^ 1))
            eater += _emptying(slot, depth + slot, parity, several, columns)
            if has_epilogue and turn % rounds == rounds - 1:
                eater.append(Commit(AT, (done,)))
                epilogue += _draining(done, drained, turn // rounds & 1, draw(st.booleans()))
    roles = [producer, *eaters]
    if has_epilogue:
        roles.append(epilogue)
    roles, words = _damaged(draw, roles, words, damages)
    if draw(st.booleans()):
        coming = Meet(AT, ALL, WARP * len(roles))
        roles = [[coming, *steps] for steps in roles]
        roles[0].insert(0, Init(AT, tuple(range(len(words)))))
    if draw(st.booleans()):
        coming = Meet(AT, Meeting(Scope.CTA, 0, 1), WARP * len(roles))
        roles = [[*steps, coming] for steps in roles]
        if has_epilogue:
            roles[-1].append(Free(AT, (0,)))
    return program(words, *roles, size=f"{rounds} rounds, depth {depth}")


def _filling(full: int, empty: int, parity: int, loads: int) -> list[Step]:
    area = smem(4 * full, 4 * full + 4)
    filling: list[Step] = [Wait(AT, empty, parity)]
    if loads == 0:
        return [*filling, Touch(AT, area, True), Fence(AT), Arrive(AT, (full,), 1)]
    filling.append(Arrive(AT, (full,), 1, BYTES * loads))
    if loads == 1:
        return [*filling, Load(AT, (area,), (full,), BYTES)]
    halves = (smem(4 * full, 4 * full + 2), smem(4 * full + 2, 4 * full + 4))
    return filling + [Load(AT, (half,), (full,), BYTES) for half in halves]


def _emptying(full: int, empty: int, parity: int, several: int, columns: Area | None) -> list[Step]:
    area = smem(4 * full, 4 * full + 4)
    emptying: list[Step] = [Wait(AT, full, parity)]
    if columns is not None:
        return [*emptying, Multiply(AT, (area,), (columns,), True), Commit(AT, (empty,))]
    return [*emptying, Touch(AT, area, False), Arrive(AT, (empty,), several)]


def _draining(done: int, drained: int, parity: int, stores: bool) -> list[Step]:
    draining: list[Step] = [
        Wait(AT, done, parity),
        TmemLoad(AT, tmem(0, 4)),
        AwaitTmem(AT, True),
        Arrive(AT, (drained,), 1),
    ]
    if stores:
        area = smem(0, 4, "OUT")
        draining += [Touch(AT, area, True), Fence(AT), Store(AT, area), CloseGroup(AT)]
        draining.append(AwaitGroups(AT, 0))
    return draining


def _damaged(
    draw: DrawFn, roles: list[list[Step]], words: list[Word], most: int
) -> tuple[list[list[Step]], list[Word]]:
    """Return the program with mistakes in it, as people make them."""
    roles, words = [list(steps) for steps in roles], list(words)
    for _ in range(most and draw(st.sampled_from((most, most - 1)))):
        role = draw(st.integers(0, len(roles) - 1))
        if not roles[role]:
            continue
        place = draw(st.integers(0, len(roles[role]) - 1))
        step = roles[role][place]
        match draw(st.sampled_from(("drop", "twice", "change", "move", "cut", "count"))):
            case "drop":
                del roles[role][place]
            case "twice":
                roles[role].insert(place, step)
            case "move":
                del roles[role][place]
                roles[role].insert(draw(st.integers(0, len(roles[role]))), step)
            case "cut":
                del roles[role][place:]
            case "count":
                word = draw(st.integers(0, len(words) - 1))
                words[word] = replace(words[word], count=draw(st.integers(1, 3)))
            case "change":
                roles[role][place] = _changed(draw, step, len(words))
    return roles, words


def _changed(draw: DrawFn, step: Step, words: int) -> Step:
    match step:
        case Wait():
            if draw(st.booleans()):
                return replace(step, parity=step.parity ^ 1)
            return replace(step, word=draw(st.integers(0, words - 1)))
        case Arrive():
            if step.bytes and draw(st.booleans()):
                return replace(step, bytes=draw(st.sampled_from((0, BYTES, 2 * BYTES))))
            if draw(st.booleans()):
                return replace(step, arrivals=draw(st.integers(1, 3)))
            return replace(step, words=(draw(st.integers(0, words - 1)),))
        case Load():
            return replace(step, bytes=draw(st.sampled_from((BYTES // 2, BYTES, 2 * BYTES))))
        case Commit():
            return replace(step, words=(draw(st.integers(0, words - 1)),))
        case AwaitGroups():
            return replace(step, left=1)
        case AwaitTmem():
            return replace(step, loads=False)
    return step


def wild(most_steps: int = 6) -> SearchStrategy[Program]:
    """Return programs of any steps: two or three roles, one to three words."""
    return st.integers(1, 3).flatmap(
        lambda words: st.builds(
            _wild,
            st.lists(st.integers(1, 3), min_size=words, max_size=words),
            st.lists(
                st.lists(_steps(words), min_size=1, max_size=most_steps), min_size=2, max_size=3
            ),
            st.lists(st.integers(1, 3), min_size=2, max_size=2),
        )
    )


def _wild(counts: list[int], roles: list[list[Step]], expected: list[int]) -> Program:
    """Give all that come to a meeting the same idea of how many are to come."""
    fixed = [
        [
            replace(step, expected=WARP * expected[step.meeting.number])
            if isinstance(step, Meet)
            else step
            for step in steps
        ]
        for steps in roles
    ]
    return program([Word("b", slot, 0, count) for slot, count in enumerate(counts)], *fixed)


def _steps(words: int) -> SearchStrategy[Step]:
    word = st.integers(0, words - 1)
    some = st.lists(word, min_size=1, max_size=2, unique=True).map(tuple)
    mostly = st.sampled_from((True, True, True, True, True, False))
    bounds = st.sampled_from(((0, 2), (2, 4), (0, 4)))
    shared = st.builds(lambda b, exact: smem(b[0], b[1], is_exact=exact), bounds, mostly)
    tensor = st.builds(lambda b, exact: tmem(b[0], b[1], is_exact=exact), bounds, mostly)
    amount = st.sampled_from((0, 1, 2))
    at = st.just(AT)
    wait = st.builds(Wait, at, word, st.integers(0, 1))
    arrive = st.builds(Arrive, at, some, st.integers(1, 2), amount)
    commit = st.builds(Commit, at, some)
    load = st.builds(Load, at, st.tuples(shared), some, st.sampled_from((1, 2)))
    reads, writes = st.tuples(shared), st.tuples(tensor)
    return st.one_of(
        wait,
        wait,
        wait,
        arrive,
        arrive,
        commit,
        load,
        st.builds(Multiply, at, reads, writes, st.booleans()),
        st.builds(Touch, at, shared, st.booleans()),
        st.builds(Store, at, shared),
        st.builds(CloseGroup, at),
        st.builds(AwaitGroups, at, st.integers(0, 1)),
        st.builds(TmemLoad, at, tensor),
        st.builds(TmemStore, at, tensor),
        st.builds(AwaitTmem, at, st.booleans()),
        st.builds(
            lambda number, blocks: Meet(AT, Meeting(Scope.NAMED, 0, number), 0, blocks),
            st.integers(0, 1),
            mostly,
        ),
    )
