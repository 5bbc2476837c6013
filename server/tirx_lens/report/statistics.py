"""How often each rule was found, in place of the findings."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.report.checked import has_safe_fix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.report.checked import CheckedFile

_CODE_WIDTH = len("TX102")


@dataclass(frozen=True, slots=True)
class Count:
    """A rule, how many findings it gave, and how many of them a safe fix would mend.

    What no rule found is counted by its name, which is its code.
    """

    code: str
    name: str
    count: int
    fixable: int


def count(files: Iterable[CheckedFile]) -> tuple[Count, ...]:
    """Count findings by rule: the most frequent first, then by code."""
    found: Counter[tuple[str, str]] = Counter()
    fixable: Counter[tuple[str, str]] = Counter()
    for file in files:
        for finding in file.findings:
            rule = finding.code, finding.name
            found[rule] += 1
            fixable[rule] += has_safe_fix(finding)
    counts = (Count(*rule, number, fixable[rule]) for rule, number in found.items())
    return tuple(sorted(counts, key=lambda one: (-one.count, one.code)))


def statistics(files: Iterable[CheckedFile]) -> Iterator[str]:
    """Yield a line for each rule: `[*]` where a safe fix mends all it found, `[-]` some of it.

    The column of the code stays empty for what no rule found.
    """
    counts = count(files)
    width = max((len(str(one.count)) for one in counts), default=0)
    for one in counts:
        mark = "[*]" if one.fixable == one.count else "[-]" if one.fixable else "[ ]"
        code = one.code if one.code != one.name else ""
        yield f"{one.count:>{width}}  {code:{_CODE_WIDTH}}  {mark} {one.name}"


def statistics_json(files: Iterable[CheckedFile]) -> str:
    """Return the counts as a JSON array, in Ruff's shape."""
    return json.dumps(
        [
            {
                "code": one.code,
                "name": one.name,
                "count": one.count,
                "fixable": one.fixable == one.count,
                "fixable_count": one.fixable,
            }
            for one in count(files)
        ],
        indent=2,
    )
