"""At which place the guide of the right symptom lists what is wrong with a kernel.

`python -m tests.suspects.ranks` prints the ranks of all broken kernels, of the mistakes that were
run on a GPU, and of a sample of the harmful mutants.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tomllib
from tests.hardware.mistakes import MISTAKES, RING, Fate, Mistake, text_of
from tests.mutants.measure import refused_names
from tests.mutants.mutate import Mutant, mutants
from tests.mutants.verdict import Effect

from tirx_lens.model.source import SourceText
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.registry import rule_by_code
from tirx_lens.suspects.guide import guide

BROKEN = Path(__file__).parents[2] / "kernels" / "broken"
EVERY = 12  # of the harmful mutants, in their order
NEAR = 1  # lines around a statement that was taken out, whose neighbours stand for it
SHOWN = {
    Fate.HANG: Symptom.DEADLOCK,
    Fate.LOST: Symptom.CRASH,
    Fate.WRONG: Symptom.WRONG_ROWS,
}
"""What the author of a mistake saw on the GPU."""


@dataclass(frozen=True)
class Ranked:
    """A kernel that is wrong, its symptom, and the rank of the culprit among all to look at.

    None where the guide does not list it. `is_found` says that a rule names it.
    """

    name: str
    symptom: Symptom
    rank: int | None
    listed: int
    is_found: bool


def rank(
    name: str,
    text: str,
    symptom: Symptom,
    lines: frozenset[int],
    codes: frozenset[str],
    *,
    with_rules: bool = True,
) -> Ranked:
    """Look for a culprit: a suspect with one of the lines (from 1), or of one of the rules.

    Without the rules, what they found is left out: what is left are the facts of the kernel.
    """
    told = guide(SourceText(text), symptom)
    assert not told.failures, (name, told.failures)
    listed = [
        one
        for kernel in told.kernels
        for one in kernel.to_look_at
        if with_rules or one.code is None
    ]
    for number, suspect in enumerate(listed, 1):
        at = {told.source.line_of(place.start) + 1 for place in suspect.places}
        if suspect.code in codes or at & lines:
            return Ranked(name, symptom, number, len(listed), suspect.code is not None)
    return Ranked(name, symptom, None, len(listed), is_found=False)


def of_mistake(mistake: Mistake, *, with_rules: bool = True) -> Ranked:
    """Rank the lines that a mistake of the hardware runs changes, or the rule that finds it."""
    correct, wrong = RING.read_text("utf-8").split("\n"), text_of(mistake).split("\n")
    changed = _changed(correct, wrong)
    codes = frozenset(mistake.found_by)
    symptom = SHOWN[mistake.fate]
    return rank(mistake.what, "\n".join(wrong), symptom, changed, codes, with_rules=with_rules)


def mistakes() -> list[Mistake]:
    """Return the mistakes that did harm on the GPU."""
    return [one for one in MISTAKES if one.fate in SHOWN]


def of_broken(path: Path, *, with_rules: bool = True) -> Ranked:
    """Rank what a broken kernel's file says is found in it, by the first symptom of its rule."""
    expected = tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))["findings"]
    rule = rule_by_code(expected[0][0])
    assert rule is not None
    lines = frozenset(line for _, _, line in expected)
    codes = frozenset({expected[0][0]})
    text, symptom = path.read_text("utf-8"), rule.symptoms[0]
    return rank(path.stem, text, symptom, lines, codes, with_rules=with_rules)


def of_mutant(mutant: Mutant, *, with_rules: bool = True) -> Ranked:
    """Rank a mutant by the rules that ought to find it, or by the statement that was changed."""
    assert mutant.verdict is not None
    codes = mutant.verdict.codes
    rule = rule_by_code(codes[0]) if codes else None
    symptom = rule.symptoms[0] if rule is not None else Symptom.WRONG_ROWS
    lines = frozenset(range(mutant.line - NEAR, mutant.line + NEAR + 1))
    return rank(mutant.name, mutant.text, symptom, lines, frozenset(codes), with_rules=with_rules)


def sample(every: int = EVERY) -> list[Mutant]:
    """Return each so-manieth of the harmful mutants that TVM builds."""
    refused = refused_names()
    harmful = [
        one
        for one in mutants()
        if one.verdict is not None
        and one.verdict.effect is Effect.HARMFUL
        and one.name not in refused
    ]
    return harmful[::every]


def _changed(old: list[str], new: list[str]) -> frozenset[int]:
    """Return the lines of a new text that differ from an old one, with those beside a gap."""
    from difflib import SequenceMatcher

    found: set[int] = set()
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            found |= set(range(start + 1, end + 1)) or {start, start + 1}
    return frozenset(found)


def summary(ranked: list[Ranked]) -> str:
    """Say how many culprits come first, among the first three, later, and not at all."""
    ranks = Counter(
        "first" if one.rank == 1
        else "2-3" if one.rank is not None and one.rank <= 3
        else "4-10" if one.rank is not None and one.rank <= 10
        else "later" if one.rank is not None
        else "not listed"
        for one in ranked
    )  # fmt: skip
    order = ("first", "2-3", "4-10", "later", "not listed")
    return f"{len(ranked)}: " + ", ".join(f"{key} {ranks[key]}" for key in order if ranks[key])


def main() -> None:
    """Print all ranks but the first ones, and the sums; with and without what rules found."""
    every = int(sys.argv[1]) if len(sys.argv) > 1 else EVERY
    for with_rules in (True, False):
        print("with the rules" if with_rules else "without what the rules found")
        groups = {
            "hardware mistakes": [of_mistake(one, with_rules=with_rules) for one in mistakes()],
            "broken kernels": [
                of_broken(path, with_rules=with_rules) for path in sorted(BROKEN.glob("*.py"))
            ],
        }
        with ProcessPoolExecutor(2) as pool:
            ranking = partial(of_mutant, with_rules=with_rules)
            groups["harmful mutants"] = list(pool.map(ranking, sample(every), chunksize=8))
        for name, ranked in groups.items():
            for one in ranked:
                if one.rank != 1:
                    print(f"  {one.rank} of {one.listed}  {one.symptom.value}  {one.name}")
            print(name, summary(ranked))


if __name__ == "__main__":
    main()
