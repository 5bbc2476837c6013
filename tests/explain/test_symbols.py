"""The outline: roles by their threads, barriers, storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_lens.explain.reading import read
from tirx_lens.explain.symbols import symbol_of
from tirx_lens.model.source import SourceText

from .asking import HEAD, RING

KERNELS = Path(__file__).parents[2] / "kernels"
SEVEN = [
    "kernel kernel (256 threads): kernel",
    "  storage pool (SMEM pool, 148480 bytes): pool",
    "  storage tmem_addr (SMEM, 4 bytes, at 0): tmem_addr",
    "  barrier full (TMA barrier, 4 slots, 1 arrival): full",
    "  barrier empty (tcgen05 barrier, 4 slots, 1 arrival): empty",
    "  barrier acc_full (tcgen05 barrier, 1 slot, 1 arrival): acc_full",
    "  barrier acc_empty (mbarrier, 1 slot, 128 arrivals): acc_empty",
    "  storage As (SMEM, 65536 bytes, at 1024): As",
    "  storage Bs (SMEM, 65536 bytes, at 66560): Bs",
    "  storage Ds (SMEM, 16384 bytes, at 132096): Ds",
    "  role warp 0 of warpgroup 0 (tcgen05.alloc): warp_id == 0",
    "  storage acc (TMEM, 128 columns): acc",
    "  role one elected lane of warp 3 of warpgroup 1 (waits for empty, signals full): "
    "T.cuda.elect_sync()",
    "  role one elected lane of warp 0 of warpgroup 1 (waits for acc_empty, waits for full, "
    "signals empty, signals acc_full): T.cuda.elect_sync()",
    "  role warpgroup 0 (waits for acc_full, signals acc_empty): wg_id == 0",
    "    role one elected lane of warp 0 of warpgroup 0 (asynchronous tile copy, "
    "commit of a bulk group): T.cuda.elect_sync()",
    "  role warp 0 of warpgroup 0 (tcgen05.dealloc): warp_id == 0",
]
ROLES = """\
    @T.inline
    def produce():
        if T.cuda.elect_sync():
            T.cuda.warp_sync()

    if wg_id == 1:
        produce()
    else:
        T.cuda.warpgroup_sync(1)
    if A[0] > 1:
        T.cuda.cta_sync()
    if wg_id == 7:
        T.cuda.cta_sync()
"""


def told(text: str) -> list[str]:
    """Write the outline of the kernels of a text."""
    reading = read(SourceText(text))

    def lines(symbol, depth: int):
        word = reading.source.slice(symbol.word)
        detail = f" ({symbol.detail})" if symbol.detail else ""
        yield f"{'  ' * depth}{symbol.kind.value} {symbol.name}{detail}: {word}".rstrip()
        assert symbol.span.contains(symbol.word)
        for child in symbol.children:
            assert depth or symbol.span.contains(child.span)
            yield from lines(child, depth + 1)

    return [line for view in reading.views for line in lines(symbol_of(view), 0)]


@pytest.mark.parametrize("folder", ["", "v0_26/"])
def test_the_example_kernels(folder: str) -> None:
    text = (KERNELS / f"{folder}gemm_step7_warp_specialized.py").read_text("utf-8")
    elect = "T.ptx.elect_sync()" if folder else "T.cuda.elect_sync()"
    assert told(text) == [line.replace("T.cuda.elect_sync()", elect) for line in SEVEN]


def test_roles() -> None:
    assert told(HEAD + ROLES) == [
        "kernel kernel (256 threads): kernel",
        "  role warpgroup 1: wg_id == 1",
        "  role warpgroup 0:",
    ]


def test_two_kernels() -> None:
    text = HEAD + RING + HEAD.replace("def kernel", "def other")[HEAD.index("@") :]
    assert [line for line in told(text) if line.startswith("kernel")] == [
        "kernel kernel (256 threads): kernel",
        "kernel other (256 threads): other",
    ]
