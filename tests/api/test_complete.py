"""What may stand at the cursor, while a text is being typed."""

from __future__ import annotations

import pytest

from tirx_lens.api.bound import written_path
from tirx_lens.api.called import callables
from tirx_lens.api.complete import members, ways
from tirx_lens.api.cursor import Chain, OpenCall, call_before, chain_before
from tirx_lens.api.surface import surface_of
from tirx_lens.model.given import TvmVersion

V25, V26, V27 = TvmVersion
TEXT = """\
from tvm.script import tirx as tir
from tvm.script.tirx import (
    tile as tl,
)
import tvm.script.tirx.cuda as gpu
from tvm.backend.cuda.lang.pipeline import MBarrier

full: object = MBarrier(pool, 4)
"""


@pytest.mark.parametrize(
    ("names", "path"),
    [
        (("tir", "ptx"), "tvm.script.tirx.ptx"),
        (("tl", "wg"), "tvm.script.tirx.tile.wg"),
        (("gpu",), "tvm.script.tirx.cuda"),
        (("full",), "tvm.backend.cuda.lang.MBarrier"),
        (("T", "cuda"), "tvm.script.tirx.cuda"),  # a snippet without its imports
        (("other", "name"), "other.name"),
    ],
)
def test_what_names_stand_for(names: tuple[str, ...], path: str) -> None:
    assert written_path(TEXT, names) == path


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("T.ptx.mbarrier.in", Chain(("T", "ptx", "mbarrier"), "in")),
        ("x = T.", Chain(("T",), "")),
        ('T.ptx["fence.proxy.as', Chain(("T", "ptx", "fence", "proxy"), "as", is_string=True)),
        ('T.ptx["', Chain(("T", "ptx"), "", is_string=True)),
        ("T.ptx\n    .fence.", Chain(("T", "ptx", "fence"), "")),
        ("plain", None),
        ("1.", None),
        ("", None),
    ],
)
def test_the_chain_before_the_cursor(text: str, chain: Chain | None) -> None:
    assert chain_before(text) == chain


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("full.arrive(", OpenCall(("full", "arrive"), 0)),
        ("full.arrive(0, ", OpenCall(("full", "arrive"), 1)),
        ("full.arrive(f(1, 2), [3, 4], ", OpenCall(("full", "arrive"), 2)),
        ("copy(A[0, 1], dispatch=", OpenCall(("copy",), 1, "dispatch")),
        ('copy(A, dispatch="tm', OpenCall(("copy",), 1, "dispatch", "tm")),
        ("copy(A,  # a comment, with (\n    B, ", OpenCall(("copy",), 2)),
        ('copy("a, b(", ', OpenCall(("copy",), 1)),
        ('copy("it\'s", ', OpenCall(("copy",), 1)),
        ('T.ptx["a.b"](x, ', OpenCall(("T", "ptx", "a", "b"), 1)),
        ("outer(inner(1), ", OpenCall(("outer",), 1)),
        ("done(1)", None),
        ("A[1, ", None),
        ("(1, ", None),
        ("", None),
    ],
)
def test_the_call_around_the_cursor(text: str, call: OpenCall | None) -> None:
    assert call_before(text) == call


def words(path: str, version: TvmVersion = V27, *, in_string: bool = False) -> list[str]:
    return [one.word for one in members(surface_of(version), path, in_string=in_string)]


def test_names_of_each_release() -> None:
    assert "elect_sync" in words("tvm.script.tirx.cuda")
    assert "elect_sync" not in words("tvm.script.tirx.cuda", V26)
    assert "elect_sync" in words("tvm.script.tirx.ptx", V26)
    assert words("tvm.script.tirx.ptx.tcgen05.wait", V26) == ["ld", "st"]
    assert "arrive" in words("tvm.backend.cuda.lang.MBarrier")
    assert "copy_async" in words("tvm.script.tirx.tile.wg")
    assert "wg" in words("tvm.script.tirx.tile")
    assert words("numpy") == []
    assert words("tvm.script.tirx.ptx.nothing") == []


def test_the_next_modifiers_in_the_order_of_ptx() -> None:
    assert words("tvm.script.tirx.ptx.setmaxnreg") == ["inc", "dec"]
    assert words("tvm.script.tirx.ptx.setmaxnreg.inc") == ["sync"]
    assert words("tvm.script.tirx.ptx.fence.proxy.async_") == [
        "global_",
        "shared__cta",
        "shared__cluster",
    ]
    assert words("tvm.script.tirx.ptx.fence.proxy.async", in_string=True) == [
        "global",
        "shared::cta",
        "shared::cluster",
    ]


def test_required_modifiers_are_filled_in() -> None:
    found = {one.word: one for one in members(surface_of(V27), "tvm.script.tirx.ptx.fence")}
    assert found["mbarrier_init"].snippet == "mbarrier_init.release.cluster()"
    (grow, _) = members(surface_of(V27), "tvm.script.tirx.ptx.setmaxnreg")
    assert grow.snippet == "inc.sync.aligned.u32(${1:nreg})"


def test_ways_to_carry_out_an_operation() -> None:
    assert "tma_auto" in [one.word for one in ways(surface_of(V27), "copy_async")]
    assert "tma" in [one.word for one in ways(surface_of(V25), "copy_async")]
    assert ways(surface_of(V27), "nothing") == ()


@pytest.mark.parametrize(
    ("path", "version", "labels"),
    [
        ("tvm.script.tirx.cuda.mbarrier_wait", V27, ["T.cuda.mbarrier_wait(bar, phase)"]),
        ("tvm.script.tirx.ptx.mbarrier.init", V26, ["T.ptx.mbarrier.init(bar, thread_count)"]),
        (
            "tvm.script.tirx.ptx.barrier.sync.aligned",
            V27,
            ["barrier.sync.aligned(a)", "barrier.sync.aligned(a, b)"],
        ),
        ("tvm.script.tirx.ptx.mbarrier.init", V27, []),  # a modifier is lacking
        ("tvm.backend.cuda.lang.MBarrier.init", V27, ["MBarrier.init(self, count)"]),
        ("numpy.array", V27, []),
    ],
)
def test_the_ways_to_call(path: str, version: TvmVersion, labels: list[str]) -> None:
    found = [f"{way.name}{way.signature.text}" for way in callables(surface_of(version), path)]
    assert found == labels
