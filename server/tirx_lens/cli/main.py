"""`tirx-lens`: one subcommand a module of this package, imported only when it is called for."""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from typing import TYPE_CHECKING

from tirx_lens import __version__
from tirx_lens.cli.streams import BROKEN_PIPE, say, silence

if TYPE_CHECKING:
    from collections.abc import Sequence

# Subcommand -> what it does. The module `tirx_lens.cli.NAME` holds `add_arguments(parser)` and
# `run(arguments) -> int`, the exit code.
COMMANDS = {
    "check": "find synchronisation mistakes in TIRx kernels",
    "cuda": "print the CUDA that kernels become",
    "doctor": "look whether kernels can be built at each target",
    "migrate": "rewrite kernels in the spelling of a newer TVM",
    "problem": "write a report of a kernel's problem for others, without paths and names",
    "rules": "list the rules, or explain one",
    "timeline": "run the handoffs of kernels, and draw how that went",
    "server": "speak the Language Server Protocol on standard input and output",
    "suspects": "list what of a kernel may cause a symptom: a deadlock, a crash, wrong rows, ...",
    "sweep": "build kernels x arguments x targets, and tell how each went",
    "targets": "list where kernels can be built, and confirm what a project brings",
    "worksheet": "fill in roles, storage, handoffs and lifetimes of a file's kernels",
}

FAILED = 2
"""Exit code when tirx-lens itself, rather than what it looked at, is at fault."""

INTERRUPTED = 130
"""Exit code of a command that Ctrl+C ended: 128 + 2."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `tirx-lens` with the given arguments and return its exit code."""
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        silence(sys.stdout)
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.errno not in _FULL:
            raise
        silence(sys.stdout)
        say(f"cannot write: {error.strerror}")
        return FAILED
    return code


def _run(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="tirx-lens",
        description="Find the mistakes in TIRx kernels that TVM compiles silently.",
    )
    parser.add_argument("--version", action="version", version=f"tirx-lens {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = next((word for word in words if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=summary, description=summary.capitalize() + "."
        )
        if name == called:
            importlib.import_module(f"tirx_lens.cli.{name}").add_arguments(subparser)
    arguments = parser.parse_args(words)
    return int(importlib.import_module(f"tirx_lens.cli.{arguments.command}").run(arguments))


if __name__ == "__main__":
    sys.exit(main())
