"""What an editor shows with generated CUDA: links to the source, landmarks, helpers, findings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygls.uris import from_fs_path

from tirx_lens.cuda.checks import check_cuda
from tirx_lens.cuda.outline import Mark, outline_of
from tirx_lens.cuda.read import read_cuda
from tirx_lens.cuda.variables import Launch
from tirx_lens.lsp.documents import lsp_range
from tirx_lens.model.source import Encoding, SourceText
from tirx_lens.rules.urls import rule_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.compile.result import KernelResult, MapEntry
    from tirx_lens.cuda.helpers import Helper
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.span import Span


@dataclass(frozen=True, slots=True)
class CudaView:
    """The text an editor shows for the kernels of one build, and what it knows about it.

    `map` has the entries of all kernels, its CUDA lines counted from 1 in `text`; `preamble_line`
    is the line, from 0, on which the first kernel begins.
    """

    text: str
    map: tuple[MapEntry, ...]
    preamble_line: int
    outline: tuple[Mark, ...]
    helpers: tuple[Helper, ...]
    findings: tuple[Finding, ...]

    def to_json(self, encoding: Encoding) -> dict[str, Any]:
        """Return what goes into the reply; lines and columns count from 0."""
        source = SourceText(self.text)
        return {
            "text": self.text,
            "map": [_link(entry) for entry in self.map],
            "preambleLine": self.preamble_line,
            "outline": [_mark(mark, source, encoding) for mark in self.outline],
            "helpers": [{"name": helper.name, "ptx": helper.ptx} for helper in self.helpers],
            "findings": [_finding(finding, source, encoding) for finding in self.findings],
        }


def view_of(kernels: Sequence[KernelResult]) -> CudaView:
    """Put the kernels that a builder gave into one text: nearly always there is one."""
    text, entries = "", []
    outline: list[Mark] = []
    findings: list[Finding] = []
    helpers: dict[str, Helper] = {}
    preamble_line = 0
    for number, kernel in enumerate(kernels):
        heading = f"// kernel {kernel.name}\n" if len(kernels) > 1 else ""
        text += ("\n" if number else "") + heading
        above, before = text.count("\n"), len(text.encode("utf-8"))
        read = read_cuda(SourceText(kernel.cuda), _launch(kernel))
        if not number:
            preamble_line = above + read.source.line_of(read.preamble.end)
        text += kernel.cuda
        entries += [
            type(entry)(entry.cuda_line + above, entry.frames, entry.via) for entry in kernel.map
        ]
        outline += [_moved(mark, before) for mark in outline_of(read)]
        findings += [_at(finding, before) for finding in check_cuda(read)]
        helpers |= {name: helper for name, helper in read.helpers.items() if helper.ptx}
    return CudaView(
        text,
        tuple(entries),
        preamble_line,
        tuple(outline),
        tuple(helpers.values()),
        tuple(findings),
    )


def _launch(kernel: KernelResult) -> Launch | None:
    """Return how a kernel is started, as far as its build says."""
    if kernel.launch is None or not kernel.launch.block:
        return None
    threads, *others = kernel.launch.block
    cluster = 1
    for extent in kernel.launch.cluster:
        cluster *= extent or 1
    known = None not in kernel.launch.cluster
    flat = all(other in (None, 1) for other in others)
    return Launch(threads, cluster if known else None, flat)


def _at(finding: Finding, by: int) -> Finding:
    return finding.moved(lambda span: span.moved(by))


def _moved(mark: Mark, by: int) -> Mark:
    children = tuple(_moved(child, by) for child in mark.children)
    return Mark(mark.kind, mark.title, mark.detail, mark.span.moved(by), children)


def _link(entry: MapEntry) -> dict[str, Any]:
    return {
        "line": entry.cuda_line - 1,
        "via": entry.via,
        "frames": [
            {
                "uri": from_fs_path(frame.file) or Path(frame.file).as_uri(),
                "line": frame.line - 1,
                "endLine": frame.end_line - 1,
            }
            for frame in entry.frames
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
