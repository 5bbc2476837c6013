"""`python -m tests.hardware` writes the table into the README."""

from __future__ import annotations

from pathlib import Path

from tests.hardware.mistakes import table

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- what the hardware did -->\n", "<!-- end -->\n"

if __name__ == "__main__":
    text = README.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(before + BEGIN + "\n" + table() + "\n" + END + after, "utf-8")
