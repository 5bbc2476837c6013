"""Findings as JSON, in the shape that Ruff gave the field: an array of objects, one a finding.

Places are those of `json_places`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tirx_lens.report.json_places import place_in, range_in
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.finding import Finding, Fix
    from tirx_lens.model.source import SourceText
    from tirx_lens.report.checked import CheckedFile


def as_json(files: Iterable[CheckedFile]) -> str:
    """Return the findings of all files as one JSON array."""
    return json.dumps(
        [finding_json(file, finding) for file in files for finding in file.findings],
        indent=2,
        ensure_ascii=False,
    )


def finding_json(file: CheckedFile, finding: Finding) -> dict[str, object]:
    """Return one finding in a file."""
    source = file.source
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        **place_in(file, finding.span),
        "fix": _fix(source, finding.fix) if finding.fix is not None else None,
        "url": rule_url(finding.code, finding.name),
        "related": [
            {"message": related.message, **place_in(file.holder_of(related), related.span)}
            for related in finding.related
        ],
    }


def _fix(source: SourceText, fix: Fix) -> dict[str, object]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [{"content": edit.text, **range_in(source, edit.span)} for edit in fix.edits],
    }
