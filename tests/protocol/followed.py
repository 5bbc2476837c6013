"""The correct kernels whose runs are held: which cannot be followed, and which not to every end.

`python -m tests.protocol.followed` writes the golden file.
"""

from __future__ import annotations

from pathlib import Path

import tomllib
from tests.protocol.endings import End, Ending, endings

from tirx_lens.files import read_source
from tirx_lens.model.source import SourceText

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).with_name("unfollowed.toml")
EXAMPLES = sorted([*ROOT.glob("kernels/*.py"), *ROOT.glob("kernels/v0_26/*.py")])
CORRECT = sorted(
    [
        *EXAMPLES,
        *ROOT.glob("tests/corpus/shapes/*.py"),
        *ROOT.glob("tests/corpus/shapes/v0_26/*.py"),
        *ROOT.glob("tests/rules/quiet/*.py"),
    ]
)


def named(path: Path) -> str:
    """Return what a file is called in the golden file."""
    return path.relative_to(ROOT).as_posix()


def endings_of(path: Path) -> list[Ending]:
    """Run the kernels of a file."""
    source = read_source(path)
    assert isinstance(source, SourceText), path
    return endings(source)


def left_open(ran: list[Ending]) -> list[str]:
    """Say of which kernels of a file a run does not tell everything, and why."""
    return [_why(number, one) for number, one in enumerate(ran) if not one.is_complete]


def golden() -> dict[str, list[str]]:
    """Return what is left open in each file, as it was written down."""
    return tomllib.loads(GOLDEN.read_text("utf-8"))


def _why(number: int, one: Ending) -> str:
    kernel = f"{one.kernel} ({number + 1})"
    if one.end is not End.UNFOLLOWED:
        return f"{kernel}: not all orders are run"
    place = f"line {one.lines[0]}: " if one.lines else ""
    return f"{kernel}: {place}{one.reason}"


def _write() -> None:
    lines = ["# What a run leaves open in correct kernels: `python -m tests.protocol.followed`."]
    for path in CORRECT:
        if reasons := left_open(endings_of(path)):
            lines += [f'"{named(path)}" = [', *(f'    "{reason}",' for reason in reasons), "]"]
    GOLDEN.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    _write()
