"""`tirx-lens check`: find mistakes in files, print them, and mend what can be mended."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.analysis import Selection, analyse
from tirx_lens.files import Unreadable, find_files, read_source
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.report.checked import CheckedFile
from tirx_lens.report.concise import concise, summary
from tirx_lens.report.json import as_json
from tirx_lens.rules.registry import RULES
from tirx_lens.syntax.read import open_library
from tirx_lens.workspace import SourceCache, WorkspaceModules, absolute

if TYPE_CHECKING:
    import argparse

CLEAN, FOUND, FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens check`."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        type=Path,
        help="files, and folders to search for Python files (default: the current folder)",
    )
    parser.add_argument(
        "--output-format",
        choices=("concise", "json"),
        default="concise",
        help="one line a finding, or a JSON array in Ruff's shape (default: concise)",
    )
    parser.add_argument("--fix", action="store_true", help="apply the safe fixes to the files")
    parser.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix: apply the unsafe ones too"
    )
    parser.add_argument(
        "--select", metavar="CODES", default="TX", help="only these rules: codes or prefixes"
    )
    parser.add_argument("--ignore", metavar="CODES", default="", help="not these rules")
    parser.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="pass over files and folders of this name or path (shell pattern; repeatable)",
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="exit with 0 even when something was found"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check the files; 0: nothing found, 1: something found, 2: a file or option was no good."""
    selection = Selection(_codes(arguments.select), _codes(arguments.ignore))
    unknown = [code for code in (*selection.select, *selection.ignore) if not _is_known(code)]
    if unknown:
        print(f"tirx-lens: no rule has a code that begins with {unknown[0]}", file=sys.stderr)
        return FAILED
    checked: list[CheckedFile] = []
    cache = SourceCache()
    failed = False
    fixed = 0
    for found in find_files(arguments.paths or [Path()], tuple(arguments.exclude)):
        source = found if isinstance(found, Unreadable) else read_source(found)
        if isinstance(found, Unreadable) or isinstance(source, Unreadable):
            problem = found if isinstance(found, Unreadable) else source
            print(f"tirx-lens: {problem.path}: {problem.reason}", file=sys.stderr)  # type: ignore[union-attr]
            failed = True
            continue
        library = open_library(WorkspaceModules(found, cache), str(absolute(found)))
        if arguments.fix:
            again = partial(analyse, selection=selection, library=library)
            outcome = apply_safe_fixes(source, again, unsafe=arguments.unsafe_fixes)
            if outcome.applied:
                fixed += outcome.applied
                failed |= not _write(found, outcome.text)
                source = type(source)(outcome.text)
        analysis = analyse(source, selection, library)
        for code, reason in analysis.failures:
            print(f"tirx-lens: {found}: rule {code} failed: {reason}", file=sys.stderr)
            failed = True
        checked.append(CheckedFile(found, source, analysis.findings))
    _print(checked, arguments.output_format, fixed)
    if failed:
        return FAILED
    found_any = any(file.findings for file in checked)
    return FOUND if found_any and not arguments.exit_zero else CLEAN


def _print(checked: list[CheckedFile], output_format: str, fixed: int) -> None:
    if output_format == "json":
        print(as_json(checked))
        return
    for line in concise(checked):
        print(line)
    if fixed:
        print(f"Fixed {fixed} {'problem' if fixed == 1 else 'problems'}.")
    print(summary(checked))


def _write(path: Path, text: str) -> bool:
    """Write a mended text, keeping its line ends and its byte order mark."""
    try:
        mark = b"\xef\xbb\xbf" if path.read_bytes().startswith(b"\xef\xbb\xbf") else b""
        path.write_bytes(mark + text.encode("utf-8"))
    except OSError as error:
        print(f"tirx-lens: {path}: {error.strerror or error}", file=sys.stderr)
        return False
    return True


def _codes(listed: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in listed.split(",") if code.strip())


def _is_known(code: str) -> bool:
    return any(rule.code.startswith(code) for rule in RULES)
