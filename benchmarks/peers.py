"""What TIRx Lens finds of the mistakes that the closest checkers were tried on.

A step-7 GEMM (`kernels/gemm_step7_warp_specialized.py`, M = N = K = 256 on two CTAs, so two tiles
each) and one mistake at a time: `peers_rows.py`. The columns of the peers are recorded; ours are
computed: the findings of the rules, and how the handoffs end when they are run, with the lines.
Prints a Markdown table, or writes it into `README.md`; exits with 1 where a mistake is found by
neither, or the correct kernel is blamed.

`python benchmarks/peers.py [--write]`
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from peers_rows import ROWS, Row

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.protocol.simulated import is_bad, simulated
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.protocol.history import History

KERNEL = Path(__file__).parents[1] / "kernels" / "gemm_step7_warp_specialized.py"
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- peers -->\n", "<!-- end of peers -->\n"
SMALL = (("M=2048 N=2048 K=512", "M=256 N=256 K=256"), ("NUM_CTAS = 148", "NUM_CTAS = 2"))
MOST_LINES = 3


@dataclass(frozen=True)
class Found:
    """What we say of a mistake, and where it is: all lines are those of the changed text."""

    changed: str
    rules: str
    run: str

    @property
    def is_found(self) -> bool:
        return bool(self.rules) or bool(self.run)


def small() -> str:
    """Return the correct kernel as the peers were given it."""
    text = KERNEL.read_text("utf-8")
    for old, new in SMALL:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def look(row: Row) -> Found:
    """Check a kernel with a mistake in it, and run its handoffs."""
    text = small()
    source = SourceText(row.made_in(text))
    said: dict[str, list[str]] = {}
    for one in analyse(source).findings:
        line = str(source.line_of(one.span.start) + 1)
        said.setdefault(f"{one.code} {one.severity.value}", []).append(line)
    rules = "; ".join(f"{code}, {_lines(lines)}" for code, lines in said.items())
    return Found(_changed(text, source.text), rules, _run(source))


def _lines(lines: list[str], divided: str = ", ") -> str:
    unlike = list(dict.fromkeys(lines))
    return f"line{'s' if len(unlike) > 1 else ''} {divided.join(unlike)}"


def _changed(before: str, after: str) -> str:
    """Return the lines that differ, those of a block as one range."""
    pairs = zip(before.split("\n"), after.split("\n"), strict=True)
    lines = [number for number, (one, other) in enumerate(pairs, 1) if one != other]
    if len(lines) > MOST_LINES:
        return f"{lines[0]}-{lines[-1]}"
    return ", ".join(map(str, lines)) or "-"


def _run(source: SourceText) -> str:
    (kernel,) = read_kernels(source).kernels
    run = simulated(KernelView(source, kernel, reach(kernel, compute)))
    if run.history is None or not is_bad(run.history):
        return ""
    return _ending(source, run.history)


def _ending(source: SourceText, history: History) -> str:
    """Say where roles wait for ever, or which two accesses race."""
    if history.blocked:
        stops = {source.line_of(one.step.at.start) + 1 for one in history.blocked}
        return "stops, " + _lines([str(line) for line in sorted(stops)])
    race = history.races[0]
    both = (number for number in (race.first, race.second) if number is not None)
    places = [str(source.line_of(history.events[n].step.at.start) + 1) for n in both]
    return "race, " + _lines(places, " and ")


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| mistake | line | synccheck | racecheck | rules of TIRx Lens | its run |"
    yield "|---|---|---|---|---|---|"
    for row in ROWS:
        one = look(row)
        cells = (row.what, one.changed, row.synccheck, row.racecheck, one.rules, one.run)
        yield "| " + " | ".join(cell or "-" for cell in cells) + " |"


def wrong() -> list[str]:
    """Return the mistakes that nothing finds, and the correct kernel where it is blamed."""
    return [row.what for row in ROWS if look(row).is_found != bool(row.changes)]


def main() -> None:
    """Print the table, or write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write it into README.md")
    lines = "\n".join(table()) + "\n"
    if parser.parse_args().write:
        before, _, rest = README.read_text("utf-8").partition(BEGIN)
        README.write_text(f"{before}{BEGIN}\n{lines}\n{END}{rest.partition(END)[2]}", "utf-8")
    else:
        print(lines, end="")
    if unlike := wrong():
        sys.exit("not found, or blamed without reason: " + ", ".join(unlike))


if __name__ == "__main__":
    main()
