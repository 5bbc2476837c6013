"""Findings as the diagnostics an editor shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from tirx_lens.lsp.documents import lsp_range, uri_of
from tirx_lens.model.finding import UNUSED_SUPPRESSION, Finding, Severity
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from tirx_lens.lsp.documents import Document
    from tirx_lens.model.finding import Related
    from tirx_lens.model.source import Encoding

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

    `data` is what leads from the diagnostic back to the finding and so to its fix.
    """
    source = document.source
    return types.Diagnostic(
        range=lsp_range(source, finding.span.start, finding.span.end, encoding),
        message=finding.message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(rule_url(finding.code, finding.name)),
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED_SUPPRESSION else None,
        related_information=[
            types.DiagnosticRelatedInformation(
                _location(related, document, encoding), related.message
            )
            for related in finding.related
        ]
        or None,
        data={"version": document.version, "finding": index} if index is not None else None,
    )


def _location(related: Related, document: Document, encoding: Encoding) -> types.Location:
    module = related.module
    uri = document.uri if module is None else uri_of(module.path)
    source = document.source if module is None else module.source
    return types.Location(uri, lsp_range(source, related.span.start, related.span.end, encoding))


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
