"""What a build that has ended gives an editor: the CUDA or why there is none, and findings."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.lsp.choosing import spelled
from tirx_lens.lsp.messages import Cuda, Failed
from tirx_lens.lsp.notebooks import NotebookDocument
from tirx_lens.model.source import Position, SourceText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.result import BuildDiagnostic, BuildResult
    from tirx_lens.compile.targets import Target
    from tirx_lens.cuda.view import CudaView
    from tirx_lens.lsp.cuda_view import Locate
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import Encoding

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Built:
    """A build that has ended; `number` counts them as they were asked for."""

    number: int
    document: Document
    path: Path
    builder: Builder
    target: Target
    request: BuildRequest
    result: BuildResult


async def reply_for(server: LensServer, built: Built) -> Cuda | Failed:
    """Make the reply, and have what the build says of the document shown in it."""
    from tirx_lens.build_findings import findings_of, said_findings
    from tirx_lens.compile.result import Severity
    from tirx_lens.cuda.view import view_of

    result, path, source = built.result, built.path, built.document.source
    errors = [item for item in result.diagnostics if item.severity is Severity.ERROR]
    texts = {file.path: file.text for file in built.request.files}
    if errors or not result.kernels:
        said = said_findings(errors, path, source, texts)
        # Of a host that did not answer nothing is known that earlier builds said of the kernel.
        about_text = not _is_passing(errors)
        await _report(server, built, said if about_text else None)
        reply = _failure(server, errors, built)
        uri = built.document.uri
        _log.warning("no CUDA for %s of %s: %s", built.builder.name, uri, reply.message)
        return reply
    view = await server.background.run(lambda: view_of(result.kernels))
    findings = await server.background.run(
        lambda: (
            *said_findings(result.diagnostics, path, source, texts),
            *findings_of(result.kernels, view, path, source),
        )
    )
    await _report(server, built, findings)
    locate = _locator(built.document, path)
    return shown(result, built.builder, view, server.documents.encoding, locate)


async def _report(server: LensServer, built: Built, findings: tuple[Finding, ...] | None) -> None:
    """Show what a build says of its document, where it could, and of where it was built."""
    from tirx_lens.build_environment import (
        environment_findings,
        generation_finding,
        host_findings,
    )
    from tirx_lens.compile.targets import Origin
    from tirx_lens.lsp.built import ENVIRONMENT, Report

    source = built.document.source
    environment = environment_findings(built.result.diagnostics, source)
    if built.result.failed and findings is not None:
        version = await server.cuda.runs.tvm_version(built.target)
        given = server.projects.options(built.document.uri).given.tvm_version
        other = generation_finding(version, given, source)
        environment += (other,) if other is not None else ()
    # The GPU of this machine is no news to its user, who may well build for another one.
    if findings is not None and built.target.origin is not Origin.BUILT_IN:
        said = server.cuda.runs.known_unsuited(built.target)
        if said is None:
            server.keep(asyncio.create_task(_report_host(server, built, environment)))
        environment += host_findings(said or (), source)
    reports = {ENVIRONMENT: Report(built.number, source, environment)}
    if findings is not None:
        reports[built.builder.name] = Report(built.number, source, findings)
    server.take_reports(built.document.uri, reports)


async def _report_host(server: LensServer, built: Built, environment: tuple[Finding, ...]) -> None:
    """Add what the host of the target says of its GPUs, which nobody waits for."""
    from tirx_lens.build_environment import host_findings
    from tirx_lens.lsp.built import ENVIRONMENT, Report

    source = built.document.source
    found = host_findings(await server.cuda.runs.unsuited(built.target), source)
    if found:
        report = Report(built.number, source, environment + found)
        server.take_reports(built.document.uri, {ENVIRONMENT: report})


def _is_passing(errors: Sequence[BuildDiagnostic]) -> bool:
    """Tell whether a build failed for where it ran, and not for its kernel."""
    from tirx_lens.compile.result import Stage

    return bool(errors) and errors[0].stage in (Stage.ENVIRONMENT, Stage.WORKER)


def _failure(server: LensServer, errors: Sequence[BuildDiagnostic], built: Built) -> Failed:
    name, path = built.builder.name, built.path
    if not errors:
        return Failed(f"{name} was built, but gave no kernel.", builder=name)
    error = errors[0]
    whole = server.whole_messages.put(
        f"{path.name} {error.rule or name}", error.message, error.detail
    )
    file, line, column = None, None, None
    if error.file is not None and error.line is not None:
        file, line, column = error.file, error.line - 1, max((error.column or 1) - 1, 0)
        source = built.document.source if Path(file) == path else _read(Path(file))
        if source is not None:
            place = source.offset(Position(line, column))
            column = source.position(place, server.documents.encoding).column
    retry, uri = _is_passing(errors), None
    if file is not None and line is not None and isinstance(built.document, NotebookDocument):
        uri, line = _locator(built.document, path)(file, line) or (None, line)
    return Failed(error.message, error.detail, file, line, column, whole, name, retry, uri)


def _locator(document: Document, path: Path) -> Locate:
    """Return what finds lines of a document's file in the document, or in the cells it is of."""

    def locate(file: str, line: int) -> tuple[str, int] | None:
        if file != str(path):
            return None
        found = document.part_of_line(line) if isinstance(document, NotebookDocument) else None
        if found is None:
            return document.uri, line
        part, placed = found
        return part.uri, max(0, line - placed.line)

    return locate


def shown(
    result: BuildResult,
    builder: Builder,
    view: CudaView,
    encoding: Encoding,
    locate: Locate,
) -> Cuda:
    """Make the reply of the kernels that a builder gave: nearly always one."""
    kernels = result.kernels
    first = kernels[0]
    written = {name: spelled(value) for name, value in first.args.items()}
    title = " ".join([builder.name, *(f"{name}={value}" for name, value in written.items())])
    return Cuda(
        title=f"{builder.name} {first.config}" if first.config else title,
        view=view,
        encoding=encoding,
        kernel=", ".join(kernel.name for kernel in kernels),
        builder=builder.name,
        arguments=written,
        tvm_version=first.tvm_version,
        target=first.target,
        config=first.config,
        notes=tuple(item.message for item in result.diagnostics),
        locate=locate,
    )


def _read(path: Path) -> SourceText | None:
    try:
        return SourceText(path.read_text("utf-8", errors="replace"))
    except OSError:
        return None
