"""A measurement as text: the figures, and the lists that guide authors of rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from .measure import Measurement, Outcome, Score, verdict_codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HANDOFF_RULES = ("TX108", "TX309")
"""What needs a run of a kernel's protocol; of TX309, what the order of statements leaves open."""


def summary(measured: Measurement) -> str:
    """Return the figures in a few lines."""
    recall = measured.recall
    handoff = [each for each in measured.missed if _is_left_to_handoff(each)]
    lines = [
        f"harmful   {recall.total:5}   found {recall.found} ({recall.share:.1%})",
        f"harmless  {len(measured.harmless):5}   false alarms {len(measured.false_alarms)}",
        f"unjudged  {len(measured.unjudged):5}   not counted",
        f"refused   {len(measured.refused):5}   by TVM itself, not counted",
        f"handoffs  {measured.shown.total:5}   of the harmful, shown by a run "
        f"{measured.shown.found} ({measured.shown.share:.1%})",
        f"handoffs  {len(measured.harmless):5}   of the harmless, false alarms of runs "
        f"{len(measured.false_runs)}",
        f"{len(handoff):4} of the {len(measured.missed)} missed name no other rules than "
        f"{' and '.join(HANDOFF_RULES)}",
        "",
        *_columns("operator", measured.by_operator()),
        "",
        "rule      itself  any rule  of what it, maybe beside others, ought to find",
        *(
            f"  {code}  {each.itself:6}  {each.any_rule:8}  {each.total:4}"
            for code, each in measured.by_rule().items()
        ),
    ]
    return "\n".join(lines)


def kinds_missed(missed: Iterable[Outcome]) -> str:
    """Return the kinds of harmful mutants that no rule found, the most frequent first."""
    kinds: Counter[tuple[str, str]] = Counter()
    where: dict[tuple[str, str], set[str]] = defaultdict(set)
    for outcome in missed:
        mutant = outcome.mutant
        change = f" ({mutant.change})" if mutant.change else ""
        kind = (f"{mutant.operator} {mutant.place}{change}", _reason(outcome))
        kinds[kind] += 1
        where[kind].add(mutant.kernel.removeprefix("step"))
    return "\n".join(
        f"{count:3}  {what}: {reason} [{' '.join(sorted(where[what, reason]))}]"
        for (what, reason), count in kinds.most_common()
    )


def runs(measured: Measurement) -> str:
    """Return what runs of the handoffs miss, what they alone show, and their false alarms."""
    parts = {
        "Ought to be shown by a run": [o for o in measured.of_handoffs if not o.shown],
        "Shown by a run, found by no rule": [o for o in measured.missed if o.shown],
        "False alarms of runs": list(measured.false_runs),
    }
    return "\n\n".join(
        "\n".join((f"# {title}", "", *(f"{_end(each)}: {_line(each)}" for each in outcomes)))
        for title, outcomes in parts.items()
    )


def _end(outcome: Outcome) -> str:
    return outcome.run.end.value if outcome.run is not None else "not run"


def listed(outcomes: Iterable[Outcome], messages: bool = False) -> str:
    """Return one line for each mutant, with its reason, and what was found if asked."""
    return "\n".join(_listed(outcomes, messages))


def _listed(outcomes: Iterable[Outcome], messages: bool) -> Iterator[str]:
    for outcome in outcomes:
        yield _line(outcome, found=messages)
        if messages:
            yield from (f"    {message}" for message in outcome.messages)


def _line(outcome: Outcome, found: bool = False) -> str:
    codes = " ".join(outcome.codes if found else verdict_codes(outcome))
    return f"{outcome.mutant.name} (line {outcome.mutant.line}): {_reason(outcome)} [{codes}]"


def _columns(title: str, scores: dict[str, Score]) -> Iterator[str]:
    yield title
    for name, each in scores.items():
        yield f"  {name:14} {each.found:4} of {each.total:4}  {each.share:6.1%}"


def _is_left_to_handoff(outcome: Outcome) -> bool:
    codes = verdict_codes(outcome)
    return bool(codes) and set(codes) <= set(HANDOFF_RULES)


def _reason(outcome: Outcome) -> str:
    verdict = outcome.mutant.verdict
    return verdict.reason if verdict is not None else ""
