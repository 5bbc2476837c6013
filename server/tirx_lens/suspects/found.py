"""What rules found, as suspects: those whose mistakes show by the symptom, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Severity
from tirx_lens.rules.registry import rule_by_code
from tirx_lens.suspects.suspect import Case, Standing, Suspect, Topic

if TYPE_CHECKING:
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.symptom import Symptom

_RANKS = tuple(Severity)
_MOST_PLACES = 6


def found(case: Case, symptom: Symptom) -> tuple[tuple[Suspect, ...], tuple[Suspect, ...]]:
    """Return the findings that may cause a symptom, the likeliest first, and all others.

    Ordered by level, then by how high the rule has the symptom, then by place.
    """
    may, others = [], []
    for finding in case.findings:
        shows = symptoms_of(finding)
        if symptom in shows:
            may.append((_RANKS.index(finding.severity), shows.index(symptom), finding))
        else:
            others.append((_RANKS.index(finding.severity), 0, finding))
    for some in (may, others):
        some.sort(key=lambda one: (one[0], one[1], one[2].span))
    return tuple(_suspect(one[2]) for one in may), tuple(_suspect(one[2]) for one in others)


def symptoms_of(finding: Finding) -> tuple[Symptom, ...]:
    """Return how the mistake that a finding is about shows, the likeliest first."""
    rule = rule_by_code(finding.code)
    return rule.symptoms if rule is not None else ()


def _suspect(finding: Finding) -> Suspect:
    rule = rule_by_code(finding.code)
    fix = f"A quick fix is offered: {finding.fix.message}." if finding.fix is not None else ""
    topic = Topic(
        f"{finding.code} {finding.name}, {finding.severity.value}",
        rule.summary() if rule is not None else "",
        fix or "Look at the places that go with it.",
    )
    near = (related.span for related in finding.related if related.module is None)
    places = tuple(dict.fromkeys((finding.span, *near)))
    fact = finding.message
    return Suspect(Standing.FOUND, topic, fact, places[:_MOST_PLACES], finding.code)
