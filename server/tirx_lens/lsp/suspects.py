"""From a Symptom to Its Suspects: the guide for the kernels of an open document."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygls.uris import to_fs_path

from tirx_lens.lsp.analyser import library_of
from tirx_lens.lsp.choosing import choose_builder
from tirx_lens.lsp.cuda_reply import Built
from tirx_lens.lsp.messages import (
    Choose,
    CudaParams,
    Failed,
    MalformedMessageError,
    Page,
    PageReply,
)
from tirx_lens.lsp.problem_messages import SuspectsParams
from tirx_lens.lsp.worksheet import builder_at

if TYPE_CHECKING:
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.suspects import guide


_TO_CHOOSE = Failed(
    "The build wants something that is not chosen yet, a builder, its arguments or its target: ask "
    "for the generated CUDA first, or for the suspects without a build."
)


async def suspects_reply(server: LensServer, params: object) -> dict[str, Any]:
    """Answer one request. Without `build` it reads the text alone, so it needs no trust."""
    try:
        asked = SuspectsParams.from_json(params)
    except MalformedMessageError as error:
        return Failed(f"The request is malformed: {error}.").to_json()
    document = server.documents.get(asked.uri)
    if document is None:
        return Failed(f"{asked.uri} is not open, so there is no text to read.").to_json()
    built: Built | None = None
    if asked.build:
        made = await server.cuda.build_for(
            _as_built_last(server, document, asked), work_done_token=asked.work_done_token
        )
        if isinstance(made, Failed):
            return made.to_json()
        if not isinstance(made, Built):
            return _TO_CHOOSE.to_json()
        built = made
    reply = await server.background.run(lambda: _reply(server, document, asked, built))
    return reply.to_json()


def _as_built_last(server: LensServer, document: Document, asked: SuspectsParams) -> CudaParams:
    """Return what was chosen for the builder at the place when its CUDA was shown last."""
    column = 0 if asked.line is not None else None
    wanted = CudaParams(asked.uri, asked.line, column)
    builder = choose_builder(document, wanted)
    if not isinstance(builder, (Choose, Failed)):
        wanted = server.cuda.choices.request(document.uri, builder)
    return replace(wanted, machine_code=True)


def _reply(
    server: LensServer, document: Document, asked: SuspectsParams, built: Built | None
) -> PageReply:
    from tirx_lens.report.symptom_guide import as_markdown
    from tirx_lens.suspects.guide import guide

    given = server.given_for(document.uri, document.source)
    builder = builder_at(document, asked.line)
    if built is not None:
        builder = built.builder.name
    said = _said(built) if built is not None else None
    library = library_of(server, document.uri)
    made = guide(document.source, asked.symptom, given, library, builder, said)
    if not made.kernels and builder is not None:  # a builder that only calls another one
        builder = None
        library = library_of(server, document.uri)
        made = guide(document.source, asked.symptom, given, library, None, said)
    if not made.kernels:
        return Failed("There is no TIRx kernel in this file: no @T.prim_func or @T.jit to read.")
    path = Path(to_fs_path(document.uri) or document.uri)
    title = f"{asked.symptom.headline}: {builder or path.name}"
    return Page(title, path.as_posix(), as_markdown(path, made))


def _said(built: Built) -> guide.Built:
    """Return what a build says: that it failed, or what is in its CUDA and what it takes."""
    from tirx_lens.build_findings import findings_of, said_findings
    from tirx_lens.cuda.view import view_of
    from tirx_lens.suspects.guide import Built as Said

    result, source = built.result, built.document.source
    texts = {file.path: file.text for file in built.request.files}
    said = said_findings(result.diagnostics, built.path, source, texts)
    if not result.kernels:
        return Said(said, ())
    view = view_of(result.kernels)
    findings = (*said, *findings_of(result.kernels, view, built.path, source))
    return Said(findings, view.resources)
