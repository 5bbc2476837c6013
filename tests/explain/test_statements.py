"""Which threads run a statement, and what it asks of them."""

from __future__ import annotations

import pytest

from tirx_lens.explain.statements import condition_note, mention_at, statement_note

from .asking import RING, ask, marked

ROLES = """\
    if wg_id == 1:
        A[0] = 1
        T.cuda.warpgroup_sync(1)
    elif warp_id < 2:
        x = lane_id
        T.cuda.cta_sync()
    else:
        if A[0] > 1:
            A[1] = 2
    while A[0] > wg_id:
        A[2] = 3
    T.cuda.cta_sync()
"""
TWICE = """\
    @T.inline
    def store(value):
        A[0] = value

    if wg_id == 0:
        store(1)
    if T.cuda.elect_sync():
        store(2)
"""
WG1 = "warpgroup 1 (128 of 256 threads)"
FIRST = "warps 0 and 1 of warpgroup 0 (64 of 256 threads)"
STATEMENTS = {
    "a store": (marked("A[0] = 1", None, ROLES), [WG1], None),
    "an operation": (
        marked("sync", "T.cuda.warpgroup", ROLES),
        [WG1],
        "the 128 threads of one warpgroup",
    ),
    "a binding in an `elif`": (marked("x = lane", None, ROLES), [FIRST], None),
    "an operand": (
        marked("cta_sync", None, ROLES),
        [FIRST],
        "every thread of the CTA that has not returned",
    ),
    "behind what is not known": (
        marked("A[1] = 2", None, ROLES),
        ["some threads of warps 2 and 3 of warpgroup 0"],
        None,
    ),
    "in a function that is called twice": (
        marked("A[0] = value", None, TWICE),
        [
            "warpgroup 0 (128 of 256 threads)",
            "one elected lane of each warp of the whole CTA (8 of 256 threads)",
        ],
        None,
    ),
    "a copy": (
        marked("dispatch"),
        ["one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)"],
        None,
    ),
    "the word `while` before a call": (
        marked(
            "while",
            None,
            ROLES.replace("A[0] > wg_id", "tiles.valid()").replace(
                "    if wg_id == 1",
                "    tiles = ClusterPersistentScheduler2D(num_m_tiles=4)\n    if wg_id == 1",
            ),
        ),
        None,
        None,
    ),
    "an allocation": (marked("pool.alloc"), None, None),
    "a definition": (marked("def store", None, TWICE), None, None),
    "the text around the kernel": ("", None, None),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements(name: str) -> None:
    body, threads, demand = STATEMENTS[name]
    asked = ask(body)
    note = statement_note(asked.view, asked.offset if body else 0)
    assert (note and [one.words for one in note.threads]) == threads
    assert (note.demand.value if note and note.demand else None) == demand


CONDITIONS = {
    "an `if`": (
        marked("wg_id == 1", None, ROLES),
        ("the whole CTA (256 of 256 threads)", WG1, "warpgroup 0 (128 of 256 threads)"),
    ),
    "an `elif`": (
        marked("warp_id < 2", None, ROLES),
        (
            "warpgroup 0 (128 of 256 threads)",
            FIRST,
            "warps 2 and 3 of warpgroup 0 (64 of 256 threads)",
        ),
    ),
    "an election": (
        marked("T.cuda.elect"),
        (
            "warp 0 of warpgroup 1 (32 of 256 threads)",
            "one elected lane of warp 0 of warpgroup 1 (1 of 256 threads)",
            "all lanes but the elected one of warp 0 of warpgroup 1 (31 of 256 threads)",
        ),
    ),
    "a loop": (
        marked("A[0] > wg_id", None, ROLES),
        ("the whole CTA (256 of 256 threads)", "some threads of the whole CTA", None),
    ),
    "no condition": (marked("A[0] = 1", None, ROLES), None),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str) -> None:
    body, expected = CONDITIONS[name]
    asked = ask(body)
    note = condition_note(asked.view, asked.offset)
    said = note and tuple(
        "; ".join(one.words for one in some) or None
        for some in (note.asked, note.inside, note.otherwise)
    )
    assert said == expected


MENTIONS = {
    "a receiver": (marked("full", "full.wait"), ["full"]),
    "the name that is bound": (marked("empty", "empty = "), ["empty"]),
    "a pointer": (marked("full", "mbar="), ["full"]),
    "a state": (marked("use", "full.wait"), ["use"]),
    "a method": (marked("wait", "full.wait"), []),
    "a parameter that stands for two": (
        """\
    pool = T.SMEMPool()
    one = MBarrier(pool, 1)
    two = MBarrier(pool, 1)

    @T.inline
    def give(bar):
        §bar.arrive(0)

    give(one)
    give(two)
""",
        ["one", "two"],
    ),
}


@pytest.mark.parametrize("name", MENTIONS)
def test_mentions(name: str) -> None:
    body, expected = MENTIONS[name]
    asked = ask(body)
    assert [one.target.name for one in mention_at(asked.view, asked.offset)] == expected


def test_an_item_of_a_list_is_the_one_that_is_picked() -> None:
    asked = ask("""\
    pool = T.SMEMPool()
    bars = [MBarrier(pool, 1), MBarrier(pool, 2)]
    §bars[1].init(3)
""")
    (mention,) = mention_at(asked.view, asked.offset)
    assert asked.text(mention.span) == "bars[1]"
    assert asked.text(mention.target.span) == "MBarrier(pool, 2)"


def test_a_barrier_of_a_class_is_named_where_it_is_kept_and_used() -> None:
    text = """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import MBarrier


@T.meta_class
class Ring:
    def __init__(self, pool):
        self.room = MBarrier(pool, 1)


@T.prim_func
def kernel(A: T.Buffer((4,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    pool = T.SMEMPool()
    ring = Ring(pool)
    ring.room.init(1)
"""
    asked = ask(text, whole=True)
    places = [
        (asked.reading.source.line_of(one.span.start) + 1, asked.text(one.span))
        for one in asked.view.kernel.mentions
        if one.target.name == "ring.room"
    ]
    assert sorted(places) == [(8, "room"), (17, "room")]


def test_the_ring_is_read() -> None:
    assert len(ask(RING).view.kernel.mentions) > 20


def test_named_barriers() -> None:
    asked = ask("""\
    if wg_id == 1:
        T.cuda.warpgroup_§sync(2)
    T.ptx.bar.sync(wg_id + 3, 128)
""")
    note = statement_note(asked.view, asked.offset)
    assert [(one.number, one.count) for one in note.named] == [(2, 128)]
    asked = ask("    T.ptx.bar.§sync(wg_id + 3, 128)\n")
    note = statement_note(asked.view, asked.offset)
    assert [(one.number, one.count) for one in note.named] == [(3, 128), (4, 128)]
