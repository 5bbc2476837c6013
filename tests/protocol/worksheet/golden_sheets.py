"""The worksheets that are kept as files: `python tests/protocol/worksheet/golden_sheets.py` writes.

Read every difference before it is kept: the files say what a person has found to be true.
"""

from __future__ import annotations

from pathlib import Path

from tirx_lens.files import read_source
from tirx_lens.protocol.worksheet.read import worksheet
from tirx_lens.report.worksheet import as_markdown
from tirx_lens.report.worksheet_places import Sheets

ROOT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent / "golden"
KERNELS = (
    "kernels/tma_ring_copy.py",
    "kernels/gemm_step2_k_loop.py",
    "kernels/gemm_step7_warp_specialized.py",
    "kernels/gemm_step9_two_consumers.py",
    "kernels/v0_26/tma_ring_copy.py",
    "tests/corpus/shapes/attention_handoffs.py",
    "tests/corpus/shapes/mbarrier_words.py",
)


def sheet_text(kernel: str) -> str:
    """Return the worksheet of a file of this repository, with links from its root."""
    return as_markdown(Sheets(Path(kernel), worksheet(read_source(ROOT / kernel))))


def golden_file(kernel: str) -> Path:
    """Return where the worksheet of a file is kept."""
    return FOLDER / (kernel.replace("/", "--").removesuffix(".py") + ".md")


def main() -> None:
    """Write all of them."""
    for kernel in KERNELS:
        golden_file(kernel).write_text(sheet_text(kernel), "utf-8")


if __name__ == "__main__":
    main()
