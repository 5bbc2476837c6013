"""`tirx-lens rules`: list the rules, explain one, or write their pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.rules.pages import page, pages
from tirx_lens.rules.registry import ALL, rule_by_code

if TYPE_CHECKING:
    import argparse

DONE, FAILED = 0, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens rules`."""
    parser.add_argument("code", metavar="RULE", nargs="?", help="a code or a name: TX102")
    parser.add_argument(
        "--write", metavar="FOLDER", type=Path, help="write every rule's page into a folder"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or write what was asked for."""
    if arguments.write is not None:
        arguments.write.mkdir(parents=True, exist_ok=True)
        for name, text in pages().items():
            (arguments.write / name).write_text(text, encoding="utf-8")
        return DONE
    if arguments.code is None:
        for rule in ALL:
            print(f"{rule.code}  {rule.name:28}  {rule.summary()}")
        return DONE
    wanted = rule_by_code(arguments.code)
    if wanted is None:
        known = ", ".join(rule.code for rule in ALL)
        print(f"tirx-lens: no rule {arguments.code}; there are {known}", file=sys.stderr)
        return FAILED
    print(page(wanted), end="")
    return DONE
