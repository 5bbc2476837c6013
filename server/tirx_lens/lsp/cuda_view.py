"""What an editor shows with generated CUDA, in the protocol's words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygls.uris import from_fs_path

from tirx_lens.lsp.documents import lsp_range
from tirx_lens.model.source import Encoding, SourceText
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.compile.result import MapEntry
    from tirx_lens.cuda.outline import Mark
    from tirx_lens.cuda.resources import Resources
    from tirx_lens.cuda.view import CudaView
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.span import Span
    from tirx_lens.worker.messages import CodeLine, MachineCode

    Locate = Callable[[str, int], tuple[str, int] | None]
    """From a file and a zero-based line in it to the client's document and line."""


def view_to_json(view: CudaView, encoding: Encoding, locate: Locate | None) -> dict[str, Any]:
    """Return what of a view goes into the reply; lines and columns count from 0.

    `locate` finds lines of files that the client has its own names for.
    """
    known: dict[str, str] = {}

    def place_of(file: str, line: int) -> tuple[str, int]:
        own = locate(file, line) if locate is not None else None
        if own is not None:
            return own
        if file not in known:
            known[file] = from_fs_path(file) or Path(file).as_uri()
        return known[file], line

    source = SourceText(view.text)
    return {
        "text": view.text,
        "map": [_link(entry, place_of) for entry in view.map],
        "preambleLine": view.preamble_line,
        "outline": [_mark(mark, source, encoding) for mark in view.outline],
        "helpers": [{"name": helper.name, "ptx": helper.ptx} for helper in view.helpers],
        "findings": [_finding(finding, source, encoding) for finding in view.findings],
        "resources": [_resources(resources) for resources in view.resources],
        "machine": _machine(view.machine) if view.machine is not None else None,
    }


def _resources(resources: Resources) -> dict[str, Any]:
    return {
        "kernel": resources.kernel,
        "summary": resources.summary,
        "facts": [
            {"name": fact.name, "value": fact.value, "note": fact.note} for fact in resources.facts
        ],
    }


def _machine(machine: MachineCode) -> dict[str, Any]:
    def lines(code: tuple[CodeLine, ...]) -> dict[str, Any]:
        return {
            "text": "\n".join(line.text for line in code),
            "lines": [None if line.cuda_line is None else line.cuda_line - 1 for line in code],
        }

    return {
        "compiler": machine.compiler,
        "problem": machine.problem,
        "detail": machine.detail,
        "ptx": lines(machine.ptx),
        "sass": lines(machine.sass),
    }


def _link(entry: MapEntry, place_of: Callable[[str, int], tuple[str, int]]) -> dict[str, Any]:
    return {
        "line": entry.cuda_line - 1,
        "via": entry.via.value,
        "guessed": entry.via.is_guess,
        "frames": [
            {"uri": uri, "line": line, "endLine": line + frame.end_line - frame.line}
            for frame in entry.frames
            for uri, line in [place_of(frame.file, frame.line - 1)]
        ],
    }


def _mark(mark: Mark, source: SourceText, encoding: Encoding) -> dict[str, Any]:
    return {
        "kind": mark.kind.value,
        "title": mark.title,
        "detail": mark.detail,
        "range": _range(source, mark.span, encoding),
        "children": [_mark(child, source, encoding) for child in mark.children],
    }


def _finding(finding: Finding, source: SourceText, encoding: Encoding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "url": rule_url(finding.code, finding.name),
        "severity": finding.severity.value,
        "message": finding.message,
        "range": _range(source, finding.span, encoding),
        "related": [
            {"range": _range(source, related.span, encoding), "message": related.message}
            for related in finding.related
        ],
    }


def _range(source: SourceText, span: Span, encoding: Encoding) -> dict[str, Any]:
    made = lsp_range(source, span.start, span.end, encoding)
    return {
        "start": {"line": made.start.line, "character": made.start.character},
        "end": {"line": made.end.line, "character": made.end.character},
    }
