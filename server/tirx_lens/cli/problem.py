"""`tirx-lens problem`: a report of a problem, for its author to edit and give to others."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import building, streams
from tirx_lens.cli.calls import builders_of, parsed_arguments
from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.cli.given import add_builder_arguments, given_for
from tirx_lens.cli.naming import split_builder
from tirx_lens.cli.one_build import add_build_arguments, build_one, target_of
from tirx_lens.cli.progress import Bar
from tirx_lens.cli.suspects import add_symptom_argument
from tirx_lens.compile.diagnosis import Wants
from tirx_lens.compile.examining import examine_all
from tirx_lens.files import Unreadable, read_file
from tirx_lens.model.symptom import Symptom
from tirx_lens.problem.gather import Looked, chosen_arguments, gather
from tirx_lens.problem.scrub import Scrubber
from tirx_lens.problem.secrets import secrets_of
from tirx_lens.report.problem import as_markdown
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute, import_root

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.examining import Examined
    from tirx_lens.compile.request import Scalar
    from tirx_lens.compile.targets import Target
    from tirx_lens.model.source import SourceText
    from tirx_lens.problem.gather import Problem

WRITTEN, FAILED = 0, 2
_NAME = "tirx-lens problem"
_NOT_BUILT = "The kernel was not built: `--build` runs the file's code and builds it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens problem`."""
    parser.add_argument(
        "file",
        metavar="FILE[:BUILDER]",
        help="the kernel's file, and the function around the kernel, if there are several",
    )
    add_symptom_argument(parser)
    add_builder_arguments(parser)
    parser.add_argument(
        "--set",
        dest="label",
        metavar="LABEL",
        help="which of the known sets of arguments shows it: `comment`, `comment 2`, "
        "`configuration` (default: the smallest)",
    )
    parser.add_argument(
        "--keep-names",
        action="store_true",
        help="keep paths, host names, user names and values of the environment",
    )
    parser.add_argument("--output-format", choices=("markdown", "json"), default="markdown")
    add_build_arguments(parser, "the CUDA that it becomes")
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the report; return 0, or 2 where there is no kernel to report of.

    Nothing is sent, and no file is written: the text is there to be read first.
    """
    path, name = split_builder(arguments.file)
    file = read_file(path)
    if isinstance(file, Unreadable):
        return _fail(f"{path}: {file.reason}")
    try:
        given = given_for(arguments, path, file.source)
        builder = _builder(arguments, path, file.source, name)
        insisted = parsed_arguments(arguments.arguments)
        target = target_of(arguments, path)
        values, _ = chosen_arguments(builder, arguments.label, insisted)
        looked = _looked(arguments, path, builder, target, values)
    except MisuseError as error:
        refuse(error)
        return FAILED
    entry = absolute(path)
    problem = gather(
        *(str(entry), file.source, builder, Symptom(arguments.symptom), given),
        *(WorkspaceModules(entry, SourceCache()), looked),
        label=arguments.label,
        insisted=insisted,
    )
    scrubber = None
    if not arguments.keep_names:
        hosts = [looked.host.hostname] if looked.host is not None else []
        folders = (import_root(entry), Path.cwd())
        scrubber = Scrubber(secrets_of(folders, [target], hosts), problem.calls)
    streams.prepare(utf8=True)
    streams.write(sys.stdout, _written(problem, scrubber, arguments.output_format))
    return WRITTEN


def _written(problem: Problem, scrubber: Scrubber | None, kind: str) -> str:
    if kind == "json":
        from tirx_lens.report.problem_json import as_json

        return as_json(problem, scrubber) + "\n"
    return as_markdown(problem, scrubber)


def _builder(
    arguments: argparse.Namespace, path: Path, source: SourceText, name: str | None
) -> Builder:
    configured = Configured.of_source(arguments)
    given = configured.options(path).given
    configured.refuse_problems()
    found = builders_of(source, given)
    wanted = [one for one in found if name is None or one.name == name]
    if len(wanted) == 1:
        builder = wanted[0]
        labels = [one.label for one in builder.sets]
        if arguments.label is not None and arguments.label not in labels:
            known = ", ".join(labels) or "none"
            raise MisuseError(f"{_NAME}: no set of arguments is {arguments.label!r}: {known}")
        return builder
    if not found or not wanted:
        what = f"no builder {name}" if name is not None else "no TIRx kernel"
        raise MisuseError(f"{_NAME}: {path} has {what}")
    names = ", ".join(f"{path}:{one.name}" for one in wanted)
    raise MisuseError(f"{_NAME}: {path} has several builders, say which: {names}")


def _looked(
    arguments: argparse.Namespace,
    path: Path,
    builder: Builder,
    target: Target,
    values: Mapping[str, Scalar],
) -> Looked:
    """Ask the target what it is, and build there where that was asked for."""
    with closing(Bar(1, quiet=False, doing="Examining")) as bar:
        examining = examine_all((target,), Wants(), building.open_compiler, bar.advance)
        examined = asyncio.run(building.drawn(examining, bar))
    host = examined[0].report
    silent = "" if host is not None else f"The target did not answer: {_first(examined[0])}"
    if not arguments.build:
        return Looked(host, None, f"{silent} {_NOT_BUILT}".strip())
    spelled = [f"{name}={value!r}" for name, value in values.items()]
    arguments.arguments = spelled
    built = build_one(arguments, path, builder.name, _NAME, machine_code=True)
    reason = f"The build failed: {built.problem}" if built.problem else ""
    return Looked(host, built.result, f"{silent} {reason}".strip())


def _first(examined: Examined) -> str:
    return examined.problems[0].message if examined.problems else "no reason is known"


def _fail(message: str) -> int:
    print(f"{_NAME}: {message}", file=sys.stderr)
    return FAILED
