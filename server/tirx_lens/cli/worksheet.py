"""`tirx-lens worksheet`: roles, storage, handoffs and lifetimes of the kernels of a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.configured import MisuseError, add_source_arguments, refuse
from tirx_lens.cli.given import add_builder_arguments, given_for
from tirx_lens.cli.naming import split_builder
from tirx_lens.files import Unreadable, read_file
from tirx_lens.protocol.worksheet.read import worksheet
from tirx_lens.report.worksheet_places import Sheets
from tirx_lens.syntax.read import open_library
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    import argparse

    from tirx_lens.protocol.worksheet.read import Worksheet

WRITTEN, PARTLY, FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens worksheet`."""
    parser.add_argument(
        "file",
        metavar="FILE[:BUILDER]",
        help="the kernel's file, and the function around the kernel; without one, all of them",
    )
    add_builder_arguments(parser)
    parser.add_argument("--output-format", choices=("markdown", "json"), default="markdown")
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the worksheets; return the exit code.

    0 when every kernel was read, 1 when there are some of which statements are missing or the file
    has syntax errors, 2 when there is nothing to print: no such file, builder, or kernel.
    """
    path, builder = split_builder(arguments.file)
    file = read_file(path)
    if isinstance(file, Unreadable):
        return _fail(f"{path}: {file.reason}")
    try:
        given = given_for(arguments, path, file.source)
    except MisuseError as error:
        refuse(error)
        return FAILED
    library = open_library(WorkspaceModules(path, SourceCache()), str(absolute(path)))
    filled = worksheet(file.source, given, library, builder)
    if not filled.kernels:
        named = f"no kernel of {builder}" if builder is not None else "no TIRx kernel"
        why = "it has syntax errors" if filled.has_errors else "no @T.prim_func or @T.jit to read"
        return _fail(f"{path} has {named}: {why}")
    streams.prepare(utf8=arguments.output_format == "json")
    streams.write(sys.stdout, _written(Sheets(path, filled), arguments.output_format))
    return WRITTEN if _is_whole(filled) else PARTLY


def _written(sheets: Sheets, kind: str) -> str:
    if kind == "json":
        from tirx_lens.report.worksheet_json import as_json

        return as_json(sheets) + "\n"
    from tirx_lens.report.worksheet import as_markdown

    return as_markdown(sheets)


def _is_whole(filled: Worksheet) -> bool:
    return not filled.has_errors and all(sheet.is_whole for sheet in filled.kernels)


def _fail(message: str) -> int:
    print(f"tirx-lens worksheet: {message}", file=sys.stderr)
    return FAILED
