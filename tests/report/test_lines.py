"""Reports of a line a finding, and counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.imported import ModuleText
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.report.checked import CheckedFile
from tirx_lens.report.concise import concise, summary
from tirx_lens.report.diff import diff
from tirx_lens.report.full import full
from tirx_lens.report.github import github
from tirx_lens.report.statistics import statistics, statistics_json

SAFE = Fix("Mend", Applicability.SAFE, (Edit(Span(0, 1), ""),))
UNSAFE = Fix("Mend", Applicability.UNSAFE, (Edit(Span(0, 1), ""),))


def found(code: str, fix: Fix | None = None, **parts: object) -> Finding:
    values = {"severity": Severity.ERROR, "message": "m", "span": Span(0, 1), **parts}
    return Finding(code, f"name-{code.lower()}", fix=fix, **values)  # type: ignore[arg-type]


def file(*findings: Finding, text: str = "x = 1\n", name: str = "a.py") -> CheckedFile:
    return CheckedFile(Path(name), SourceText(text), findings)


def test_github_is_one_command_a_finding() -> None:
    finding = found("TX102", message="100% wrong,\r\nhere: a::b", severity=Severity.WARNING)
    (line,) = github([file(finding)], Path("/w"))
    assert line == (
        "::warning title=TIRx Lens (TX102),file=a.py,line=1,col=1,endLine=1,endColumn=2::"
        "a.py:1:1: TX102 100%25 wrong,%0D%0Ahere: a::b"
    )


def test_github_names_the_places_in_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleText(str(tmp_path / "lib" / "h.py"), SourceText("\n  y\n"))
    related = (Related(Span(0, 1), "this guard"), Related(Span(3, 4), "here, in h.py", module))
    (line,) = github([file(found("TX102", related=related))], tmp_path)
    assert line.endswith("::a.py:1:1: TX102 m%0Alib/h.py:2:3: here, in h.py")


@pytest.mark.parametrize(
    ("severity", "command"),
    [
        (Severity.ERROR, "error"),
        (Severity.WARNING, "warning"),
        (Severity.INFORMATION, "notice"),
        (Severity.HINT, "notice"),
    ],
)
def test_github_has_three_levels(severity: Severity, command: str) -> None:
    (line,) = github([file(found("TX101", severity=severity))], Path("/w"))
    assert line.startswith(f"::{command} ")


def test_github_reads_back_any_name() -> None:
    name = "a,b:c%0A,\nline=9::.py"
    (line,) = github([file(found("TX101"), name=name)], Path("/w"))
    properties, _, _ = line.removeprefix("::error ").partition("::")
    parsed = dict(part.split("=", 1) for part in properties.split(","))
    unescaped = re.sub("%(..)", lambda match: chr(int(match[1], 16)), parsed["file"])
    assert (unescaped, parsed["line"]) == (name, "1")


def test_github_gives_no_columns_of_two_lines() -> None:
    (line,) = github([file(found("TX101", span=Span(0, 8)), text="x = 1\ny = 2\n")], Path("/w"))
    assert "line=1,col=1,endLine=2::" in line


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.py", "sub/a.py"),
        ("../b.py", "b.py"),
        ("/w/r/c.py", "c.py"),
        ("/else/d.py", "/else/d.py"),
    ],
)
def test_github_wants_paths_from_the_root_of_the_repository(name: str, shown: str) -> None:
    (line,) = github([file(found("TX101"), name=name)], Path("/w/r/sub"), Path("/w/r"))
    assert f",file={shown},line" in line


COUNTED = [
    file(found("TX301"), found("TX102", SAFE), found("TX102")),
    file(found("TX101", SAFE), found("TX102", UNSAFE), *[found("TX206")] * 10),
]


def test_statistics_are_sorted_by_how_many() -> None:
    assert list(statistics(COUNTED)) == [
        "10  TX206  [ ] name-tx206",
        " 3  TX102  [-] name-tx102",
        " 1  TX101  [*] name-tx101",
        " 1  TX301  [ ] name-tx301",
    ]
    assert list(statistics([file()])) == []


def test_what_no_rule_found_is_counted_by_its_name() -> None:
    name = "unused-suppression"
    unused = Finding(name, name, Severity.WARNING, "m", Span(0, 1), SAFE)
    counted = [file(unused, found("TX102"), found("TX102"))]
    assert list(statistics(counted)) == [
        "2  TX102  [ ] name-tx102",
        "1         [*] unused-suppression",
    ]
    assert json.loads(statistics_json(counted))[1]["code"] == name
    (line, *_) = github(counted, Path("/w"))
    assert line.startswith("::warning title=TIRx Lens (unused-suppression),file=a.py,line=1,")


def test_statistics_as_json() -> None:
    counts = json.loads(statistics_json(COUNTED))
    assert [one["code"] for one in counts] == ["TX206", "TX102", "TX101", "TX301"]
    assert counts[1] == {
        "code": "TX102",
        "name": "name-tx102",
        "count": 3,
        "fixable": False,
        "fixable_count": 1,
    }
    assert json.loads(statistics_json([])) == []


@pytest.mark.parametrize(
    ("findings", "said"),
    [
        ([], "No problems found."),
        ([found("TX1")], "Found 1 problem."),
        ([found("TX1", SAFE)] * 2, "Found 2 problems (2 fixable with `--fix`, marked [*])."),
        ([found("TX1", UNSAFE)], "Found 1 problem (1 fixable with `--fix --unsafe-fixes`)."),
        (
            [found("TX1", UNSAFE), found("TX1", SAFE), found("TX1")],
            "Found 3 problems (1 fixable with `--fix`, marked [*]; "
            "1 more with `--fix --unsafe-fixes`).",
        ),
    ],
)
def test_the_summary_says_what_fixes_would_do(findings: list[Finding], said: str) -> None:
    assert summary([file(*findings)]) == said


def test_a_finding_is_one_line_whatever_its_file_is_called() -> None:
    (line,) = concise([file(found("TX101"), name="a\n\x1b[2J.py")])
    assert line == "a\\n\\x1b[2J.py:1:1: TX101 error: m"


def test_what_a_message_quotes_does_not_reach_a_terminal_as_it_is() -> None:
    source = SourceText("x = 1  # tirx-lens: ignore[\x1b[2J\u2028]\n")
    checked = CheckedFile(Path("a.py"), source, analyse(source).findings)
    (line,) = concise([checked])
    assert "invalid-suppression warning: `\\x1b[2J\\u2028` silences nothing" in line
    assert "\x1b" not in "".join(full([checked]))


@pytest.mark.parametrize(
    ("before", "after", "body"),
    [
        (b"a\nb\n", b"a\nc\n", b"@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (b"a\r\n", b"b\r\n", b"@@ -1 +1 @@\n-a\r\n+b\r\n"),
        (
            b"a\nb",
            b"a\nc",
            b"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
            b"\\ No newline at end of file\n",
        ),
        (b"\xe9\n", b"\xe8\n", b"@@ -1 +1 @@\n-\xe9\n+\xe8\n"),
        (b"a\n", b"a\n", b""),
    ],
)
def test_a_diff_is_in_the_bytes_of_the_file(before: bytes, after: bytes, body: bytes) -> None:
    header = b"--- a.py\n+++ a.py\n" if body else b""
    assert diff(Path("a.py"), before, after) == header + body
