"""Runs at other sizes: found by the argument that turns the ring, told as information."""

from __future__ import annotations

from pathlib import Path

from tirx_lens.analysis import analyse
from tirx_lens.model.finding import Severity
from tirx_lens.model.source import SourceText

RING = (Path(__file__).parents[2] / "kernels" / "tma_ring_copy.py").read_text("utf-8")
STATE = "            read = PipelineState(DEPTH, phase=0)\n"
LOOP = "            for tile in range(TILES):\n                full.wait"


def two_passes(args: str) -> SourceText:
    """Return the ring copied twice, by a consumer that begins the second pass at the first slot.

    That is right where a pass goes round the ring a whole even number of times, and no other.
    """
    text = RING.replace("args ROWS=1024 COLS=512", args)
    producer = "                    for tile in range(TILES):\n                        empty.wait"
    assert STATE in text
    assert LOOP in text
    assert producer in text
    text = text.replace(producer, producer.replace("range(TILES)", "range(2 * TILES)"))
    head, _, tail = text.partition(STATE)
    body, end, rest = tail.partition("    return kernel")
    inner = "".join(
        f"    {line}" if line.strip() else line for line in (STATE + body).splitlines(True)
    )
    return SourceText(f"{head}            for turn in range(2):\n{inner}{end}{rest}")


def test_a_kernel_that_is_right_at_its_own_size_alone_gives_information() -> None:
    (finding,) = analyse(two_passes("args ROWS=1024 COLS=512")).findings
    assert (finding.code, finding.severity) == ("TX108", Severity.INFORMATION)
    assert finding.message.startswith("With COLS=192, 3 rounds of a ring of 4: ")


def test_the_same_kernel_at_such_a_size_is_an_error() -> None:
    found = analyse(two_passes("args ROWS=1024 COLS=192")).findings
    assert {finding.severity for finding in found} == {Severity.ERROR}


def test_no_size_is_tried_where_no_argument_turns_the_ring() -> None:
    text = RING.replace("TILES = COLS // BN", "TILES = 8")
    assert not analyse(SourceText(text)).findings


def test_the_arguments_of_a_call_stay_at_another_size() -> None:
    """What the call says of the other parameters is no less known than before."""
    text = two_passes("args ROWS=1024 COLS=512").text
    for old, new in (
        ("# tirx-lens: args ROWS=1024 COLS=512\n", ""),
        ("def ring_copy(ROWS, COLS):", "def ring_copy(ROWS, COLS, ELEMENT):"),
        ("load.stage, BYTES)", "load.stage, BM * BN * ELEMENT)"),
        ("ring_copy(rows, cols)", "ring_copy(1024, 512, 2)"),
    ):
        assert old in text
        text = text.replace(old, new)
    (finding,) = analyse(SourceText(text)).findings
    assert finding.message.startswith("With COLS=192, 3 rounds of a ring of 4: ")


def test_a_loop_that_never_runs_does_not_tell_what_turns_the_ring() -> None:
    """Twice as many rows leave it at no turns: that is no doubling."""
    text = two_passes("args ROWS=1024 COLS=512").text
    loop = "                for none in range(TILES - 8):\n                    read.advance()\n"
    assert text.count(STATE) == 1
    analysis = analyse(SourceText(text.replace(STATE, STATE + loop)))
    assert not analysis.failures
    (finding,) = analysis.findings
    assert finding.message.startswith("With COLS=192, 3 rounds of a ring of 4: ")
