"""What is found by following every role of a kernel from its first round to its last."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.expr import Apply, Const, Operator, Unknown
from tirx_lens.model.kernel import Op
from tirx_lens.model.source import SourceText
from tirx_lens.rules.facts.balance import imbalance
from tirx_lens.rules.facts.loop_rounds import TILES
from tirx_lens.rules.facts.phases import STATE_STORED
from tirx_lens.rules.facts.registers import Registers, Shared
from tirx_lens.rules.facts.traces import traces
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

KERNELS = Path(__file__).parents[2] / "kernels"
PAIR = (KERNELS / "gemm_step8_cluster.py").read_text("utf-8")
RING = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
K_TILES, DEPTH, CTAS = 512 // 64, 4, 2  # of the arguments that the kernels are checked with


def view_of(text: str) -> KernelView:
    source = SourceText(text)
    (kernel,) = read_kernels(source).kernels
    return KernelView(source, kernel, reach(kernel, compute))


def test_each_group_is_at_a_barrier_as_often_as_its_loops_say() -> None:
    found = traces(view_of(PAIR))
    assert found is not None
    counts: Counter[tuple[str, str, int]] = Counter()
    for barrier, uses in found.uses.items():
        for use in uses:
            kind = "wait" if use.reached.operation.op is Op.BARRIER_WAIT else "arrive"
            for cta in use.ctas:
                counts[barrier.name, kind, cta] += use.group.threads.bit_count()
    rounds = TILES * K_TILES
    assert counts == {
        ("full", "arrive", 0): rounds,  # the leader arms for both
        ("full", "wait", 0): rounds,
        ("empty", "arrive", 0): rounds,  # a multicast commit
        ("empty", "arrive", 1): rounds,
        ("empty", "wait", 0): rounds + DEPTH,  # and the stages still out
        ("empty", "wait", 1): rounds + DEPTH,
        ("acc_full", "arrive", 0): TILES,
        ("acc_full", "arrive", 1): TILES,
        ("acc_full", "wait", 0): TILES * 128,
        ("acc_full", "wait", 1): TILES * 128,
        ("acc_empty", "arrive", 0): TILES * CTAS * 128,
        ("acc_empty", "wait", 0): TILES,
    }


def test_slots_and_parities_go_round_the_ring() -> None:
    found = traces(view_of(RING))
    assert found is not None
    (full,) = (uses for barrier, uses in found.uses.items() if barrier.name == "full")
    waits = [(use.slot, use.parity) for use in full if use.parity is not None]
    assert waits == [(k % DEPTH, k // DEPTH % 2) for k in range(8)]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("read.advance()", "read.advance()\n                read.advance()", "TX109"),
        ("read = PipelineState(DEPTH", "read = PipelineState(DEPTH - 1", "TX109"),
        ("empty.arrive(read.stage)", "empty.arrive(0)", "TX109"),
        ("full.wait(read.stage, ", "full.wait(0, ", "TX106"),
        ("full.wait(read.stage, read.phase)", "full.wait(read.stage, 0)", "TX107"),
        ("full.init(1)", "full.init(2)", "TX104"),
        ("for tile in range(TILES)", "for tile in range(TILES - 1)", "TX106"),
    ],
)
def test_one_mistake_is_one_finding(old: str, new: str, code: str) -> None:
    assert old in RING
    found = analyse(SourceText(RING.replace(old, new, 1))).findings
    assert [finding.code for finding in found] == [code]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("full.arrive(load.stage, BYTES)", "if cta > 3:\n    full.arrive(load.stage, BYTES)"),
        ("read.advance()", "if my_row[0] > 0:\n    read.advance()"),
        ("read.advance()", "read.stage = read.stage + 2"),
        ("empty.arrive(read.stage)", "empty.arrive(read.stage, pred=lane_id == 0)"),
        ("empty.arrive(read.stage)", "if cta == 2:\n    break"),
    ],
)
def test_what_cannot_be_followed_is_left_alone(old: str, new: str) -> None:
    at = RING.index(old)
    margin = " " * (at - RING.rindex("\n", 0, at) - 1)
    view = view_of(RING.replace(old, new.replace("\n", f"\n{margin}"), 1))
    assert view.kernel.is_whole
    assert imbalance(view) is None


@pytest.mark.parametrize("rounds", [100, 100_000, 1 << 47])
def test_a_run_is_followed_unless_it_is_sure_to_be_too_long(rounds: int) -> None:
    found = traces(
        view_of(RING.replace("for tile in range(TILES)", f"for tile in range({rounds})"))
    )
    assert (found is not None) is (rounds == 100)


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        (Operator.AND, (1, 1), 1),
        (Operator.AND, (1, 0), 0),
        (Operator.AND, (None, 0), 0),
        (Operator.AND, (0, None), 0),
        (Operator.AND, (1, None), None),
        (Operator.OR, (0, 0), 0),
        (Operator.OR, (0, 1), 1),
        (Operator.OR, (None, 1), 1),
        (Operator.OR, (0, None), None),
        (Operator.NOT, (3,), 0),
        (Operator.NOT, (0,), 1),
        (Operator.NOT, (None,), None),
        (Operator.NEGATE, (2,), None),
        (Operator.ADD, (2, 3), 5),
        (Operator.ADD, (2, None), None),
        (Operator.LESS, (2, 3), 1),
        (Operator.FLOOR_DIVIDE, (2, 0), None),
    ],
)
def test_what_a_thread_computes_while_it_is_followed(
    operator: Operator, values: tuple[int | None, ...], expected: int | None
) -> None:
    followed = view_of(RING).reach
    assert followed is not None
    thread = Registers(Shared(followed), 0, 1)
    operands = tuple(Unknown("") if value is None else Const(value) for value in values)
    assert thread.value(Apply(operator, operands)) == expected


@pytest.mark.parametrize(
    ("text", "stores"),
    [
        (b"state.stage = 1", True),
        (b"state.phase ^= 1", True),
        (b"a.state.stage += 2", True),
        (b"myself.phase=0", True),
        (b"self.state.stage = 1", True),
        (b"self.stage = 1", False),
        (b"self.phase ^= 1", False),
        (b"state.stage == 1", False),
        (b"f(state.stage)", False),
        (b"[0].stage = 1", False),
    ],
)
def test_a_store_to_a_state_is_told_from_one_to_a_field(text: bytes, stores: bool) -> None:
    assert (STATE_STORED.search(text) is not None) is stores
