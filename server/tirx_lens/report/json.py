"""Findings as JSON, in the shape that Ruff gave the field: an array of objects, one a finding.

Rows and columns are one-based and count characters. In a notebook they are those of a cell, and
`cell` is its number among all cells, from 1; in a file it is null.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.finding import Finding, Fix
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.report.checked import CheckedFile, NamedText


def as_json(files: Iterable[CheckedFile]) -> str:
    """Return the findings of all files as one JSON array."""
    return json.dumps(
        [_finding(file, finding) for file in files for finding in file.findings],
        indent=2,
        ensure_ascii=False,
    )


def _finding(file: CheckedFile, finding: Finding) -> dict[str, object]:
    source = file.source
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **_place_in(file, finding.span),
        "fix": _fix(source, finding.fix) if finding.fix is not None else None,
        "url": rule_url(finding.code, finding.name),
        "related": [
            {"message": related.message, **_place_in(file.holder_of(related), related.span)}
            for related in finding.related
        ],
    }


def _fix(source: SourceText, fix: Fix) -> dict[str, object]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [{"content": edit.text, **_range(source, edit.span)} for edit in fix.edits],
    }


def _place_in(text: NamedText, span: Span) -> dict[str, object]:
    return {"filename": str(text.path), **_range(text.source, span)}


def _range(source: SourceText, span: Span) -> dict[str, object]:
    part = source.part(span)
    return {
        "cell": part.cell,
        "location": _place(part.source, part.span.start),
        "end_location": _place(part.source, part.span.end),
    }


def _place(source: SourceText, offset: int) -> dict[str, int]:
    position = source.position(offset)
    return {"row": position.line + 1, "column": position.column + 1}
