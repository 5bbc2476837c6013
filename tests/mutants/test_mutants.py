"""The rules find harmful mutants of the correct kernels and leave the harmless ones alone."""

from collections import Counter

import pytest

from . import baseline, tables
from .measure import Measurement, measure, refused_names, sample, verdict_codes
from .mutate import FILES, mutants
from .places import KERNELS

_OVERCROWDED = 9  # mutants at whose named barrier more warps come than it wants


@pytest.fixture(scope="module")
def measured() -> Measurement:
    return measure(sample())


def test_neither_recall_nor_false_alarms_got_worse(measured: Measurement):
    print(tables.summary(measured))
    worse = baseline.worse(measured)
    assert not worse, "\n".join([*worse, "", "`python -m tests.mutants` lists every mutant."])


def test_no_part_breaks_on_a_mutant(measured: Measurement):
    outcomes = (*measured.harmful, *measured.harmless, *measured.unjudged, *measured.refused)
    broken = [(each.mutant.name, each.failures) for each in outcomes if each.failures]
    assert not broken


def test_histories_of_mutants_keep_the_rules_of_mbarriers(measured: Measurement):
    """A second reading of them replays each, step by step.

    Where more warps come to a named barrier than it wants, the two differ: a run lets all go on.
    """
    illegal = [each for each in measured.of_handoffs if each.run is not None and each.run.illegal]
    others = [each for each in illegal if "TX103" not in verdict_codes(each)]
    assert not [(each.mutant.name, each.run.illegal) for each in others if each.run]
    assert len(illegal) <= _OVERCROWDED


def test_every_mutant_is_judged_and_has_a_name_of_its_own():
    made = mutants()
    names = {mutant.name for mutant in made}
    assert len(names) == len(made)
    assert [mutant.name for mutant in made if mutant.verdict is None] == []
    assert refused_names() <= names, "made of older kernels: run `python -m tests.mutants.refusals`"


def test_every_correct_kernel_is_mutated():
    assert {mutant.kernel for mutant in mutants()} == set(FILES)
    folder = FILES["ring"].parent
    assert set(FILES.values()) == {*folder.glob("*.py"), *folder.glob("v0_26/*.py")}
    assert {name.split()[0] for name in FILES} == set(KERNELS)


def test_a_mutant_is_python_and_loses_nothing_it_should_keep():
    originals = {name: path.read_text("utf-8") for name, path in FILES.items()}
    for mutant in mutants():
        original = originals[mutant.kernel]
        assert mutant.text != original
        compile(mutant.text, mutant.name, "exec")
        if mutant.operator.startswith(("swap", "move")):
            assert statements(mutant.text) == statements(original), mutant.name


def statements(text: str) -> Counter[str]:
    """Count the lines of a text, wherever they stand."""
    return Counter(line.strip() for line in text.split("\n") if line.strip() not in ("", "pass"))
