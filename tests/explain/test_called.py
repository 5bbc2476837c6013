"""What is called at a place."""

from __future__ import annotations

import pytest

from tirx_lens.api.notes import note_for
from tirx_lens.explain.called import CallNote, call_note
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.read import read_kernels

V25, V26, V27 = TvmVersion


def noted(statement: str, at: str) -> CallNote | None:
    source = SourceText(in_kernel(statement))
    (kernel,) = read_kernels(source).kernels
    return call_note(KernelView(source, kernel, None), source.data.index(at.encode()))


@pytest.mark.parametrize(
    ("call", "at", "ways", "releases", "section"),
    [
        ("T.cuda.cta_sync()", "cta_sync", ["T.cuda.cta_sync()"], [V25, V26, V27], ""),
        (
            "T.ptx.tcgen05.wait.ld()",
            "tcgen05",
            ["T.ptx.tcgen05.wait.ld()"],
            [V25, V26],
            "TensorCore 5th Generation Family Instructions: tcgen05.wait",
        ),
        (
            'T.ptx["tcgen05.wait::ld.sync.aligned"]()',
            "wait",
            ["tcgen05.wait::ld.sync.aligned()"],
            [V27],
            "TensorCore 5th Generation Family Instructions: tcgen05.wait",
        ),
        (
            "full = MBarrier(T.SMEMPool(), 1)\nfull.wait(0, 0)",
            "full.wait",
            ["MBarrier.wait(stage, phase)"],
            [V25, V26, V27],
            "",
        ),
    ],
)
def test_a_call(
    call: str, at: str, ways: list[str], releases: list[TvmVersion], section: str
) -> None:
    found = noted(call, at)
    assert found is not None
    assert found.note is not None
    assert [f"{way.name}{way.signature.for_user}" for way in found.ways] == ways
    assert list(found.releases) == releases
    assert found.note.section == section


def test_elsewhere_nothing_is_called() -> None:
    assert noted("T.cuda.cta_sync()", "T.lane_id") is not None
    assert noted("A[0] = T.float16(0)", "A[0]") is None


def test_every_spelling_of_an_instruction_has_its_note() -> None:
    spellings = ("T.ptx.fence.proxy.async.shared::cta", "T.ptx.fence.proxy.async")
    assert len({note_for(name) for name in spellings}) == 1
    assert note_for("T.ptx.elect_sync") is not None
    assert note_for("T.ptx.nothing") is None
