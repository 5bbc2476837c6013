"""`tirx-lens doctor`: look whether kernels can be built at each target, and say what is wrong."""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import building, streams
from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.cli.doctor_output import as_json, as_lines
from tirx_lens.cli.placing import Places, add_interpreter_argument
from tirx_lens.cli.progress import Bar
from tirx_lens.compile.diagnosis import Wants
from tirx_lens.compile.examining import examine_all
from tirx_lens.report.colour import Palette

if TYPE_CHECKING:
    import argparse

    from tirx_lens.compile.targets import Target

GOOD, BAD, FAILED = 0, 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens doctor`."""
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=Path,
        default=Path(),
        help="a file or folder of the project (default: the current folder)",
    )
    parser.add_argument(
        "--target",
        dest="targets",
        metavar="NAME",
        action="append",
        default=[],
        help="which target to look at; repeatable (default: local, and all that may be used)",
    )
    add_interpreter_argument(parser)
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Look at the targets; return 0 where all is well, 1 where not, 2 for misuse.

    What a host merely does without, such as a GPU, is said and is no problem.
    """
    streams.prepare(utf8=arguments.output_format == "json")
    try:
        configured = Configured.of_source(arguments)
        path = arguments.path / "_" if arguments.path.is_dir() else arguments.path
        wants = Wants(configured.options(path).given.tvm_version)
        configured.refuse_problems()
        places = Places(configured, arguments.interpreter)
        targets = _targets(arguments, places)
    except MisuseError as error:
        refuse(error)
        return FAILED
    with closing(Bar(len(targets), quiet=False, doing="Examining")) as bar:
        examining = examine_all(targets, wants, building.open_compiler, bar.advance)
        examined = asyncio.run(building.drawn(examining, bar))
    if arguments.output_format == "json":
        streams.write(sys.stdout, as_json(examined))
    else:
        palette = Palette(streams.is_coloured(sys.stdout))
        streams.write(sys.stdout, "".join(f"{line}\n" for line in as_lines(examined, palette)))
    return GOOD if all(one.is_good for one in examined) else BAD


def _targets(arguments: argparse.Namespace, places: Places) -> tuple[Target, ...]:
    named = dict.fromkeys(arguments.targets)
    if named:
        return tuple(places.target(arguments.path, name) for name in named)
    known = places.known(arguments.path)
    usable = [target for target in known.targets.targets if places.may_use(known, target)]
    if left := [target.name for target in known.targets.targets if target not in usable]:
        streams.say(
            f"not looked at, since the project's targets are not confirmed: {', '.join(left)}; "
            "`tirx-lens targets --confirm` shows and confirms them"
        )
    return tuple(usable)
