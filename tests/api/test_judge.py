"""What each release has against calls."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import Selection, analyse
from tirx_lens.api.forms import attribute, begin, narrowed, next_tokens, token_of
from tirx_lens.api.judge import Trouble, judge
from tirx_lens.api.surface import surface_of
from tirx_lens.model.given import Given, TvmVersion
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.syntax.read import read_kernels

V25, V26, V27 = TvmVersion


def troubles(call: str, version: TvmVersion) -> list[tuple[Trouble, str]]:
    (kernel,) = read_kernels(SourceText(in_kernel(call))).kernels
    surface = surface_of(version)
    found = [judge(surface, one) for one in kernel.calls]
    return [(one.trouble, one.name) for one in found if one is not None]


@pytest.mark.parametrize(
    ("call", "version", "trouble", "name"),
    [
        ("T.cuda.nothing()", V27, Trouble.NAME, "nothing"),
        ("T.nothing()", V26, Trouble.NAME, "nothing"),
        ("Tx.wg.nothing(A[:])", V27, Trouble.NAME, "nothing"),
        ("T.ptx.nothing.b32()", V27, Trouble.NAME, "nothing"),
        ("T.ptx.tcgen05.wait.nothing()", V26, Trouble.NAME, "nothing"),
        ("T.ptx.tcgen05.nothing.now()", V26, Trouble.NAME, "nothing"),
        ("T.ptx.fence.nothing()", V27, Trouble.MODIFIER, "nothing"),
        ('T.ptx["fence.nothing"]()', V27, Trouble.MODIFIER, "nothing"),
        ('T.ptx["fence.acq_rel.gpu"]()', V26, Trouble.STRING_FORM, "fence.acq_rel.gpu"),
        ("T.ptx.fence.acq_rel()", V27, Trouble.MISSING_MODIFIER, ""),
        ("T.ptx.elect_sync()", V27, Trouble.TOO_FEW, ""),
        ("T.ptx.fence.acq_rel.gpu(pres=1)", V27, Trouble.KEYWORD, "pres"),
        ("T.cuda.cta_sync(1)", V27, Trouble.TOO_MANY, ""),
        ("T.cuda.mbarrier_wait(A)", V27, Trouble.TOO_FEW, "phase"),
        ("T.ptx.mbarrier.init.shared.b64(A)", V27, Trouble.TOO_FEW, ""),
        ("T.ptx.mbarrier.init.shared.b64(A, 1, 2)", V27, Trouble.TOO_MANY, ""),
        ("T.ptx.mbarrier.init(A)", V26, Trouble.TOO_FEW, "thread_count"),
    ],
)
def test_a_trouble(call: str, version: TvmVersion, trouble: Trouble, name: str) -> None:
    assert troubles(call, version) == [(trouble, name)]


@pytest.mark.parametrize(
    ("call", "version"),
    [
        ("T.cuda.cta_sync()", V25),
        ("T.ptx.tcgen05.wait.ld()", V26),
        ("T.ptx.elect_sync()", V26),
        ("T.ptx.mbarrier.arrive(A, count=2)", V26),
        ("T.ptx.fence.proxy.async_.shared__cta()", V27),
        ("T.ptx.fence.shared__cta.proxy.async_()", V27),  # any order that the slots take
        ("T.ptx.mbarrier.arrive.shared.b64(A)", V27),
        ("T.ptx.mbarrier.arrive.shared.b64(A, 1, pred=lane_id == 0)", V27),
        ("T.ptx.add.rn.f32(*A)", V27),
        ("T.ptx.pred(A)", V27),
        ("T.ptx.addr(A, 4)", V27),
        ("Tx.copy_async(A[:], A[:], dispatch='tma_auto', anything=1)", V27),
        ("T.wg.copy(A[:], A[:])", V27),
        ("other.cuda.nothing()", V27),
        ("tvm.tirx.nothing()", V27),  # another namespace than that of TVMScript
    ],
)
def test_no_trouble(call: str, version: TvmVersion) -> None:
    assert troubles(call, version) == []


def said(text: str, version: TvmVersion | None) -> list[tuple[str, str, str]]:
    source = SourceText(text)
    selection = Selection(select=("TX501", "TX502", "TX508"))
    found = analyse(source, selection, Given(tvm_version=version)).findings
    return [(one.code, source.slice(one.span), one.message) for one in found]


def test_a_name_that_no_release_has_is_reported_where_the_release_is_known() -> None:
    text = in_kernel("T.cuda.dance_of_clusters()")
    assert said(text, None) == []
    assert said(text, V27) == [
        ("TX501", "dance_of_clusters", "TVM 0.27 has no `T.cuda.dance_of_clusters`.")
    ]


def test_a_name_of_a_newer_release_says_which() -> None:
    assert said(in_kernel("T.cuda.mbarrier_wait(A, 0)"), V26) == [
        ("TX501", "mbarrier_wait", "TVM 0.26 has no `T.cuda.mbarrier_wait`. TVM 0.27 takes it.")
    ]


def test_a_name_with_another_meaning_by_now() -> None:
    ((code, place, message),) = said(in_kernel("if T.ptx.elect_sync():\n    A[0] = A[1]"), V27)
    assert (code, place) == ("TX508", "T.ptx.elect_sync")
    assert "write `T.cuda.elect_sync`" in message


def test_a_name_under_an_alias() -> None:
    text = in_kernel("bar = T.ptx.mbarrier\nbar.inot.shared.b64(A, 1)")
    assert [(code, place) for code, place, _ in said(text, V27)] == [("TX501", "inot")]


@pytest.mark.parametrize(("version", "found"), [(V25, []), (V26, ["TX502"]), (V27, ["TX502"])])
def test_a_way_that_a_release_has(version: TvmVersion, found: list[str]) -> None:
    text = in_kernel('Tx.copy_async(A[:], A[:], dispatch="tma")')
    assert [code for code, _, _ in said(text, version)] == found
    assert said(text, None) == []


def test_a_file_that_registers_ways_of_its_own() -> None:
    text = "from tvm.tirx import register_dispatch\n" + in_kernel(
        'Tx.cta.copy(A[:], A[:], dispatch="mine")'
    )
    assert said(text, V27) == []


@pytest.mark.parametrize("token", ["shared::cta", "async", "cta_group::1", "global", "b64", "a:b"])
def test_spelling_and_reading_a_modifier(token: str) -> None:
    assert token_of(attribute(token)) == token


def test_what_may_come_next() -> None:
    families = surface_of(V27).families
    assert families is not None
    fence = begin(families["fence"])
    proxy = narrowed(narrowed(fence, "proxy"), "async")
    assert next_tokens(proxy) == ("global", "shared::cta", "shared::cluster")
    acquire = narrowed(fence, "acq_rel")
    assert next_tokens(acquire)[:2] == ("cta", "cluster")
    assert narrowed(acquire, "proxy") == ()
