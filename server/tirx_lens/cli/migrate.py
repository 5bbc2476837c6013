"""`tirx-lens migrate`: rewrite kernels in the spelling of another TVM."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.files import Unreadable, read_file
from tirx_lens.migrating import TARGET, migrate
from tirx_lens.report.colour import Palette
from tirx_lens.report.paths import shown_path, shown_text
from tirx_lens.rewrite import Rewrite, rewrite
from tirx_lens.syntax.read import open_library
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    import argparse

    from tirx_lens.configuration.options import FileOptions
    from tirx_lens.migrating import Migrated

MIGRATED, LEFT, FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens migrate`."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="files, and folders of files"
    )
    parser.add_argument(
        "--to", choices=(TARGET.value,), required=True, help="the TVM whose spelling to write"
    )
    parser.add_argument(
        "--diff", action="store_true", help="print what would change and write nothing"
    )
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Rewrite, and list what was left alone; return the exit code.

    0 when nothing was left, 1 when something was (or, with `--diff`, would change), 2 when a file
    could not be read or written.
    """
    streams.prepare(utf8=False)
    try:
        configured = Configured.of_source(arguments)
        planned = configured.plan(arguments.paths, ())
    except MisuseError as error:
        refuse(error)
        return FAILED
    cache = SourceCache()
    codes = [
        _fail(file.path, file.reason)
        if isinstance(file, Unreadable)
        else _migrate(file.path, file.options, cache, writes=not arguments.diff)
        for file in planned
    ]
    return max(codes, default=MIGRATED)


def _migrate(path: Path, options: FileOptions, cache: SourceCache, *, writes: bool) -> int:
    file = read_file(path)
    if isinstance(file, Unreadable):
        return _fail(path, file.reason)
    library = open_library(WorkspaceModules(path, cache), str(absolute(path)))
    migrated = migrate(file.source, options.given, library)
    code = _list(path, migrated)
    if migrated.text == file.source.text:
        return code
    data = file.encoded(migrated.source)
    if data is None:
        return _fail(path, "its encoding does not give back what it has")
    if not writes:
        from tirx_lens.report.diff import diff

        palette = Palette(streams.is_coloured(sys.stdout))
        streams.write(sys.stdout, diff(path, file.data, data, palette))
        return LEFT
    reason = rewrite(path, Rewrite(file.data, data))
    if reason is not None:
        return _fail(path, reason)
    return code


def _list(path: Path, migrated: Migrated) -> int:
    """Say what was done with a file, and what is left in it."""
    name = shown_path(path)
    for finding in migrated.left:
        part = migrated.source.part(finding.span)
        at = part.source.position(part.span.start)
        message = shown_text(finding.message)
        place = f"{name}:{part.prefix}{at.line + 1}:{at.column + 1}"
        streams.say(f"{place}: {finding.code} {message}")
    if migrated.rewritten or migrated.left:
        left = f", {len(migrated.left)} left alone" if migrated.left else ""
        streams.say(f"{name}: {migrated.rewritten} rewritten{left}")
    return LEFT if migrated.left else MIGRATED


def _fail(path: Path, reason: str) -> int:
    streams.say(f"{shown_path(path)}: {reason}")
    return FAILED
