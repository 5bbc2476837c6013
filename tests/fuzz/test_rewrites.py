"""What changes nothing of a kernel changes nothing of what is found in it."""

from __future__ import annotations

import ast
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText

from .profiles import examples
from .rewrites import REWRITES, Rewritten, logical_lines
from .texts import EXAMPLES, KERNELS, disordered

if TYPE_CHECKING:
    from collections.abc import Collection

# What is found by a name itself, and what a second kernel of the file may see to.
BY_NAME = {"renamed": {"TX509"}, "accompanied": {"TX205"}}
END = "\n\nLAST = 1\n"  # nothing is missing that may yet be typed
MARKED = [text.replace("  # <-", "") + END for text in EXAMPLES]


def found(
    text: str, lines: list[int | None], heads: dict[int, int], but: Collection[str]
) -> Counter[tuple[str, str, int | None]]:
    """Return what is found: the code, the level, and the statement of the original it stands in.

    `heads` are the first lines of the original's statements, by each of their lines.
    """
    source = SourceText(text)
    analysis = analyse(source)
    assert not analysis.failures, analysis.failures
    counted: Counter[tuple[str, str, int | None]] = Counter()
    for finding in analysis.findings:
        if finding.code not in but:
            line = lines[source.line_of(finding.span.start)]
            place = None if line is None else heads.get(line, line)
            counted[finding.code, finding.severity.value, place] += 1
    return counted


def is_python(text: str) -> bool:
    """Tell whether Python would read it: what a broken line means is anyone's guess."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@examples(120, 6000)
@given(
    text=st.one_of(
        st.sampled_from(MARKED + KERNELS), disordered(MARKED + KERNELS).map(lambda made: made + END)
    ),
    rewrite=st.sampled_from(REWRITES),
    seed=st.integers(0, 1_000_000),
)
def test_rewriting_changes_nothing(text: str, rewrite, seed: int) -> None:
    if "\r" in text or "\x0c" in text or not is_python(text):
        return
    changed: Rewritten = rewrite(text, Random(seed))
    but = BY_NAME.get(rewrite.__name__, ())
    heads = {n: first for first, last in logical_lines(text) for n in range(first, last + 1)}
    same = list(range(text.count("\n") + 1))
    before = found(text, same, heads, but)
    after = found(changed.text, changed.lines, heads, but)
    assert after == before, f"{rewrite.__name__}: {before} became {after}\n{changed.text}"
