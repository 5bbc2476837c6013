"""Which lines of Python belong together."""

import pytest

from tirx_lens.worker.python_lines import PythonLines
from tirx_lens.worker.sources import parsed

TEXT = '''\
import os

@decorated(
    arch="sm_100a",
)
def kernel(
    a,
    b,
):
    """A docstring."""
    if (
        a
    ):
        f(
            a,  # a comment

            b,
        )
        for i in range(
            3
        ):
            g(i)
    elif b:
        h()
    else:
        k()
    with T.If(a), T.Then():
        m()
        with T.If(b):
            with T.Then():
                last()
            with T.Else():
                o()
    try:
        p()
    finally:
        q()
'''


def lines_of(text: str) -> dict[int, tuple[int, int]]:
    lines = PythonLines(parsed(text))
    regions = {number: lines.region(number) for number in range(1, text.count("\n") + 2)}
    return {number: (r.line, r.end_line) for number, r in regions.items() if r is not None}


def line_with(part: str) -> int:
    return next(n for n, line in enumerate(TEXT.split("\n"), 1) if part in line)


def test_a_statement_is_all_of_its_lines_and_a_compound_one_its_header() -> None:
    regions = lines_of(TEXT)
    assert regions[1] == (1, 1)
    assert 2 not in regions
    assert regions[line_with("a,  # a comment")] == (14, 18)
    assert regions[7] == (6, 9)  # the signature
    assert regions[12] == (11, 12)  # the header of the `if`, up to its condition
    assert regions[line_with("        3")] == (19, 21)
    assert regions[line_with("elif b")] == (23, 23)
    assert regions[line_with("g(i)")] == (22, 22)
    assert regions[line_with("p()")] == (line_with("p()"), line_with("p()"))


def test_the_guard_around_all() -> None:
    lines = PythonLines(parsed(TEXT))
    at = line_with
    assert lines.guard_of_all([at("g(i)")]) == 19
    assert lines.guard_of_all([at("g(i)"), 14]) == 11
    assert lines.guard_of_all([at("h()"), at("k()")]) == at("elif b")
    assert lines.guard_of_all([at("last()"), at("o()")]) == at("with T.If(b):")
    assert lines.guard_of_all([at("last()"), at("m()")]) == at("with T.If(a)")
    assert lines.guard_of_all([at("g(i)"), at("m()")]) is None
    assert lines.guard_of_all([at("import os")]) is None


@pytest.mark.parametrize("text", ["def (", "\0", "(" * 500, ""])
def test_what_python_cannot_read_has_no_lines(text: str) -> None:
    assert PythonLines(parsed(text)).region(1) is None


@pytest.mark.parametrize("end", range(0, len(TEXT), 11))
def test_any_beginning_is_read(end: int) -> None:
    lines_of(TEXT[:end])
