"""Asks all rules about all mutants and counts what they found."""

from __future__ import annotations

import os
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tomllib

from tirx_lens.analysis import analyse
from tirx_lens.model.finding import Severity
from tirx_lens.model.source import SourceText

from .mutate import Mutant, mutants
from .simulator import checked_and_run, is_matter_of_handoffs
from .verdict import Effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .simulator import Run
    from .verdict import Verdict

HERE = Path(__file__).parent
BASELINE = HERE / "baseline.toml"
REFUSED = HERE / "refused_by_tvm.toml"
_LOUD = (Severity.ERROR, Severity.WARNING)
_CHUNK = 16  # mutants handed to a process at a time
_EACH = {"attention": 4}  # it has a sixth of all mutants, and six roles to run in each


@dataclass(frozen=True)
class Outcome:
    """A mutant, the rules that found it (at error or warning), and the parts that broke on it.

    `run` is how its handoffs end; None where they were not run.
    """

    mutant: Mutant
    codes: tuple[str, ...]
    messages: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    run: Run | None = None

    @property
    def found(self) -> bool:
        return bool(self.codes)

    @property
    def shown(self) -> bool:
        """Whether a run stops or has a race."""
        return self.run is not None and self.run.end.is_bad


@dataclass(frozen=True)
class Score:
    """How many of how many."""

    found: int
    total: int

    @property
    def share(self) -> float:
        return self.found / self.total if self.total else 1.0


@dataclass(frozen=True)
class RuleScore:
    """Of the mutants that name a rule: how many it found, how many any rule found, how many are."""

    itself: int
    any_rule: int
    total: int


@dataclass(frozen=True)
class Measurement:
    """All outcomes by effect. `refused` are harmful mutants that TVM itself refuses."""

    harmful: tuple[Outcome, ...]
    harmless: tuple[Outcome, ...]
    unjudged: tuple[Outcome, ...]
    refused: tuple[Outcome, ...]

    @property
    def recall(self) -> Score:
        return score(self.harmful)

    @property
    def false_alarms(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.harmless if outcome.found)

    @property
    def missed(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.harmful if not outcome.found)

    @property
    def of_handoffs(self) -> tuple[Outcome, ...]:
        """The harmful mutants that a run ought to show."""
        return tuple(each for each in self.harmful if is_matter_of_handoffs(_verdict(each.mutant)))

    @property
    def shown(self) -> Score:
        """How many of them a run shows."""
        return score(self.of_handoffs, lambda outcome: outcome.shown)

    @property
    def false_runs(self) -> tuple[Outcome, ...]:
        """Harmless mutants whose run stops or has a race."""
        return tuple(outcome for outcome in self.harmless if outcome.shown)

    def by_operator(self) -> dict[str, Score]:
        """Return the recall of each operator."""
        names = sorted({outcome.mutant.operator for outcome in self.harmful})
        return {
            name: score(each for each in self.harmful if each.mutant.operator == name)
            for name in names
        }

    def by_rule(self) -> dict[str, RuleScore]:
        """Return what became of the mutants that a rule, maybe beside others, ought to find."""
        expected: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in self.harmful:
            for code in verdict_codes(outcome):
                expected[code].append(outcome)
        return {
            code: RuleScore(
                sum(code in outcome.codes for outcome in outcomes),
                sum(outcome.found for outcome in outcomes),
                len(outcomes),
            )
            for code, outcomes in sorted(expected.items())
        }


def sample() -> list[Mutant]:
    """Return the mutants that the tests judge: of the largest kernel a part, of the others all."""
    made = mutants()
    place = dict.fromkeys({mutant.kernel for mutant in made}, 0)
    taken: list[Mutant] = []
    for mutant in made:
        if place[mutant.kernel] % _EACH.get(mutant.kernel, 1) == 0:
            taken.append(mutant)
        place[mutant.kernel] += 1
    return taken


def measure(made: list[Mutant]) -> Measurement:
    """Ask the rules about mutants and run their handoffs, unless nothing is said of their effect.

    It is done in as many processes as there are cores, at most four.
    """
    workers = min(4, os.cpu_count() or 1)
    with ProcessPoolExecutor(workers) as pool:
        outcomes = list(pool.map(_outcome, made, chunksize=_CHUNK))
    refused = refused_names()
    groups: dict[Effect, list[Outcome]] = {effect: [] for effect in Effect}
    by_tvm: list[Outcome] = []
    for outcome in outcomes:
        verdict = _verdict(outcome.mutant)
        if outcome.mutant.name in refused:
            by_tvm.append(outcome)
        else:
            groups[verdict.effect].append(outcome)
    return Measurement(
        tuple(groups[Effect.HARMFUL]),
        tuple(groups[Effect.HARMLESS]),
        tuple(groups[Effect.UNJUDGED]),
        tuple(by_tvm),
    )


def refused_names() -> frozenset[str]:
    """Return the names of the mutants that TVM refuses, as `refusals.py` recorded them."""
    recorded = tomllib.loads(REFUSED.read_text("utf-8")) if REFUSED.exists() else {}
    return frozenset(name for names in recorded.get("refused", {}).values() for name in names)


def score(
    outcomes: Iterable[Outcome], counts: Callable[[Outcome], bool] = lambda outcome: outcome.found
) -> Score:
    counted = [counts(outcome) for outcome in outcomes]
    return Score(sum(counted), len(counted))


def verdict_codes(outcome: Outcome) -> tuple[str, ...]:
    verdict = outcome.mutant.verdict
    return verdict.codes if verdict is not None else ()


def _verdict(mutant: Mutant) -> Verdict:
    assert mutant.verdict is not None, f"no verdict in judge.py for {mutant.name}"
    return mutant.verdict


def _outcome(mutant: Mutant) -> Outcome:
    source, verdict = SourceText(mutant.text), _verdict(mutant)
    run: Run | None = None
    if verdict.effect is Effect.HARMLESS or is_matter_of_handoffs(verdict):
        analysis, run = checked_and_run(source)
    else:
        analysis = analyse(source)
    loud = [finding for finding in analysis.findings if finding.severity in _LOUD]
    return Outcome(
        mutant,
        tuple(sorted({finding.code for finding in loud})),
        tuple(
            f"{finding.code} line {analysis.source.line_of(finding.span.start) + 1}: "
            f"{finding.message}"
            for finding in loud
        ),
        analysis.failures,
        run,
    )
