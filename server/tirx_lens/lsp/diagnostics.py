"""Findings as the diagnostics an editor shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.lsp.documents import lsp_range, uri_of
from tirx_lens.model.finding import UNUSED_SUPPRESSION, Finding, Severity
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from tirx_lens.lsp.documents import Document
    from tirx_lens.model.finding import Related
    from tirx_lens.model.source import Encoding, SourceText
    from tirx_lens.model.span import Span

SOURCE = "tirx-lens"

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}


def to_diagnostic(
    finding: Finding, index: int | None, document: Document, encoding: Encoding
) -> types.Diagnostic:
    """Translate the `index`th finding of a version of a document, or one that a build gave.

    `data` is what leads from the diagnostic back to the finding and so to its fix. In a notebook
    that was read from its file the range is that of lines of the file, which are of JSON, and the
    message begins with the cell and the line there.
    """
    place = _place(document.source, finding.span, encoding)
    return types.Diagnostic(
        range=place.range,
        message=f"{place.named}{finding.message}",
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(rule_url(finding.code, finding.name)),
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED_SUPPRESSION else None,
        related_information=[
            types.DiagnosticRelatedInformation(*_related(related, document, encoding))
            for related in finding.related
        ]
        or None,
        data={"version": document.version, "finding": index} if index is not None else None,
    )


def _related(
    related: Related, document: Document, encoding: Encoding
) -> tuple[types.Location, str]:
    module = related.module
    uri = document.uri if module is None else uri_of(module.path)
    source = document.source if module is None else module.source
    place = _place(source, related.span, encoding)
    return types.Location(uri, place.range), f"{place.named}{related.message}"


@dataclass(frozen=True, slots=True)
class _Place:
    """A range, and what of the place it cannot say: of a notebook's file the cell and its line."""

    range: types.Range
    named: str = ""


def _place(source: SourceText, span: Span, encoding: Encoding) -> _Place:
    part = source.part(span)
    if not part.file_lines:
        return _Place(lsp_range(source, span.start, span.end, encoding))
    first, last = (part.source.line_of(at) for at in (part.span.start, part.span.end))
    return _Place(
        types.Range(
            types.Position(part.file_lines[first], 0),
            types.Position(part.file_lines[last] + 1, 0),
        ),
        f"cell {part.cell}, line {first + 1}: ",
    )


def publication(
    document: Document,
    findings: tuple[Finding, ...],
    encoding: Encoding,
    built: tuple[Finding, ...] = (),
) -> types.PublishDiagnosticsParams:
    """Make the publication of all findings of one version of a document, then what builds said."""
    return types.PublishDiagnosticsParams(
        uri=document.uri,
        version=document.version,
        diagnostics=[
            to_diagnostic(finding, index, document, encoding)
            for index, finding in enumerate(findings)
        ]
        + [to_diagnostic(finding, None, document, encoding) for finding in built],
    )
