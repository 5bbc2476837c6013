"""`tirx-lens cuda`: print the CUDA that the kernels of a file become."""

from __future__ import annotations

import asyncio
import sys
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.cli.cuda_output import print_json, print_text
from tirx_lens.cli.naming import split_builder
from tirx_lens.compile.builders import Builder, find_builder, find_builders
from tirx_lens.compile.cache import ResultCache
from tirx_lens.compile.cache_folder import CacheFolder, default_folder
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import DEFAULT_ARCH, parse_argument, prepare
from tirx_lens.compile.request import Limits
from tirx_lens.compile.result import BuildResult, Stage
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tirx_lens.cli.cuda_findings import CheckedCuda
    from tirx_lens.compile.request import BuildRequest, Scalar
    from tirx_lens.configuration.options import FileOptions

BUILT, BROKEN, FAILED = 0, 1, 2


class _UsageError(Exception):
    """What was asked for cannot be tried; the text says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens cuda`."""
    parser.add_argument(
        "file",
        metavar="FILE[:BUILDER]",
        help="the kernel's file, and the builder in it; without one, all of them",
    )
    parser.add_argument(
        "--arg",
        dest="arguments",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument of the builder; wins over the comment `# tirx-lens: args ...` above it, "
        "which wins over the configuration",
    )
    parser.add_argument(
        "--label",
        metavar="LABEL",
        help="which of CONFIGS to call a registered kernel's get_kernel with (default: the first)",
    )
    parser.add_argument(
        "--interpreter",
        metavar="PYTHON",
        default=sys.executable,
        help="the Python that TVM is installed in (default: the one tirx-lens runs in)",
    )
    parser.add_argument(
        "--arch", default=DEFAULT_ARCH, help=f"the GPU to compile for (default: {DEFAULT_ARCH})"
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        default=120.0,
        help="stop a build after this long (default: 120)",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--machine-code",
        action="store_true",
        help="compile the CUDA too: PTX and SASS in the JSON, what it takes of the GPU in the text",
    )
    parser.add_argument(
        "--html",
        metavar="PAGE",
        type=Path,
        help="write one page that shows the kernels beside their CUDA, linked line by line",
    )
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build and print; return the exit code.

    0 when every kernel was built, 1 when one was not, 2 when none could be tried: a wrong
    argument, or an interpreter that cannot build. What is found in CUDA that was built is said, and
    changes nothing of that.
    """
    try:
        options = _options(arguments)
        requests = _requests(arguments, options)
    except _UsageError as error:
        print(f"tirx-lens cuda: {error}", file=sys.stderr)
        return FAILED
    except MisuseError as error:
        refuse(error)
        return FAILED
    results = asyncio.run(_build(requests, arguments.interpreter))
    if arguments.html is not None and not _write_page(arguments.html, requests, results):
        return FAILED
    checked = _check_built(requests, results, options)
    if arguments.output_format == "json":
        print_json(results, checked)
    else:
        print_text(results, checked, split_builder(arguments.file)[0], texts=arguments.html is None)
    stages = {item.stage for result in results for item in result.diagnostics}
    if Stage.ENVIRONMENT in stages:
        return FAILED
    return BROKEN if any(result.failed for result in results) else BUILT


async def _build(requests: tuple[BuildRequest, ...], interpreter: str) -> tuple[BuildResult, ...]:
    cache = ResultCache(CacheFolder(default_folder()))
    compiler = Compiler(LocalLauncher(interpreter), cache=cache)
    try:
        return tuple(await asyncio.gather(*(compiler.build(request) for request in requests)))
    finally:
        await compiler.close()


def _requests(arguments: argparse.Namespace, options: FileOptions) -> tuple[BuildRequest, ...]:
    path, name = split_builder(arguments.file)
    try:
        with tokenize.open(path) as file:
            text = file.read()
    except OSError as error:
        raise _UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (SyntaxError, UnicodeError, ValueError) as error:
        raise _UsageError(f"{path} is not Python text: {error}") from error
    given: dict[str, Scalar] = {}
    for item in arguments.arguments:
        try:
            key, value = parse_argument(item)
        except ValueError as error:
            raise _UsageError(f"--arg {error}") from error
        given[key] = value
    if not arguments.time_limit > 0:  # which NaN is not, either
        raise _UsageError("--time-limit must be more than 0 seconds")
    chosen = tuple(
        builder.with_given(options.given) if isinstance(builder, Builder) else builder
        for builder in _choose(path, text, name)
    )
    _check(path, chosen, given)
    return tuple(
        prepare(
            path,
            text,
            builder,
            arguments=_meant_for(builder, given, alone=len(chosen) == 1),
            config=arguments.label,
            machine_code=arguments.machine_code,
            arch=arguments.arch,
            limits=Limits(arguments.time_limit),
            workspace=(Path.cwd(),),
        )
        for builder in chosen
    )


def _options(arguments: argparse.Namespace) -> FileOptions:
    configured = Configured.of_source(arguments)
    options = configured.options(split_builder(arguments.file)[0])
    configured.refuse_problems()
    return options


def _choose(path: Path, text: str, name: str | None) -> tuple[Builder | str, ...]:
    if name is not None:
        return (find_builder(text, name) or name,)
    builders = find_builders(text)
    if not builders:
        raise _UsageError(
            f"{path} has no builder: no function with a @T.prim_func or @T.jit kernel in it, and "
            "none at module level; FILE:NAME names one that is made in another way"
        )
    return builders


def _check(path: Path, chosen: tuple[Builder | str, ...], given: Mapping[str, Scalar]) -> None:
    """Refuse builders whose arguments are not all known, before anything runs."""
    for builder in chosen:
        missing = builder.missing(given) if isinstance(builder, Builder) else ()
        if isinstance(builder, Builder) and missing:
            options = " ".join(f"--arg {name}=..." for name in missing)
            comment = " ".join(f"{name}=..." for name in missing)
            raise _UsageError(
                f"{path}:{builder.line}: {builder.name} needs a value for {', '.join(missing)}: "
                f"add {options}, or write `# tirx-lens: args {comment}` above the builder, or "
                f"{_in_table(builder.name, missing)}"
            )


def _in_table(builder: str, missing: tuple[str, ...]) -> str:
    values = ", ".join(f"{name} = ..." for name in missing)
    return f"`{builder} = {{ {values} }}` below [tool.tirx-lens.arguments] of pyproject.toml"


def _meant_for(
    builder: Builder | str, given: Mapping[str, Scalar], *, alone: bool
) -> Mapping[str, Scalar]:
    """Return the arguments for one builder: of several, each takes those it has."""
    if alone or isinstance(builder, str):
        return given
    names = {parameter.name for parameter in builder.parameters}
    return {name: value for name, value in given.items() if name in names}


def _write_page(
    target: Path, requests: tuple[BuildRequest, ...], results: tuple[BuildResult, ...]
) -> bool:
    """Write the page of what was built; nothing where nothing was."""
    from tirx_lens.cuda.view import view_of
    from tirx_lens.report.cuda_page import PageKernel, page

    kernels = []
    for request, result in zip(requests, results, strict=True):
        if not result.kernels:
            continue
        first, view = result.kernels[0], view_of(result.kernels)
        spelled = " ".join(f"{name}={value!r}" for name, value in first.args.items())
        shown = {frame.file for entry in view.map for frame in entry.frames} | {request.entry}
        texts = {file.path: file.text for file in request.files if file.path in shown}
        sources = {request.entry: texts.pop(request.entry), **texts}
        title = f"{first.builder or first.name} {spelled}".rstrip()
        facts = (f"TVM {first.tvm_version}", first.target)
        kernels.append(PageKernel(title, facts, view, sources))
    if not kernels:
        return True
    try:
        target.write_text(page(kernels), "utf-8")
    except OSError as error:
        print(f"tirx-lens cuda: {target}: {error.strerror or error}", file=sys.stderr)
        return False
    return True


def _check_built(
    requests: tuple[BuildRequest, ...], results: tuple[BuildResult, ...], options: FileOptions
) -> tuple[CheckedCuda, ...]:
    from tirx_lens.cli.cuda_findings import check_built  # it loads the rules

    return tuple(
        checked
        for request, result in zip(requests, results, strict=True)
        for checked in check_built(request, result, options.selection)
    )
