"""The report with the source: marks under the right cells, whatever the text holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.imported import ModuleText
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.report.checked import CheckedFile
from tirx_lens.report.colour import Palette
from tirx_lens.report.excerpt import cells, excerpt, shown_line
from tirx_lens.report.full import full


def span_of(text: str, words: str) -> Span:
    start = text.encode().index(words.encode())
    return Span(start, start + len(words.encode()))


def checked(text: str, words: str, *, name: str = "k.py", **parts: object) -> CheckedFile:
    finding = Finding(
        "TX102", "cta-sync-divergent", Severity.ERROR, "it hangs", span_of(text, words)
    )
    from dataclasses import replace

    return CheckedFile(Path(name), SourceText(text), (replace(finding, **parts),))


TEXT = "one\ntwo\nthree\n    wrong(1)\nfive\nsix\nseven\n"


def test_all_that_is_shown_of_a_finding() -> None:
    fix = Fix("Do it right", Applicability.SAFE, (Edit(span_of(TEXT, "wrong"), "right"),))
    related = (Related(span_of(TEXT, "one"), "this guard"),)
    (shown,) = full([checked(TEXT, "wrong(1)", fix=fix, related=related)])
    assert shown == (
        "TX102 error: it hangs\n"
        " --> k.py:4:5\n"
        "  |\n"
        "2 | two\n"
        "3 | three\n"
        "4 |     wrong(1)\n"
        "  |     ^^^^^^^^\n"
        "5 | five\n"
        "6 | six\n"
        "  |\n"
        " ::: k.py:1:1\n"
        "  |\n"
        "1 | one\n"
        "  | --- this guard\n"
        "  |\n"
        "  = help: [*] Do it right (`--fix` does it)\n"
        "  = rule: https://github.com/tirx-lens/tirx-lens/blob/main/docs/rules/"
        "TX102-cta-sync-divergent.md\n"
    )


def test_what_no_rule_found_has_a_page_and_no_rule() -> None:
    name = "unused-suppression"
    finding = Finding(name, name, Severity.WARNING, "it is over", span_of(TEXT, "one"))
    (shown,) = full([CheckedFile(Path("k.py"), SourceText(TEXT), (finding,))])
    assert shown.startswith("unused-suppression warning: it is over\n --> k.py:1:1\n")
    assert shown.endswith(
        " = see: https://github.com/tirx-lens/tirx-lens/blob/main/docs/configuration.md"
        "#unused-suppression\n"
    )


def test_a_place_in_another_file_is_shown_with_its_path_and_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = "\n" * 98 + "T.cuda.cta_sync()\n"
    module = ModuleText(str(tmp_path / "lib" / "helpers.py"), SourceText(other))
    related = (Related(span_of(other, "T.cuda"), "here, in helpers.py", module),)
    for name, shown_as in [("k.py", "lib/helpers.py"), (str(tmp_path / "k.py"), module.path)]:
        (shown,) = full([checked(TEXT, "two", name=name, related=related)])
        assert (
            f"  --> {name}:2:1\n"
            "    |\n"
            "  1 | one\n"
            "  2 | two\n"
            "    | ^^^\n"
            "  3 | three\n"
            "  4 |     wrong(1)\n"
            "    |\n"
            f"   ::: {shown_as}:99:1\n"
            "    |\n"
            " 99 | T.cuda.cta_sync()\n"
            "    | ------ here, in helpers.py\n"
            "    |\n"
        ) in shown


def test_an_unsafe_fix_says_so() -> None:
    fix = Fix("Do it", Applicability.UNSAFE, (Edit(Span(0, 0), ""),))
    (shown,) = full([checked(TEXT, "wrong", fix=fix)])
    assert "= help: Do it (`--fix --unsafe-fixes` does it: read it first)\n" in shown


def marked(text: str, words: str) -> tuple[str, str]:
    (shown,) = full([checked(text, words)])
    lines = shown.splitlines()
    marks = next(i for i, line in enumerate(lines) if "^" in line)
    return lines[marks - 1], lines[marks]


@pytest.mark.parametrize(
    ("text", "words", "line", "marks"),
    [
        ("x = wrong", "wrong", "x = wrong", "    ^^^^^"),
        ("\twrong", "wrong", "    wrong", "    ^^^^^"),
        ("ab\twrong\tx", "wrong", "ab  wrong   x", "    ^^^^^"),
        ("内存 = wrong", "wrong", "内存 = wrong", "       ^^^^^"),
        ("内\twrong", "wrong", "内  wrong", "    ^^^^^"),
        ("x = 内存()", "内存", "x = 内存()", "    ^^^^"),
        ("e\u0301 = wrong", "wrong", "e\u0301 = wrong", "    ^^^^^"),
        ("𝛼 = wrong", "wrong", "𝛼 = wrong", "    ^^^^^"),
        ("\x1b[31m = wrong", "wrong", "␛[31m = wrong", "        ^^^^^"),
        ("\u202ea = wrong", "wrong", "\ufffda = wrong", "     ^^^^^"),
        ("x\fy\x7f wrong\r\n", "wrong", "x␌y␡ wrong", "     ^^^^^"),
        ("  wrong  # and so on", "wrong  ", "  wrong  # and so on", "  ^^^^^"),
    ],
)
def test_marks_stand_under_their_words(text: str, words: str, line: str, marks: str) -> None:
    assert marked(text, words) == (f"1 | {line}", f"  | {marks}")


def test_a_place_without_width_has_one_mark() -> None:
    for text, start in [("", 0), ("abc", 3), ("abc\n", 4), ("abc\n", 1)]:
        source = SourceText(text)
        (line,) = [line for line in excerpt(source, Span(start, start)) if line.marked]
        assert line.marked is not None
        assert line.marked[1] - line.marked[0] == 1


def lines_of(text: str, words: str) -> list[tuple[int | None, tuple[int, int] | None]]:
    found = excerpt(SourceText(text), span_of(text, words))
    return [(line.number, line.marked) for line in found]


def test_a_span_of_several_lines_is_marked_on_each() -> None:
    text = "call(\n    a,\n\n    b,\n)\nend"
    assert lines_of(text, "call(\n    a,\n\n    b,\n)") == [
        (1, (0, 5)),
        (2, (4, 6)),
        (3, (0, 1)),
        (4, (4, 6)),
        (5, (0, 1)),
    ]


def test_a_span_that_ends_with_its_line_does_not_reach_the_next() -> None:
    assert lines_of("a\nb\n", "a\n") == [(1, (0, 1))]


def test_a_long_span_is_shortened_in_the_middle() -> None:
    text = "".join(f"line{n}\n" for n in range(1, 101))
    numbers = [number for number, _ in lines_of(text, text.rstrip())]
    assert numbers == [1, 2, 3, 4, None, 100]


def test_line_numbers_are_as_wide_as_the_widest() -> None:
    text = "\n" * 98 + "wrong\n\n\n"
    (shown,) = full([checked(text, "wrong")])
    assert "\n 99 | wrong\n    | ^^^^^\n100 |\n101 |\n" in shown


def test_colours_are_nothing_but_colours() -> None:
    fix = Fix("Do it", Applicability.SAFE, (Edit(Span(0, 0), ""),))
    related = (Related(span_of(TEXT, "one"), "this guard"),)
    files = [checked(TEXT, "wrong", fix=fix, related=related)]
    (coloured,) = full(files, Palette(coloured=True))
    (plain,) = full(files)
    assert "\x1b[1;31m^^^^^\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_what_is_shown_of_a_line_grows_with_it() -> None:
    text = "a\tb内\t\x00c\t"
    widths = [cells(shown_line(text[:end])) for end in range(len(text) + 1)]
    assert widths == sorted(widths)
    assert [width % 4 for width, char in zip(widths[1:], text, strict=True) if char == "\t"] == [
        0
    ] * 3


def test_a_name_cannot_command_the_terminal() -> None:
    (shown,) = full([checked("wrong", "wrong", name="a\x1b[2J\n.py")])
    assert "--> a\\x1b[2J\\n.py:1:1" in shown
