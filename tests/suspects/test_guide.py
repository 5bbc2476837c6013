"""The suspects of kernels by symptom: what is said, what is checked, and that nothing breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.report.symptom_guide import as_markdown
from tirx_lens.rules.registry import ALL
from tirx_lens.suspects.guide import Built, Guide, cases, guide
from tirx_lens.suspects.suspect import Standing, Suspect

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "kernels"
STEP7 = (KERNELS / "gemm_step7_warp_specialized.py").read_text("utf-8")
RING = (KERNELS / "tma_ring_copy.py").read_text("utf-8")
CORRECT = sorted([*KERNELS.glob("*.py"), *(ROOT / "tests/corpus/shapes").glob("*.py")])


def suspects(made: Guide, title: str) -> list[Suspect]:
    return [one for kernel in made.kernels for one in kernel.suspects if one.topic.title == title]


def lines(made: Guide, one: Suspect) -> set[int]:
    return {made.source.line_of(place.start) + 1 for place in one.places}


def line_of(text: str, words: str) -> int:
    return text[: text.index(words)].count("\n") + 1


def test_every_rule_says_how_its_mistake_shows() -> None:
    for rule in ALL:
        assert rule.symptoms, rule.code
        assert len(set(rule.symptoms)) == len(rule.symptoms), rule.code
    shown = {symptom for rule in ALL for symptom in rule.symptoms}
    assert shown == set(Symptom)


def test_a_correct_kernel_has_no_findings_and_its_counts_are_told_as_checked() -> None:
    made = guide(SourceText(STEP7), Symptom.DEADLOCK)
    (kernel,) = made.kernels
    assert kernel.to_look_at == ()
    counts = [one.fact for one in suspects(made, "Arrival counts")]
    assert "`acc_empty`: 128 arrivals end a phase, 128 of 128 come" in counts
    (named,) = [one for one in suspects(made, "Threads that meet") if "named" in one.fact]
    assert named.fact.startswith("named barrier 1: 128 of 128 threads come")
    full = next(one for one in suspects(made, "First phases") if "`full`" in one.fact)
    assert full.standing is Standing.GOOD
    assert lines(made, full) == {line_of(STEP7, "full.wait(mma")}


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
def test_nothing_of_a_correct_kernel_is_found_and_no_check_breaks(path: Path) -> None:
    known = cases(SourceText(path.read_text("utf-8")))
    for symptom in Symptom:
        made = known.guide(symptom)
        assert not made.failures
        for kernel in made.kernels:
            loud = [one for one in kernel.suspects if one.standing is Standing.FOUND]
            assert not loud, loud


def test_what_rules_found_comes_first_and_the_rest_of_the_order_is_kept() -> None:
    broken = STEP7.replace("acc_empty.init(WRITEBACK)", "acc_empty.init(64)")
    made = guide(SourceText(broken), Symptom.DEADLOCK)
    (kernel,) = made.kernels
    ranks = [list(Standing).index(one.standing) for one in kernel.suspects]
    assert ranks == sorted(ranks)
    first = kernel.suspects[0]
    assert first.code == "TX104"
    odd = next(one for one in suspects(made, "Arrival counts") if one.standing is Standing.ODD)
    assert "`acc_empty`: 64 arrivals end a phase, and 128 come" in odd.fact
    assert line_of(broken, "acc_empty.init(64)") in lines(made, odd)


def test_a_finding_of_another_symptom_is_told_apart() -> None:
    fence = "                    T.ptx.fence.proxy.async_.shared__cta()\n"
    broken = STEP7.replace(fence, "")
    deadlock = guide(SourceText(broken), Symptom.DEADLOCK).kernels[0]
    wrong = guide(SourceText(broken), Symptom.WRONG_ROWS).kernels[0]
    assert [one.code for one in deadlock.others] == ["TX302"]
    assert wrong.suspects[0].code == "TX302"
    assert not wrong.others


def test_comments_and_projects_silence_nothing_here() -> None:
    marked = STEP7.replace("acc_empty.init(WRITEBACK)", "acc_empty.init(64)").replace(
        "acc_empty.arrive(0)", "acc_empty.arrive(0)  # tirx-lens: ignore[TX104]"
    )
    (kernel,) = guide(SourceText(marked), Symptom.DEADLOCK).kernels
    assert kernel.suspects[0].code == "TX104"


def test_what_cannot_be_decided_is_said_and_not_called_good() -> None:
    open_ = STEP7.replace("acc_empty.init(WRITEBACK)", "acc_empty.init(count)").replace(
        "def gemm(M, N, K):", "def gemm(M, N, K, count):"
    )
    made = guide(SourceText(open_), Symptom.DEADLOCK)
    said = [one for one in suspects(made, "Arrival counts") if "`acc_empty`" in one.fact]
    assert [one.standing for one in said] == [Standing.OPEN]


def test_a_handoff_is_called_good_only_where_it_was_run_to_a_good_end() -> None:
    fence = "                T.ptx.fence.proxy.async_.shared__cta()\n"
    for text in (RING, RING.replace(fence, f"                if wg_id == 1:\n    {fence}")):
        made = guide(SourceText(text), Symptom.WRONG_ROWS)
        title = "Storage free before it is written again"
        standings = {one.standing for one in suspects(made, title)}
        assert standings == ({Standing.GOOD} if text == RING else {Standing.LOOK})


def test_accumulators_masks_and_layouts_are_listed_for_nan() -> None:
    made = guide(SourceText(STEP7), Symptom.NAN)
    (first,) = suspects(made, "The first MMA of a tile")
    assert first.standing is Standing.GOOD
    operands = [one.fact for one in suspects(made, "Operands and layouts")]
    assert any("`As`" in fact and "alloc_tcgen05_mma_AB" in fact for fact in operands)
    attention = (KERNELS / "flash_attention.py").read_text("utf-8")
    made = guide(SourceText(attention), Symptom.NAN)
    values = suspects(made, "Masks, scales and functions with a domain")
    assert any("exp2" in one.fact for one in values)
    assert all(lines(made, one) for one in values)


def test_half_precision_and_one_stage_are_unusual() -> None:
    narrow = STEP7.replace(
        '            "float32",\n            scope="tmem"',
        '            "float16",\n            scope="tmem"',
    )
    assert narrow != STEP7
    (accumulates,) = suspects(guide(SourceText(narrow), Symptom.NAN), "Range of the accumulator")
    assert accumulates.standing is Standing.ODD
    one = STEP7.replace("DEPTH = 4", "DEPTH = 1")
    (ring,) = suspects(guide(SourceText(one), Symptom.SLOW), "Stages of the ring")
    assert ring.standing is Standing.ODD


def test_a_build_adds_what_it_says() -> None:
    spill = Finding("TX404", "register-spill", Severity.WARNING, "spills", Span(0, 1))
    plain = guide(SourceText(STEP7), Symptom.SLOW).kernels[0]
    assert any("not built" in one.fact for one in plain.to_look_at)
    built = guide(SourceText(STEP7), Symptom.SLOW, built=Built((spill,), ())).kernels[0]
    assert built.suspects[0].code == "TX404"
    assert not any("not built" in one.fact for one in built.to_look_at)


def test_the_page_numbers_the_suspects_and_links_to_their_lines() -> None:
    path = Path("my kernels/gemm.py")
    text = STEP7.replace("acc_empty.init(WRITEBACK)", "acc_empty.init(64)")
    page = as_markdown(path, guide(SourceText(text), Symptom.DEADLOCK))
    assert page.startswith("# Deadlock: gemm.py\n")
    at = line_of(text, "acc_empty.arrive(0)")
    assert f"[{at}](my%20kernels/gemm.py#L{at})" in page.partition("### Unusual here")[0]
    assert "\n1. " in page
    assert "\n2. " in page
    assert "### Checked: rule these out" in page


def test_text_without_kernels_and_broken_text_give_a_page() -> None:
    for text in ("", "x = 1\n", STEP7[: len(STEP7) // 2], "@T.prim_func\ndef f(:\n"):
        known = cases(SourceText(text))
        for symptom in Symptom:
            assert as_markdown(Path("k.py"), known.guide(symptom)).startswith("# ")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, len(RING) - 1), st.integers(0, 40))
def test_damaged_kernels_break_no_check(start: int, length: int) -> None:
    known = cases(SourceText(RING[:start] + RING[start + length :]))
    for symptom in Symptom:
        assert not known.guide(symptom).failures
