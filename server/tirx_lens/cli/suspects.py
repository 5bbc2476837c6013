"""`tirx-lens suspects`: what of a file's kernels may cause a symptom, in the order to look."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.configured import MisuseError, add_source_arguments, refuse
from tirx_lens.cli.given import add_builder_arguments, given_for
from tirx_lens.cli.naming import split_builder
from tirx_lens.cli.one_build import add_build_arguments, build_one
from tirx_lens.files import Unreadable, read_file
from tirx_lens.model.symptom import Symptom
from tirx_lens.report.symptom_guide import as_markdown
from tirx_lens.suspects.guide import guide
from tirx_lens.syntax.read import open_library
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from tirx_lens.model.source import SourceText
    from tirx_lens.suspects.guide import Built, Guide

WRITTEN, FAILED = 0, 2
_NAME = "tirx-lens suspects"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens suspects`."""
    parser.add_argument(
        "file",
        metavar="FILE[:BUILDER]",
        help="the kernel's file, and the function around the kernel; without one, all of them",
    )
    add_symptom_argument(parser)
    add_builder_arguments(parser)
    parser.add_argument("--output-format", choices=("markdown", "json"), default="markdown")
    add_build_arguments(parser, "registers, spills, occupancy and the paths its CUDA took")
    add_source_arguments(parser)


def add_symptom_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the class of failure."""
    parser.add_argument(
        "--symptom",
        choices=[symptom.value for symptom in Symptom],
        required=True,
        help="what is seen of the mistake",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the guide; return 0, or 2 where there is no kernel to look at."""
    path, builder = split_builder(arguments.file)
    file = read_file(path)
    if isinstance(file, Unreadable):
        return _fail(f"{path}: {file.reason}")
    try:
        given = given_for(arguments, path, file.source)
        built = _built(arguments, path, file.source, builder)
    except MisuseError as error:
        refuse(error)
        return FAILED
    library = open_library(WorkspaceModules(path, SourceCache()), str(absolute(path)))
    made = guide(file.source, Symptom(arguments.symptom), given, library, builder, built)
    if not made.kernels:
        named = f"no kernel of {builder}" if builder is not None else "no TIRx kernel"
        return _fail(f"{path} has {named}")
    streams.prepare(utf8=arguments.output_format == "json")
    streams.write(sys.stdout, _written(path, made, arguments.output_format))
    return WRITTEN


def _written(path: Path, made: Guide, kind: str) -> str:
    if kind == "json":
        from tirx_lens.report.suspects_json import as_json

        return as_json(path, made) + "\n"
    return as_markdown(path, made)


def _built(
    arguments: argparse.Namespace, path: Path, source: SourceText, builder: str | None
) -> Built | None:
    if not arguments.build:
        return None
    from tirx_lens.build_findings import findings_of, said_findings
    from tirx_lens.cuda.view import view_of
    from tirx_lens.suspects.guide import Built

    one = build_one(arguments, path, builder, _NAME, machine_code=True)
    entry = absolute(path)
    said = said_findings(one.result.diagnostics, entry, source)
    if not one.result.kernels:
        streams.say(f"it does not build: {one.problem}")
        return Built(said, ())
    view = view_of(one.result.kernels)
    return Built((*said, *findings_of(one.result.kernels, view, entry, source)), view.resources)


def _fail(message: str) -> int:
    print(f"{_NAME}: {message}", file=sys.stderr)
    return FAILED
