"""Report a Problem with This Kernel: what its author needs to give others, to edit and save."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pygls.uris import to_fs_path

from tirx_lens.lsp.analyser import modules_of
from tirx_lens.lsp.choosing import arguments_for, choose_builder, needed, to_choose
from tirx_lens.lsp.cuda_reply import Built
from tirx_lens.lsp.messages import (
    Choose,
    ChooseArguments,
    CudaParams,
    Failed,
    MalformedMessageError,
)
from tirx_lens.lsp.problem_messages import ProblemParams, ProblemReply, ProblemText
from tirx_lens.lsp.target_messages import ConfirmTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import Scalar
    from tirx_lens.compile.result import HostReport
    from tirx_lens.compile.targets import Target
    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.server import LensServer
    from tirx_lens.model.imported import ModuleText
    from tirx_lens.problem.gather import Looked

_NOT_ASKED = "Nothing was run for this report, so versions, GPU and CUDA are not in it."


class _NoModules:
    """What a text that is no file can import: nothing of the workspace."""

    def find(self, importer: str, level: int, module: tuple[str, ...]) -> ModuleText | None:
        del importer, level, module
        return None


async def problem_reply(server: LensServer, params: object) -> dict[str, Any]:
    """Answer one request. Nothing is run unless it says `build` and the workspace is trusted."""
    try:
        asked = ProblemParams.from_json(params)
    except MalformedMessageError as error:
        return Failed(f"The request is malformed: {error}.").to_json()
    document = server.documents.get(asked.uri)
    if document is None:
        return Failed(f"{asked.uri} is not open, so there is no text to read.").to_json()
    chosen = await server.background.run(lambda: _chosen(server, document, asked))
    if not isinstance(chosen, tuple):
        return chosen.to_json()
    builder, insisted = chosen
    looked = await _looked(server, asked, builder)
    reply = await server.background.run(
        lambda: _reply(server, document, asked, builder, insisted, looked)
    )
    return reply.to_json()


def _chosen(
    server: LensServer, document: Document, asked: ProblemParams
) -> tuple[Builder, Mapping[str, Scalar]] | ProblemReply:
    """Find the builder and what it is called with, or what the user is to be asked."""
    from tirx_lens.problem.gather import smallest_first

    wanted = _cuda_params(asked)
    builder = choose_builder(document, wanted)
    if isinstance(builder, (Choose, Failed)):
        return builder
    builder = builder.with_given(server.projects.options(document.uri).given)
    labels = [one.label for one in builder.sets]
    if asked.arguments:
        return builder, arguments_for(builder, wanted)
    if len(labels) > 1 and asked.argument_set not in labels:
        choice = to_choose(builder)
        order = [one.label for one in smallest_first(builder.sets)]
        sets = sorted(choice.sets, key=lambda one: order.index(one.label))
        return ChooseArguments(choice.builder, tuple(sets))
    if asked.argument_set is None and builder.missing({}):
        return needed(builder)
    return builder, {}


def _cuda_params(asked: ProblemParams) -> CudaParams:
    column = 0 if asked.line is not None else None
    return CudaParams(
        *(asked.uri, asked.line, column, asked.builder, asked.arguments),
        argument_set=asked.argument_set,
        machine_code=True,
    )


async def _looked(server: LensServer, asked: ProblemParams, builder: Builder) -> Looked:
    from dataclasses import replace

    from tirx_lens.problem.gather import Looked

    if not asked.build:
        return Looked(reason=_NOT_ASKED)
    wanted = replace(_cuda_params(asked), builder=builder.name)
    made = await server.cuda.build_for(wanted, work_done_token=asked.work_done_token)
    if not isinstance(made, Built):
        why = "the build wants something that was not chosen"
        if isinstance(made, (Failed, ConfirmTarget)):
            why = made.message
        return Looked(reason=f"The kernel was not built: {why}")
    host, silent = await _examined(server, made.target)
    errors = [item.message for item in made.result.diagnostics] if made.result.failed else []
    failed = f"The build failed: {errors[0]}" if errors else ""
    return Looked(host, made.result, f"{silent} {failed}".strip())


async def _examined(server: LensServer, target: Target) -> tuple[HostReport | None, str]:
    """Ask the target what it is; it has just built."""
    from tirx_lens.compile.launcher import LaunchError
    from tirx_lens.compile.session import WorkerLostError

    kept = await server.cuda.runs.compilers.of(target)
    try:
        return await kept.compiler.examine(), ""
    except (LaunchError, WorkerLostError) as error:
        return None, f"The target did not say what it is: {error}"


def _reply(
    server: LensServer,
    document: Document,
    asked: ProblemParams,
    builder: Builder,
    insisted: Mapping[str, Scalar],
    looked: Looked,
) -> ProblemReply:
    from tirx_lens.problem.gather import gather
    from tirx_lens.problem.scrub import Scrubber
    from tirx_lens.problem.secrets import secrets_of
    from tirx_lens.report.problem import as_markdown
    from tirx_lens.workspace import import_root

    given = server.given_for(document.uri, document.source)
    found = modules_of(server, document.uri)
    path = found[1] if found is not None else Path(document.uri).name
    problem = gather(
        *(path, document.source, builder, asked.symptom, given),
        *(found[0] if found is not None else _NoModules(), looked),
        label=asked.argument_set,
        insisted=insisted,
        editor=asked.editor,
    )
    scrubber = None
    if not asked.keep_names:
        uris = (folder.uri for folder in server.workspace.folders.values())
        folders = [Path(name) for uri in uris if (name := to_fs_path(uri))]
        if found is not None:
            folders.append(import_root(Path(path)))
        hosts = [looked.host.hostname] if looked.host is not None else []
        targets = server.targets.of(document.uri).targets
        scrubber = Scrubber(secrets_of(folders, targets, hosts), problem.calls)
    title = f"Problem of {builder.name}"
    return ProblemText(title, as_markdown(problem, scrubber))
