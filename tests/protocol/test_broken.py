"""Each broken kernel stops or races where it is written down, or no run can show its mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib
from tests.protocol.endings import End, ending, views_of
from tests.protocol.replay import replay

from tirx_lens.files import read_source
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.simulated import simulated

BROKEN = sorted((Path(__file__).parents[2] / "kernels" / "broken").glob("*.py"))
# Where more warps come to a named barrier than it wants, a run lets all of them go on.
REPLAYED = [path for path in BROKEN if not path.stem.startswith("tx103")]
NO_HANDOFF = {
    "TX114": "registers of warpgroups, which nobody hands on",
    "TX201": "where in SMEM a barrier lies: a run knows storage by its name",
    "TX202": "how many lanes execute an instruction of whole warps",
    "TX204": "TMEM that is kept when all is done",
    "TX205": "shapes that tiles do not divide",
    "TX206": "how much SMEM there is",
    "TX207": "how many columns of TMEM may be asked for",
    "TX208": "two buffers in the same bytes: a run knows storage by its name",
    "TX209": "a scalar in SMEM: of accesses by threads, a run does not know whose is whose",
    "TX304": "the order of one thread's own instructions behind its wait",
    "TX307": "what an MMA adds to, not when",
    "TX402": "what TVM makes of an MMA",
    "TX403": "how fast the kernel is",
    "TX501": "a form that TVM refuses",
    "TX502": "a way to copy that TVM does not have",
    "TX508": "a spelling that TVM refuses",
    "TX504": "a name that TVM does not find",
    "TX505": "a function whose body TVM refuses, and which may do anything",
    "TX509": "a name that CUDA refuses",
}


def code_of(path: Path) -> str:
    return path.name.partition("_")[0].upper()


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_kernel_ends_as_is_written_down(path: Path) -> None:
    source = read_source(path)
    assert isinstance(source, SourceText)
    one = ending(source)
    expected = tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))
    assert one.written == expected["run"]
    assert one.end.is_bad == (code_of(path) not in NO_HANDOFF)


@pytest.mark.parametrize("path", REPLAYED, ids=lambda path: path.stem)
def test_its_history_keeps_the_rules(path: Path) -> None:
    """A second reading replays it, step by step."""
    for view in views_of(SourceText(path.read_text("utf-8"))):
        if (history := simulated(view).history) is not None:
            replay(history)


def test_the_reasons_are_of_broken_kernels() -> None:
    assert set(NO_HANDOFF) < {code_of(path) for path in BROKEN}


def test_a_kernel_that_is_not_followed_is_no_proof() -> None:
    """Only the one whose text TVM refuses may pass above for want of reading."""
    ends = {path.stem: ending(SourceText(path.read_text("utf-8"))).end for path in BROKEN}
    unfollowed = [name for name, end in ends.items() if end is End.UNFOLLOWED]
    assert unfollowed == ["tx505_kernel_not_returned"]
