"""`tirx-lens sweep`: build kernels x arguments x targets, and tell how each went."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import building, streams
from tirx_lens.cli.calls import Wish
from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.cli.placing import Places, add_interpreter_argument
from tirx_lens.cli.planning import LackingError, passed_over, plan_builds
from tirx_lens.cli.sweep_file import read_sweep
from tirx_lens.cli.sweep_output import FORMATS, show_rows
from tirx_lens.cli.sweep_results import RowState, adding_rows, key_of, read_rows, row_of
from tirx_lens.cli.texts import read_texts
from tirx_lens.report.paths import shown_path

if TYPE_CHECKING:
    import argparse

    from tirx_lens.cli.planning import Plan
    from tirx_lens.cli.sweep_file import SweepFile
    from tirx_lens.cli.sweep_results import Row
    from tirx_lens.compile.many import Done

ALL_BUILT, SOME_NOT, FAILED = 0, 1, 2
_NAME = "tirx-lens sweep"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens sweep`."""
    parser.add_argument(
        "file",
        metavar="FILE.toml",
        type=Path,
        help="what to build: kernels, arguments, targets, arch",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on where an earlier run ended: what is in the results, and has not changed since, "
        "is not built again",
    )
    parser.add_argument(
        "--results",
        metavar="PATH",
        type=Path,
        help="where each result is added as it comes, as a line of JSON (default: "
        "FILE.results.jsonl beside the file)",
    )
    add_interpreter_argument(parser)
    parser.add_argument(
        "--output-format",
        choices=FORMATS,
        default="text",
        help="how the table of all results is printed at the end (default: text)",
    )
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build; return 0 where all was built, 1 where something was not, 2 for misuse.

    After Ctrl+C the results until then are printed, and in the file.
    """
    streams.prepare(utf8=arguments.output_format == "json")
    path: Path = arguments.file
    results = arguments.results or path.with_suffix(".results.jsonl")
    try:
        sweep = read_sweep(path)
        plan = _plan(sweep, path.parent, arguments)
        earlier = _earlier(results, resumes=arguments.resume)
    except MisuseError as error:
        refuse(error)
        return FAILED
    keys = [key_of(wanted.job, path.parent) for wanted in plan.wanted]
    rows = {key: row for key, row in earlier.items() if row.is_settled}
    left = [index for index, key in enumerate(keys) if key not in rows]
    with adding_rows(results) as add:

        def take(place: int, done: Done) -> None:
            index = left[place]
            row = row_of(keys[index], plan.wanted[index], done)
            add(row)
            rows[row.key] = row

        built = building.build_jobs(
            [plan.wanted[index].job for index in left],
            on_done=take,
            # A result from the disk would tell how long reading it took.
            open_builds=partial(building.open_compiler, from_disk=False),
        )
    done = [rows[key] for key in keys if key in rows]
    show_rows(done, arguments.output_format, sys.stdout, figures=sweep.machine_code)
    _show_notes(plan, done, taken=len(keys) - len(left))
    if built.was_interrupted:
        streams.say(f"interrupted: `{_NAME} --resume {shown_path(path)}` goes on")
        raise KeyboardInterrupt
    return ALL_BUILT if all(row.state is RowState.BUILT for row in done) else SOME_NOT


def _plan(sweep: SweepFile, folder: Path, arguments: argparse.Namespace) -> Plan:
    configured = Configured.of_source(arguments)
    texts = read_texts([str(folder / one) for one in sweep.kernels], configured, _NAME)
    wishes = [
        Wish(one, arch=arch, time_limit=sweep.time_limit, machine_code=sweep.machine_code)
        for one in sweep.arguments
        for arch in sweep.archs
    ]
    places = Places(configured, arguments.interpreter)
    try:
        plan = plan_builds(texts, wishes, places, sweep.targets)
    except LackingError as error:
        one = error.lacking
        raise MisuseError(
            f"{_NAME}: {one.named}:{one.builder.line}: {one.builder.name} needs a value for "
            f"{', '.join(one.missing)}: add it to `arguments` or to each of `sets`"
        ) from error
    if not plan.wanted:
        raise MisuseError(f"{_NAME}: there is nothing to build: no builder has all its arguments")
    return plan


def _earlier(path: Path, *, resumes: bool) -> dict[str, Row]:
    """Return the results that are there. Raises `MisuseError` for ones that nobody goes on from."""
    try:
        if path.exists() and not path.is_file():  # reading a device might never end
            raise MisuseError(f"{_NAME}: {shown_path(path)} is no file")
        if not resumes and path.exists() and path.stat().st_size:
            raise MisuseError(
                f"{_NAME}: {shown_path(path)} has the results of an earlier run: go on from them "
                "with --resume, remove it, or name another file with --results"
            )
        path.open("ab").close()  # before anything is built for nothing
        return read_rows(path)
    except OSError as error:
        said = f"{shown_path(path)} cannot be written: {error.strerror or error}"
        raise MisuseError(f"{_NAME}: {said}") from error


def _show_notes(plan: Plan, done: list[Row], *, taken: int) -> None:
    for file in plan.unreadable:
        streams.say(f"{shown_path(file.path)}: {file.reason}")
    if plan.lacking:
        streams.say(passed_over(plan.lacking))
    good = sum(row.state is RowState.BUILT for row in done)
    before = f", {taken} of them in an earlier run" if taken else ""
    streams.say(f"{len(done)} of {len(plan.wanted)} builds are done{before}; {good} went well")
