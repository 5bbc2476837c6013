"""TX507: what a build says of the environment it ran in, at the line that imports TVM."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.compile.result import Severity, Stage
from tirx_lens.model import finding as model
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.installed import TVM_TIRX
from tirx_lens.model.span import Span
from tirx_lens.rules.changes.spelling import looks_older, package_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.compile.result import BuildDiagnostic
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText

CODE = "TX507"
NAME = "environment-unfit"

_TVM_IMPORT = re.compile(
    rb"^[ \t]*((?:from|import)[ \t]+tvm(?:_tirx)?\b[^\r\n]*?)[ \t]*$", re.MULTILINE
)
_NEWEST_OLDER = (0, 26)
"""The last TVM with the older spelling of instructions."""


def environment_findings(
    diagnostics: Iterable[BuildDiagnostic], source: SourceText
) -> tuple[Finding, ...]:
    """Return why the environment cannot build a text, as a build of it said."""
    said = [
        item
        for item in diagnostics
        if item.rule == CODE
        or (item.stage is Stage.ENVIRONMENT and item.severity is Severity.ERROR)
    ]
    return tuple(_finding(source, item.message, item.detail) for item in said)


def generation_finding(
    built_with: str | None, given: TvmVersion | None, source: SourceText
) -> Finding | None:
    """Return that a text is written for another TVM than the one that failed to build it.

    `built_with` is the release of that TVM, `given` what the project says of the text; without it,
    the spelling of its instructions tells those for 0.26 and older.
    """
    numbers = re.match(r"(\d+)\.(\d+)", built_with or "")
    if numbers is None or package_of(source.text) == TVM_TIRX:  # which counts by itself
        return None
    is_older = (int(numbers[1]), int(numbers[2])) <= _NEWEST_OLDER
    if given is not None:
        wants_older, wanted = given.is_before(TvmVersion.V0_27), f"TVM {given.value}"
    elif looks_older(source.text):
        wants_older, wanted = True, "TVM 0.26 or older"
    else:
        return None
    if wants_older == is_older:
        return None
    message = (
        f"TVM {built_with} did not build this file, which is written for {wanted}: choose an "
        "environment or a target with that version."
    )
    return _finding(source, message, "")


def host_findings(said: Iterable[str], source: SourceText) -> tuple[Finding, ...]:
    """Return why the host that built a text does not run it, in sentences of that host's."""
    return tuple(_finding(source, message, "") for message in said)


def _finding(source: SourceText, message: str, detail: str) -> Finding:
    span = _import_of_tvm(source)
    return model.Finding(CODE, NAME, model.Severity.WARNING, message, span, detail=detail)


def _import_of_tvm(source: SourceText) -> Span:
    """Return the first import of TVM; the first line of a text that has none."""
    found = _TVM_IMPORT.search(source.data)
    if found is not None:
        return Span(*found.span(1))
    return Span(0, len(source.line_bytes(0).rstrip()))
