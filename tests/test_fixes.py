"""Fixes on a text whose findings are words: what each word's fix does is the case."""

from __future__ import annotations

import re

import pytest

from tirx_lens.analysis import Analysis
from tirx_lens.analysis import analyse as real_analysis
from tirx_lens.fixes import MAX_ROUNDS, apply_edits, apply_safe_fixes
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.rules.examples import in_kernel


def analyser(**fixes):
    """Make an analysis: each word is a finding, fixed by the edits its function returns."""
    calls = []

    def analyse(source: SourceText) -> Analysis:
        calls.append(source.text)
        findings = []
        for number, (word, fix) in enumerate(fixes.items()):
            for match in re.finditer(rf"\b{word}\b".encode(), source.data):
                span = Span(match.start(), match.end())
                edits = fix(source, span) if fix else ()
                safety = Applicability.UNSAFE if word.startswith("u") else Applicability.SAFE
                made = Fix("Mend", safety, tuple(edits)) if edits else None
                severity = Severity.WARNING if word.startswith("w") else Severity.ERROR
                findings.append(Finding(f"TX90{number}", word, severity, "m", span, made))
        return Analysis(source, tuple(findings))

    analyse.calls = calls
    return analyse


def to(text):
    return lambda source, span: [Edit(span, text)]


def fix(text, analyse, **options):
    return apply_safe_fixes(SourceText(text), analyse, **options)


def test_all_safe_fixes_are_applied():
    fixed = fix("内 a x a", analyser(a=to("b")))
    assert (fixed.text, fixed.applied, fixed.remaining) == ("内 b x b", 2, ())


def test_nothing_to_fix_costs_one_analysis():
    analyse = analyser(a=to("b"))
    assert fix("x", analyse).applied == 0
    assert len(analyse.calls) == 1


def test_unsafe_fixes_only_when_asked_for():
    analyse = analyser(a=to("b"), u=to("v"))
    fixed = fix("a u", analyse)
    assert (fixed.text, [finding.name for finding in fixed.remaining]) == ("b u", ["u"])
    assert fix("a u", analyse, unsafe=True).text == "b v"


def test_what_a_fix_brings_to_light_is_fixed_too():
    assert fix("wa", analyser(wa=to("wb"), wb=to("wc"))).text == "wc"


def test_an_edit_that_two_fixes_share_is_made_once():
    def with_header(source, span):
        return [Edit(Span(0, 0), "header\n"), Edit(span, "b")]

    fixed = fix("a a", analyser(a=with_header))
    assert (fixed.text, fixed.applied) == ("header\nb b", 2)


def test_overlapping_fixes_take_a_round_each():
    def whole_line(source, span):
        return [Edit(Span(0, len(source.data)), source.text.replace("a", "b", 1))]

    analyse = analyser(a=whole_line)
    fixed = fix("a a a", analyse)
    assert (fixed.text, fixed.applied) == ("b b b", 3)


def test_an_insertion_inside_a_replaced_text_waits():
    def around(source, span):
        return [Edit(Span(0, len(source.data)), source.text.replace("big", "done"))]

    def before(source, span):
        return [Edit(Span(span.start, span.start), "x"), Edit(span, "y")]

    fixed = fix("big small", analyser(big=around, small=before))
    assert (fixed.text, fixed.applied) == ("done xy", 2)


def test_a_fix_that_brings_a_new_error_is_dropped_and_the_others_kept():
    fixed = fix("a c a", analyser(a=to("b"), c=to("broken"), broken=None))
    assert (fixed.text, fixed.applied) == ("b c b", 2)
    assert [finding.name for finding in fixed.remaining] == ["c"]


def test_a_fix_that_brings_a_warning_is_applied():
    assert fix("a", analyser(a=to("wa"), wa=None)).text == "wa"


def test_a_fix_that_mends_nothing_is_dropped():
    analyse = analyser(a=lambda source, span: [Edit(Span(0, 0), "x ")])
    fixed = fix("a", analyse)
    assert (fixed.text, fixed.applied) == ("a", 0)
    assert len(analyse.calls) < 6


def test_fixes_that_are_good_alone_and_bad_together_are_not_both_applied():
    def left(source, span):
        return [Edit(span, "x")]

    def analyse(source: SourceText) -> Analysis:
        found = list(analyser(a=left, b=left)(source).findings)
        if source.text == "x x":
            found.append(Finding("TX999", "both", Severity.ERROR, "m", Span(0, 1)))
        return Analysis(source, tuple(found))

    fixed = fix("a b", analyse)
    assert (fixed.text, fixed.applied) == ("x b", 1)


def test_rounds_end():
    steps = {f"w{n}": to(f"w{n + 1}") for n in range(MAX_ROUNDS + 50)}
    fixed = fix("w0", analyser(**steps))
    assert (fixed.text, fixed.settled) == (f"w{MAX_ROUNDS}", False)
    nearly = fix(f"w{len(steps) - MAX_ROUNDS + 1}", analyser(**steps))
    assert (nearly.text, nearly.settled) == (f"w{len(steps)}", True)


def test_fixes_that_undo_one_another_end():
    analyse = analyser(wa=to("wb"), wb=to("wa"))
    assert not fix("wa", analyse).settled
    assert len(analyse.calls) < 6


def test_many_fixes_at_one_place_are_all_applied():
    def at_the_start(source, span):
        return [Edit(Span(0, 0), f"{source.slice(span)[1:]} "), Edit(span, "x")]

    words = [f"a{n}" for n in range(40)]
    fixed = fix(" ".join(words), analyser(**dict.fromkeys(words, at_the_start)))
    assert (fixed.applied, fixed.settled) == (len(words), True)


def test_as_many_misplaced_inits_as_a_kernel_may_have():
    names = [f"b{n}" for n in range(24)]
    lines = ["pool = T.SMEMPool()", *(f"{name} = MBarrier(pool, 1)" for name in names)]
    lines += ["pool.commit()", "if wg_id == 1:", *(f"    {name}.init(1)" for name in names)]
    fixed = fix(in_kernel("\n".join([*lines, "T.cuda.cta_sync()"])), real_analysis)
    assert (fixed.applied, fixed.settled, fixed.remaining) == (len(names), True, ())


def test_an_insertion_goes_before_a_change_at_the_same_place():
    source = SourceText("abc")
    edits = [Edit(Span(1, 2), "B"), Edit(Span(1, 1), "-"), Edit(Span(2, 2), "+")]
    assert apply_edits(source, edits).text == "a-B+c"


def test_overlapping_edits_are_an_error():
    with pytest.raises(ValueError, match="overlap"):
        apply_edits(SourceText("abc"), [Edit(Span(0, 2), ""), Edit(Span(1, 3), "")])
