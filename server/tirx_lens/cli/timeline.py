"""`tirx-lens timeline`: run the handoffs of a file's kernels and show how that went."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.configured import MisuseError, add_source_arguments, refuse
from tirx_lens.cli.given import add_builder_arguments, given_for
from tirx_lens.cli.naming import split_builder
from tirx_lens.files import Unreadable, read_file
from tirx_lens.protocol.timelines import timelines
from tirx_lens.report.paths import shown_path, shown_text
from tirx_lens.report.timeline_places import FilePlaces
from tirx_lens.syntax.read import open_library
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    import argparse

    from tirx_lens.model.span import Span
    from tirx_lens.protocol.timelines import KernelTimeline, Timelines

WELL, BADLY, FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens timeline`."""
    parser.add_argument(
        "file",
        metavar="FILE[:KERNEL]",
        help="the kernel's file, and the function around the kernel; without one, all of them",
    )
    add_builder_arguments(parser)
    parser.add_argument(
        "--html",
        metavar="PAGE",
        type=Path,
        help="write one page that draws the timelines beside the text",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the kernels and print what happened; return the exit code.

    0 when all that could be run come to their ends, 1 when one stops or has a race, 2 when none
    could be run, or there is none.
    """
    path, name = split_builder(arguments.file)
    file = read_file(path)
    if isinstance(file, Unreadable):
        return _fail(f"{shown_path(path)}: {shown_text(file.reason)}")
    try:
        given = given_for(arguments, path, file.source)
    except MisuseError as error:
        refuse(error)
        return FAILED
    library = open_library(WorkspaceModules(path, SourceCache()), str(absolute(path)))
    found = timelines(file.source, given, library, name)
    if not found.kernels:
        which = f"no kernel {name}" if name is not None else "no TIRx kernel"
        return _fail(
            f"{shown_path(path)} has {which}: no @T.prim_func or @T.jit that could be read"
        )
    places = FilePlaces(path, found.source)
    if arguments.html is not None and not _write_page(arguments.html, found, places):
        return FAILED
    streams.prepare(utf8=arguments.output_format == "json")
    if arguments.output_format == "json":
        streams.write(sys.stdout, _json(found, places))
    else:
        streams.write(sys.stdout, "\n".join(_text(one, places) for one in found.kernels))
    return _code(found)


def _code(found: Timelines) -> int:
    drawn = [one.timeline for one in found.kernels if one.timeline is not None]
    if not drawn:
        return FAILED
    return BADLY if any(one.is_bad for one in drawn) else WELL


def _text(kernel: KernelTimeline, places: FilePlaces) -> str:
    """Write how a run went: its story in numbered steps, each with its line."""
    drawn, why = kernel.timeline, kernel.unfollowed
    head = f"{_line_at(kernel.span, places)}: {shown_text(kernel.name)}"
    if drawn is None:
        reason = shown_text(why.reason) if why is not None else "it could not be run"
        where = ""
        if why is not None and why.at is not None:
            text, local = places.holder_of(why.at)
            part = text.source.part(local)
            where = f" ({part.prefix}line {part.source.line_of(part.span.start) + 1})"
        return f"{head}: not run: {reason}{where}\n"
    lines = [f"{head}: {drawn.verdict}"]
    for step in drawn.story:
        told = shown_text(step.text.replace("`", ""))
        lines.append(f"{step.number:4}. {_line_at(step.at, places)}: {told}")
    lines += [f"      {shown_text(clash.text.replace('`', ''))}" for clash in drawn.clashes]
    return "\n".join(lines) + "\n"


def _line_at(span: Span, places: FilePlaces) -> str:
    """Write the line of a place: its file, its cell in a notebook, its number there."""
    text, local = places.holder_of(span)
    return text.shown_place(local).rpartition(":")[0]


def _json(found: Timelines, places: FilePlaces) -> str:
    import json

    from tirx_lens.report.timeline_json import kernel_json

    kernels = [kernel_json(kernel, places) for kernel in found.kernels]
    return json.dumps({"kernels": kernels}, indent=2, ensure_ascii=False) + "\n"


def _write_page(target: Path, found: Timelines, places: FilePlaces) -> bool:
    from tirx_lens.report.timeline_page import PageText, timeline_page

    own = places.path
    texts = {str(own): PageText(str(own), own.name, found.source.text)}
    for kernel in found.kernels:
        for bar in kernel.timeline.bars if kernel.timeline is not None else ():
            if bar.at is not None:
                text, _ = places.holder_of(bar.at)
                known = PageText(str(text.path), text.path.name, text.source.text)
                texts.setdefault(str(text.path), known)
    title = found.kernels[0].name if len(found.kernels) == 1 else own.name
    page = timeline_page(title, found.kernels, places.in_text, tuple(texts.values()))
    try:
        target.write_text(page, "utf-8")
    except OSError as error:
        _fail(f"{shown_path(target)}: {error.strerror or error}")
        return False
    return True


def _fail(message: str) -> int:
    print(f"tirx-lens timeline: {message}", file=sys.stderr)
    return FAILED
