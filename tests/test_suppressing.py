"""Comments that silence nothing, or cannot: what is said of them, and what the fix leaves."""

from __future__ import annotations

from textwrap import indent

import pytest

from tirx_lens.analysis import Selection, analyse
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.incremental import Analyser
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel

EVERYTHING = Selection(unused_suppressions=True)
# What TX102 finds, and a comment after it.
BROKEN = in_kernel("if wg_id == 0:\n    T.cuda.cta_sync()HERE\n")
# What nothing finds, and a comment after it.
SOUND = in_kernel("T.cuda.cta_sync()HERE\n")


def said(text: str, selection: Selection = EVERYTHING) -> list[tuple[str, str]]:
    """Return what is said of the comments, with the places, as every road to findings says it."""
    source = SourceText(text)
    findings = analyse(source, selection).findings
    assert Analyser().analyse(source, selection).findings == findings
    return [
        (source.slice(finding.span), finding.message)
        for finding in findings
        if finding.code == finding.name
    ]


def check_fix(text: str, expected: str, selection: Selection = EVERYTHING) -> None:
    """Hold that comments that silence nothing are found in `text`, and what mending it leaves."""
    assert said(text, selection)
    mended = apply_safe_fixes(SourceText(text), lambda source: analyse(source, selection))
    assert mended.text == expected
    assert not said(expected, selection)


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("  # tirx-lens: ignore[TX102]", ""),
        ("  # tirx-lens: ignore", ""),
        ("  # tirx-lens: ignore[]", ""),
        ("  # tirx-lens: ignore[TX101, TX102,TX2]  ", ""),
        ("  # why  # tirx-lens: ignore[TX102]", "  # why"),
        ("  # tirx-lens: ignore[TX102] the others have left", "  # the others have left"),
        ("  # tirx-lens: ignore[TX102]  # noqa: E501", "  # noqa: E501"),
        ("  # 内 # tirx-lens: ignore # 😀", "  # 内 # 😀"),
        ("  # tirx-lens: ignore[TX1]  # tirx-lens: ignore[TX2]", ""),
        ("\n    # tirx-lens: ignore[TX102]\n    pass", "\n    pass"),
        ("\r\n    # tirx-lens: ignore[TX102]\r\n    pass", "\r\n    pass"),
    ],
)
def test_a_comment_that_silences_nothing_goes_and_words_stay(comment: str, left: str) -> None:
    check_fix(SOUND.replace("HERE", comment), SOUND.replace("HERE", left))


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("  # tirx-lens: ignore[TX101, TX102]", "  # tirx-lens: ignore[TX102]"),
        ("  # tirx-lens: ignore[TX102 TX2,TX115] why", "  # tirx-lens: ignore[TX102] why"),
        ("  # tirx-lens: ignore[TX2, TX1]", "  # tirx-lens: ignore[TX1]"),
        ("  # tirx-lens: ignore[TX102]  # tirx-lens: ignore[TX2]", "  # tirx-lens: ignore[TX102]"),
    ],
)
def test_a_code_that_silences_nothing_goes_and_the_others_stay(comment: str, left: str) -> None:
    check_fix(BROKEN.replace("HERE", comment), BROKEN.replace("HERE", left))


@pytest.mark.parametrize(
    "comment",
    [
        "  # tirx-lens: ignore[TX102]",
        "  # tirx-lens: ignore",
        "  # tirx-lens: ignore[TX]",
        "  # tirx-lens: ignore[TX1, TX102]",
        "  # tirx-lens: ignore[TX102, TX102]",
        "  # tirx-lens: args M=3",
        '; """\n# tirx-lens: ignore[TX201]\n"""',
        "; '# tirx-lens: ignore[TX201]'",
        "; \"it's\"; '# tirx-lens: ignored'",
        "  # tirx-lens: sees nothing of this",
    ],
)
def test_nothing_is_said_of_comments_that_do_their_work_and_of_no_comments(comment: str) -> None:
    assert said(BROKEN.replace("HERE", comment)) == []


UNUSED = "  # tirx-lens: ignore[TX201]"


@pytest.mark.parametrize(
    ("comment", "selection", "expected"),
    [
        (UNUSED, Selection(), False),  # nobody asked for the report
        (UNUSED, Selection(("TX1",), unused_suppressions=True), False),
        (UNUSED, Selection(ignore=("TX201",), unused_suppressions=True), False),
        (UNUSED, Selection(("TX201",), unused_suppressions=True), True),
        ("  # tirx-lens: ignore[TX2]", Selection(("TX201",), unused_suppressions=True), False),
        ("  # tirx-lens: ignore[TX2]", Selection(("TX2",), unused_suppressions=True), True),
        ("  # tirx-lens: ignore", Selection(ignore=("TX403",), unused_suppressions=True), False),
    ],
)
def test_only_rules_that_report_count(comment: str, selection: Selection, expected: bool) -> None:
    assert bool(said(SOUND.replace("HERE", comment), selection)) == expected


@pytest.mark.parametrize(
    "text",
    [
        SOUND + "\ndef half(:\n    typed = (\n",  # a kernel may hide in what is no Python
        SOUND.replace(
            "HERE", "HERE\n    with T.something_new():\n        T.cuda.cta_sync("
        ).replace("HERE", UNUSED),
    ],
)
def test_nothing_is_unused_while_the_text_is_not_understood(text: str) -> None:
    assert said(text.replace("HERE", UNUSED)) == []


@pytest.mark.parametrize(
    ("comment", "place", "message"),
    [
        ("ignore[TX12O]", "TX12O", "`TX12O` silences nothing: no rule has a code that begins with"),
        ("ignore[TX1O2]", "TX1O2", "did you mean TX102?"),
        ("ignore[tx102]", "tx102", "did you mean TX102?"),
        ("ignore[cta-sync-divergent]", "cta-sync-divergent", "did you mean TX102?"),
        ("ignore[E501, TX102]", "E501", "no rule has a code that begins with E501"),
        ("ingore[TX102]", "ingore", "did you mean `ignore`?"),
        ("ignored", "ignored", "did you mean `ignore`?"),
        ("arg M=1", "arg", "did you mean `args`?"),
        ("ignore TX102", "# tirx-lens: ignore TX102", "write `ignore[TX102]`"),
        ("ignore[TX102", "# tirx-lens: ignore[TX102", "the `]` after the codes"),
        ("ignore-file[TX102]", "# tirx-lens: ignore-file", "above the first statement"),
    ],
)
def test_what_cannot_be_meant_is_always_reported(comment: str, place: str, message: str) -> None:
    for text in (BROKEN, SOUND):
        ((where, what),) = said(text.replace("HERE", f"  # tirx-lens: {comment}"), Selection())
        assert where == place
        assert message in what


@pytest.mark.parametrize(
    ("head", "silent"),
    [
        ("# tirx-lens: ignore-file[TX102]\n", True),
        ("# tirx-lens: ignore-file\n", True),
        ("#!/usr/bin/env python3\n\n# tirx-lens: ignore-file[TX1] all of it\n", True),
        ('"""A docstring."""\n# tirx-lens: ignore-file[TX102]\n', True),
        ("r'''A\n\"docstring.\"\n'''  # tirx-lens: ignore-file[TX102]\n", True),
        ("# tirx-lens: ignore-file[TX2]\n", False),
        ("x = 1\n# tirx-lens: ignore-file[TX102]\n", False),
        ("'one'\n'two'\n# tirx-lens: ignore-file[TX102]\n", False),
        ("# tirx-lens: ignore[TX102]\n", False),
    ],
)
def test_ignore_file_counts_above_the_first_statement(head: str, silent: bool) -> None:
    found = analyse(SourceText(head + BROKEN.replace("HERE", ""))).findings
    assert ("TX102" not in [finding.code for finding in found]) == silent


def test_ignore_file_that_silences_nothing_is_said_and_goes() -> None:
    head = "# The kernels of a book.\n# tirx-lens: ignore-file[TX201, TX102]\n"
    broken, sound = BROKEN.replace("HERE", ""), SOUND.replace("HERE", "")
    check_fix(head + sound, "# The kernels of a book.\n" + sound)
    check_fix(head + broken, head.replace("TX201, ", "") + broken)
    ((_, message),) = said("# tirx-lens: ignore-file\nx = 1\n")
    assert message == "No rule finds anything in this file, so this comment silences nothing"


PLAIN = SOUND.replace("HERE", "")
HELPER = "from tvm.script import tirx as T\n\n\n@T.inline\ndef sync():\n    T.cuda.cta_sync()HERE\n"


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        (HELPER, False),
        (HELPER.replace("@T.inline\n", ""), False),
        ("if True:\n" + HELPER.replace("\n", "\n    "), False),
        ("class Ring:\n    def sync(self):\n        T.cuda.cta_sync()HERE\n", False),
        (f"class Ring:\n    def sync(self):\n        passHERE\n{indent(PLAIN, '    ')}", False),
        (HELPER.replace("HERE", "\n\n\nSTAGES = 3HERE"), True),
        (HELPER + PLAIN, False),
        (HELPER.replace("HERE", "") + SOUND, True),
        (in_kernel("@T.inline\ndef sync():\n    T.cuda.cta_sync()HERE\nsync()"), True),
    ],
)
def test_kernels_of_other_files_may_need_a_comment_in_a_helper(text: str, is_told: bool) -> None:
    assert bool(said(text.replace("HERE", UNUSED))) == is_told


def test_kernels_of_other_files_may_need_a_comment_of_a_file_with_helpers() -> None:
    head, helper = "# tirx-lens: ignore-file[TX201]\n", HELPER.replace("HERE", "")
    assert said(head + helper) == said(head + helper + PLAIN) == []
    assert said(head + helper.partition("@")[0])


def test_a_comment_of_the_line_and_one_of_the_file_are_both_used() -> None:
    text = "# tirx-lens: ignore-file[TX102]\n" + BROKEN
    assert said(text.replace("HERE", "  # tirx-lens: ignore[TX102]")) == []


def test_each_code_is_named_and_the_last_line_may_have_no_end() -> None:
    ((place, message),) = said("x = 1  # tirx-lens: ignore[TX101, TX201]")
    assert place == "# tirx-lens: ignore[TX101, TX201]"
    assert message == "`TX101` and `TX201` find nothing here, so this comment silences nothing"
    check_fix("# tirx-lens: ignore", "")
    check_fix("x = 1\n# tirx-lens: ignore", "x = 1\n")
