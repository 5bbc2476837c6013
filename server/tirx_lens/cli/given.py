"""`--arg NAME=VALUE` of commands that read one file, before what its project gives for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.cli.configured import Configured, MisuseError
from tirx_lens.compile.builders import find_builders
from tirx_lens.compile.prepare import parse_argument

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText


def add_builder_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of builders."""
    parser.add_argument(
        "--arg",
        dest="arguments",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument of the builder; wins over the comment `# tirx-lens: args ...` above it, "
        "which wins over the configuration",
    )


def given_for(arguments: argparse.Namespace, path: Path, source: SourceText) -> Given:
    """Return what the project gives for the file, and the command's own arguments before that.

    Raises `MisuseError` where either cannot be followed.
    """
    try:
        insisted = dict(parse_argument(item) for item in arguments.arguments)
    except ValueError as error:
        raise MisuseError(f"--arg {error}") from error
    configured = Configured.of_source(arguments)
    given = configured.options(path).given
    configured.refuse_problems()
    if not insisted:
        return given
    for builder in find_builders(source.data.decode("utf-8")):
        given = given.insisting(builder.name, insisted)
    return given
