"""Findings as SARIF 2.1.0 (OASIS), the format that code scanning services and viewers read.

Lines and columns are one-based; columns count UTF-16 units, which `columnKind` says. Files below
the root are named relative to it (`%SRCROOT%`), others by their whole address. Of a notebook, a
region has lines of its file, which are of JSON, and the cell is a logical location.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from tirx_lens.model.finding import INVALID_SUPPRESSION, UNUSED_SUPPRESSION, Severity
from tirx_lens.model.source import Encoding
from tirx_lens.report.paths import normal_path
from tirx_lens.rules.registry import ALL
from tirx_lens.rules.urls import HOME, rule_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tirx_lens.model.finding import Finding, Fix
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.report.checked import CheckedFile, NamedText
    from tirx_lens.rules.rule import Page

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_ROOT = "%SRCROOT%"
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "note",
}
# What no rule of ours finds is a rule to the readers of a log: they show each result with its own.
_OF_COMMENTS = {
    INVALID_SUPPRESSION: (
        "A suppression comment cannot do what it was written for.",
        "Reports suppression comments with a code that no rule has, a word that is nearly "
        "`ignore`, a bracket that is not closed, and `ignore-file` below the first statement.",
    ),
    UNUSED_SUPPRESSION: (
        "A suppression comment, or a code in one, silences nothing.",
        "Reports suppression comments, and codes in them, for which no rule finds anything that "
        "they would silence. Removing them is safe.",
    ),
}
_IDS = (*(rule.code for rule in ALL), *_OF_COMMENTS)
_INDEX = {code: index for index, code in enumerate(_IDS)}


def as_sarif(
    files: Iterable[CheckedFile], failures: Sequence[tuple[Path, str]], root: Path, version: str
) -> str:
    """Return a log of one run.

    `failures` are files that could not be checked, or not wholly, and why; `root` is the folder
    that relative paths start from; `version` is that of this tool.
    """
    run = {
        "tool": {
            "driver": {
                "name": "TIRx Lens",
                "version": version,
                "informationUri": HOME,
                "rules": [
                    *(_rule(rule) for rule in ALL),
                    *(_of_comments(name, *said) for name, said in _OF_COMMENTS.items()),
                ],
            }
        },
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {_ROOT: {"uri": _folder_address(root)}},
        "invocations": [
            {
                "executionSuccessful": not failures,
                "toolExecutionNotifications": [_failure(*failure, root) for failure in failures],
            }
        ],
        "results": [_result(file, finding, root) for file in files for finding in file.findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def default_severity(rule: type[Page]) -> Severity:
    """Return the level that a rule's page names first."""
    word = re.match(r"\w+", rule.levels)
    return Severity(word[0] if word else "")


def _rule(rule: type[Page]) -> dict[str, object]:
    page = rule.documentation()
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary()},
        "fullDescription": {"text": _what_it_does(page)},
        "help": {"text": page, "markdown": page},
        "helpUri": rule_url(rule.code, rule.name),
        "defaultConfiguration": {"level": _LEVELS[default_severity(rule)]},
    }


def _of_comments(name: str, summary: str, what_it_does: str) -> dict[str, object]:
    return {
        "id": name,
        "shortDescription": {"text": summary},
        "fullDescription": {"text": what_it_does},
        "help": {"text": what_it_does},
        "helpUri": rule_url(name, name),
        "defaultConfiguration": {"level": _LEVELS[Severity.WARNING]},
    }


def _what_it_does(page: str) -> str:
    """Return the text under the page's first heading."""
    sections = re.split(r"^## .*\n", page, maxsplit=2, flags=re.MULTILINE)
    return sections[1].strip() if len(sections) > 1 else page


def _result(file: CheckedFile, finding: Finding, root: Path) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": _INDEX[finding.code],
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [_location(file, finding.span, root)],
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(file.holder_of(related), related.span, root),
                "message": {"text": related.message},
            }
            for number, related in enumerate(finding.related)
        ]
    if finding.fix is not None and file.source.part(finding.span).cell is None:
        result["fixes"] = [_fix(file, finding.fix, root)]
    return result


def _fix(file: CheckedFile, fix: Fix, root: Path) -> dict[str, object]:
    return {
        "description": {"text": f"{fix.message} ({fix.applicability.value})"},
        "artifactChanges": [
            {
                "artifactLocation": _artifact(file.path, root),
                "replacements": [
                    {
                        "deletedRegion": _region(file.source, edit.span),
                        "insertedContent": {"text": edit.text},
                    }
                    for edit in fix.edits
                ],
            }
        ],
    }


def _location(text: NamedText, span: Span, root: Path) -> dict[str, object]:
    part = text.source.part(span)
    artifact = _artifact(text.path, root)
    if part.cell is None:
        return {
            "physicalLocation": {
                "artifactLocation": artifact,
                "region": _region(text.source, span),
            }
        }
    lines = part.file_lines or (0,)
    first, last = (lines[part.source.line_of(at)] for at in (part.span.start, part.span.end))
    start = part.source.position(part.span.start)
    place = f"line {start.line + 1}, column {start.column + 1}"
    return {
        "physicalLocation": {
            "artifactLocation": artifact,
            "region": {"startLine": first + 1, "endLine": last + 1},
        },
        "logicalLocations": [
            {"name": f"cell {part.cell}", "fullyQualifiedName": f"cell {part.cell}, {place}"}
        ],
    }


def _region(source: SourceText, span: Span) -> dict[str, int]:
    """Return a region; the column after its last character is exclusive, as in SARIF."""
    start = source.position(span.start, Encoding.UTF16)
    end = source.position(span.end, Encoding.UTF16)
    return {
        "startLine": start.line + 1,
        "startColumn": start.column + 1,
        "endLine": end.line + 1,
        "endColumn": end.column + 1,
    }


def _artifact(path: Path, root: Path) -> dict[str, str]:
    whole = normal_path(root / path)
    if whole.is_relative_to(root):
        return {"uri": _uri(whole.relative_to(root)), "uriBaseId": _ROOT}
    return {"uri": _address(whole)}


def _uri(path: Path) -> str:
    """Return the path of a URI: each byte that is not plain is percent-encoded."""
    return quote(os.fsencode(path.as_posix()), safe="/")


def _address(path: Path) -> str:
    return f"file:///{_uri(path).lstrip('/')}"


def _folder_address(path: Path) -> str:
    address = _address(path)
    return address if address.endswith("/") else f"{address}/"


def _failure(path: Path, reason: str, root: Path) -> dict[str, object]:
    return {
        "level": "error",
        "message": {"text": reason},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(path, root)}}],
    }
