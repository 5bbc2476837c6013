"""Findings as workflow commands of GitHub Actions: annotations at the lines of a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Severity
from tirx_lens.report.paths import normal_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tirx_lens.model.finding import Finding
    from tirx_lens.report.checked import CheckedFile

_COMMANDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def github(
    files: Iterable[CheckedFile], folder: Path, workspace: Path | None = None
) -> Iterator[str]:
    """Yield a command for each finding. Rows and columns are one-based.

    An annotation has one place. Those in other files, which it does not show, end its message.

    Paths in `folder`, the current one, are written relative to `workspace`, the root of the
    repository, where they are below it: GitHub finds no other.
    """
    for file in files:
        path = file.path
        whole = normal_path(folder / path)
        if workspace is not None and whole.is_relative_to(workspace):
            path = whole.relative_to(workspace)
        for finding in file.findings:
            yield _command(file, path, finding)


def _command(file: CheckedFile, path: Path, finding: Finding) -> str:
    part = file.source.part(finding.span)
    start, end = (part.source.position(at) for at in (part.span.start, part.span.end))
    properties: dict[str, object] = {"title": f"TIRx Lens ({finding.code})", "file": path}
    if part.cell is not None:  # GitHub shows the file of a notebook, whose lines are of JSON
        lines = part.file_lines or (0,)
        properties["line"] = lines[start.line] + 1
        properties["endLine"] = lines[end.line] + 1
    else:
        properties |= {"line": start.line + 1, "col": start.column + 1, "endLine": end.line + 1}
        if end.line == start.line:  # GitHub wants columns of one line only
            properties["endColumn"] = end.column + 1
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    message = f"{file.shown_place(finding.span)}: {finding.code} {finding.message}"
    for related in finding.related:
        if related.module is not None:
            message += f"\n{file.holder_of(related).shown_place(related.span)}: {related.message}"
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    """Escape what would end the command, as the runner's own toolkit does."""
    return re.sub(r"[%\r\n]", _escaped, text)


def _property(text: str) -> str:
    return re.sub(r"[%\r\n:,]", _escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"
