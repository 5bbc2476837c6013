"""From what a build says to findings in the document that was built."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tirx_lens.compile.result import BuildDiagnostic, Severity
from tirx_lens.cuda.expected import check_paths
from tirx_lens.cuda.read import read_cuda
from tirx_lens.cuda.spills import spill_finding, spills_by_owner
from tirx_lens.model import finding as model
from tirx_lens.model.imported import ModuleText
from tirx_lens.model.source import Position, SourceText
from tirx_lens.model.span import Span
from tirx_lens.syntax.read import read_kernels
from tirx_lens.syntax.suppressions import read_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tirx_lens.analysis import Selection
    from tirx_lens.compile.result import Frame, KernelResult
    from tirx_lens.cuda.view import CudaView
    from tirx_lens.model.finding import Finding

_NAMES = {"TX506": "build-error", "TX502": "unsupported-dispatch", "TX503": "scope-mismatch"}


_CAUSES = frozenset({"TX501", "TX504", "TX508"})
"""Rules that foretell what TVM refuses, with what to write."""

_SEVERITIES = {
    Severity.ERROR: model.Severity.ERROR,
    Severity.WARNING: model.Severity.WARNING,
}


def said_findings(
    diagnostics: Iterable[BuildDiagnostic],
    path: Path,
    source: SourceText,
    others: Mapping[str, str] = MappingProxyType({}),
) -> tuple[Finding, ...]:
    """Return what a build says that has a place in a document, there or at a call in it.

    The other calls on the way are related places, those in other files too: `others` has the texts
    of files that were built with it, by path.
    """
    findings = []
    for error in diagnostics:
        if error.severity not in _SEVERITIES:
            continue
        place = _place_of(error, path)
        if place is None:
            continue
        line, column = place
        related = tuple(_related(error.frames, path, line, source, others))
        code = error.rule if error.rule in _NAMES else "TX506"
        findings.append(
            model.Finding(
                code,
                _NAMES[code],
                _SEVERITIES[error.severity],
                error.message,
                _line_span(source, line, column),
                related=related,
                detail=error.detail,
            )
        )
    return tuple(findings)


def _related(
    frames: Sequence[Frame], path: Path, line: int, source: SourceText, others: Mapping[str, str]
) -> Iterator[model.Related]:
    """Yield the calls before and after the one that a finding stands at, outermost first.

    Those of a recursion once.
    """
    here = [n for n, f in enumerate(frames) if Path(f.file) == path and f.line == line]
    at = here[-1] if here else len(frames)
    seen = set()
    for number, frame in enumerate(frames):
        if number in here or (frame.file, frame.line) in seen:
            continue
        seen.add((frame.file, frame.line))
        last = number == len(frames) - 1
        said = "Called from" if number < at else "The error is" if last else "It goes on"
        if Path(frame.file) == path:
            yield model.Related(_line_span(source, frame.line, None), f"{said} here.")
        elif frame.file in others:
            module = ModuleText(frame.file, SourceText(others[frame.file]))
            span = _line_span(module.source, frame.line, None)
            yield model.Related(span, f"{said} here, in {module.name}.", module)


def _place_of(error: BuildDiagnostic, path: Path) -> tuple[int, int | None] | None:
    """Return line and column, from 1, in the file itself: a fault elsewhere is at its call here."""
    if error.file is not None and error.line is not None and Path(error.file) == path:
        return error.line, error.column
    here = [frame.line for frame in error.frames if Path(frame.file) == path]
    return (here[-1], None) if here else None


@dataclass(frozen=True, slots=True)
class InCuda:
    """What is wrong in generated CUDA, as a finding in the source.

    `line` is that of the CUDA, from 1; None for what is missing there. Where nobody knows the
    source of that line `is_placed` is false, and the finding has no place in the source.
    """

    finding: Finding
    line: int | None
    is_placed: bool = True


def findings_of(
    kernels: Sequence[KernelResult], view: CudaView, path: Path, source: SourceText
) -> tuple[Finding, ...]:
    """Return what the CUDA of a good build says of the source it was built from."""
    found = findings_in_cuda(kernels, view, path, source)
    return tuple(one.finding for one in found if one.is_placed)


def findings_in_cuda(
    kernels: Sequence[KernelResult], view: CudaView, path: Path, source: SourceText
) -> tuple[InCuda, ...]:
    """Return what is wrong in the CUDA of a good build, at the lines of source it came from.

    Lines of CUDA are those of the view. Of several faults on lines that one statement became, the
    first is kept.
    """
    links = {entry.cuda_line: entry for entry in view.map}
    cuda = SourceText(view.text)
    found: list[InCuda] = []
    said: set[tuple[str, Span]] = set()
    for finding in view.findings:
        if finding.code == "TX404":
            continue  # counted anew by the lines of source, which may have become many of CUDA
        line = cuda.line_of(finding.span.start) + 1
        message = f"In the generated CUDA, line {line}: {finding.message}"
        here = replace(finding, message=message, span=Span(0, 0), related=())
        entry = links.get(line)
        frames = [f for f in entry.frames if Path(f.file) == path] if entry is not None else []
        if not frames:
            found.append(InCuda(here, line, is_placed=False))
            continue
        span = _line_span(source, frames[0].line, None)
        if (finding.code, span) not in said:
            said.add((finding.code, span))
            found.append(InCuda(replace(here, span=span), line))
    written = read_kernels(source).kernels
    for kernel in kernels:
        found += _spills(kernel, path, source)
        text = read_cuda(SourceText(kernel.cuda))
        missing = check_paths(written, source, str(path), kernel.map, text)
        found += [InCuda(finding, None) for finding in missing]
    return tuple(found)


def _spills(kernel: KernelResult, path: Path, source: SourceText) -> Iterator[InCuda]:
    """Yield what the lines of the source own of a kernel's spills, over all their CUDA lines."""
    if kernel.machine is None:
        return
    links = {entry.cuda_line: entry for entry in kernel.map}

    def owner(line: int) -> int | None:
        frames = links[line].frames if line in links else ()
        return next((f.line for f in reversed(frames) if Path(f.file) == path), None)

    for line, count in sorted(spills_by_owner(kernel.machine, owner).items()):
        span = _line_span(source, line, None)
        yield InCuda(spill_finding(kernel.machine, count, span), None)


def admitted(
    findings: Iterable[Finding], selection: Selection, source: SourceText
) -> tuple[Finding, ...]:
    """Return what of the findings of a build the selected rules and the text's comments leave."""
    comments = read_suppressions(source)
    return tuple(
        finding
        for finding in findings
        if selection.admits(finding.code) and not tuple(comments.of(finding, source))
    )


def unsaid(
    findings: Iterable[Finding], shown: Iterable[Finding], source: SourceText
) -> tuple[Finding, ...]:
    """Return what of the findings of a build the rules do not say already.

    A rule says it where it reports the same code on the line; and where TVM refuses a line in
    which the rule names the cause, TVM's own sentence (TX506) adds nothing.
    """
    said = {(one.code, source.line_of(one.span.start)) for one in shown}
    lines = {line for code, line in said if code in _CAUSES}
    found = []
    for one in findings:
        line = source.line_of(one.span.start)
        if (one.code, line) not in said and not (one.code == "TX506" and line in lines):
            found.append(one)
    return tuple(found)


def _line_span(source: SourceText, line: int, column: int | None) -> Span:
    """Return a line from its first word, or from a column (1-based, characters), to its end."""
    if not 1 <= line <= len(source.line_starts):
        return Span(0, 0)
    text = source.line_bytes(line - 1)
    start = source.line_starts[line - 1]
    end = start + len(text.rstrip())
    first = start + len(text) - len(text.lstrip())
    if column is not None:
        first = max(first, source.offset(Position(line - 1, column - 1)))
    return Span(min(first, end), end)
