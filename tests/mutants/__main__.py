"""`python -m tests.mutants`: the figures, every missed mutant, every false alarm."""

import argparse

from . import baseline, tables
from .measure import Measurement, measure, sample, verdict_codes
from .mutate import mutants


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--kinds", action="store_true", help="missed mutants by kind, not each")
    parser.add_argument("--rule", metavar="CODE", help="only missed mutants it ought to find")
    parser.add_argument("--unjudged", action="store_true", help="list the unjudged mutants too")
    parser.add_argument("--simulator", action="store_true", help="only what runs show and miss")
    parser.add_argument("--update", action="store_true", help="hold these figures from now on")
    parser.add_argument("--all", action="store_true", help="every mutant, not the tests' sample")
    asked = parser.parse_args()
    if asked.all and asked.update:
        parser.error("the figures to hold are those of the sample")

    measured = measure(mutants() if asked.all else sample())
    print(tables.summary(measured))
    if asked.simulator:
        print("\n" + tables.runs(measured))
        _update(measured, asked.update)
        return
    print("\n# Missed\n")
    missed = [
        outcome
        for outcome in measured.missed
        if asked.rule is None or asked.rule in verdict_codes(outcome)
    ]
    print(tables.kinds_missed(missed) if asked.kinds else tables.listed(missed))
    print("\n# False alarms\n")
    print(tables.listed(measured.false_alarms, messages=True))
    if asked.unjudged:
        print("\n# Unjudged\n")
        print(tables.listed(measured.unjudged))
    _update(measured, asked.update)


def _update(measured: Measurement, is_wanted: bool) -> None:
    if is_wanted:
        baseline.write(measured)


if __name__ == "__main__":  # the processes that measure import this module again
    main()
