"""Every rule's examples: VALID ones give nothing, INVALID ones what they are marked with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tirx_lens.analysis import Selection, analyse
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.model.source import SourceText
from tirx_lens.rules.registry import RULES

if TYPE_CHECKING:
    from tirx_lens.rules.rule import Invalid, Rule

MARK = re.compile(r"[ ]*# <-$", re.MULTILINE)

VALID = [
    pytest.param(rule, code, id=f"{rule.code}-valid-{index}")
    for rule in RULES
    for index, code in enumerate(rule.VALID)
]
INVALID = [
    pytest.param(rule, example, id=f"{rule.code}-invalid-{index}")
    for rule in RULES
    for index, example in enumerate(rule.INVALID)
]


@pytest.mark.parametrize(("rule", "code"), VALID)
def test_valid_example_is_silent_under_every_rule(rule: type[Rule], code: str) -> None:
    analysis = analyse(SourceText(code))
    assert not analysis.failures
    assert [(f.code, f.message) for f in analysis.findings] == []


@pytest.mark.parametrize(("rule", "example"), INVALID)
def test_invalid_example_is_found_where_marked(rule: type[Rule], example: Invalid) -> None:
    marked = [i for i, line in enumerate(example.code.splitlines()) if line.endswith("# <-")]
    assert marked, "an invalid example marks the lines of its findings"
    source = SourceText(MARK.sub("", example.code))
    analysis = analyse(source, Selection(select=(rule.code,)))
    assert not analysis.failures
    assert [source.line_of(f.span.start) for f in analysis.findings] == marked
    assert {f.severity for f in analysis.findings} == {example.severity}


@pytest.mark.parametrize(("rule", "example"), INVALID)
def test_fix_gives_the_replacement_and_nothing_new(rule: type[Rule], example: Invalid) -> None:
    source = SourceText(MARK.sub("", example.code))
    fixed = apply_safe_fixes(
        source, lambda s: analyse(s, Selection(select=(rule.code,))), unsafe=True
    )
    if example.replacement is None:
        assert fixed.text == source.text
        return
    assert fixed.text == example.replacement
    assert not analyse(SourceText(fixed.text)).findings, "the fix leaves a finding behind"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_says_what_a_rule_page_says(rule: type[Rule]) -> None:
    page = rule.documentation()
    assert rule.VALID
    assert rule.INVALID
    for heading in ("What it does", "Why it is bad", "Example", "Use instead", "References"):
        assert f"## {heading}\n" in page, heading
    assert re.fullmatch(r"TX\d{3}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
