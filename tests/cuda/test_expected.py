"""Operations that asked for TMA or tcgen05, held against the CUDA of their lines."""

from __future__ import annotations

import pytest
from generated import kernel

from tirx_lens.cuda.expected import check_paths
from tirx_lens.cuda.read import read_cuda
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.read import read_kernels
from tirx_lens.worker.messages import Frame, MapEntry, Via

FILE = "/w/kernel.py"
SOURCE = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import TMABar


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    cta = T.cta_id([1])
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    full = TMABar(pool, 1)
    As = pool.alloc((64,), "float16")
    pool.commit()
    {operation}
"""
LINE = 15
COPY = 'Tx.copy_async(As[:], A[0:64], dispatch="tma_auto", mbar=full.ptr_to([0]))'
GEMM = 'Tx.gemm_async(As, As, As, dispatch="tcgen05")'


def found(operation: str, cuda: str, *, line: int = LINE) -> list[tuple[str, str]]:
    """Say what is found where the only line of the CUDA came from a line of the source."""
    source, text = SourceText(SOURCE.format(operation=operation)), SourceText(kernel(cuda))
    number = next(n for n, row in enumerate(text.text.split("\n"), 1) if row.strip() == cuda)
    entries = (MapEntry(number, (Frame(FILE, line, line),), Via.STATEMENT),)
    findings = check_paths(read_kernels(source).kernels, source, FILE, entries, read_cuda(text))
    return [(finding.code, source.slice(finding.span)) for finding in findings]


@pytest.mark.parametrize(
    ("operation", "cuda", "expected"),
    [
        (COPY, "load(0, A, 0, pool[0]);", []),
        (COPY, "A[0] = 1.0f;", [("TX401", COPY)]),
        (COPY.replace("tma_auto", "ldgsts"), "A[0] = 1.0f;", []),
        (GEMM, "A[0] = 1.0f;", [("TX402", GEMM)]),
    ],
)
def test_what_asked_for_a_path_and_got_none(operation: str, cuda: str, expected: object) -> None:
    assert found(operation, cuda) == expected


def test_an_operation_without_lines_of_its_own_is_left_alone() -> None:
    assert found(COPY, "A[0] = 1.0f;", line=3) == []
