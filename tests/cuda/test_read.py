"""Generated CUDA as a kernel model: helpers by the PTX they wrap, operations with their threads."""

from __future__ import annotations

import pytest
from generated import HELPERS, kernel

from tirx_lens.cuda.helpers import Value
from tirx_lens.cuda.instructions import opcodes_of
from tirx_lens.cuda.read import CudaText, read_cuda
from tirx_lens.cuda.variables import Launch
from tirx_lens.model.kernel import Op
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.fold import compute
from tirx_lens.threads.describe import describe
from tirx_lens.threads.reach import reach


def read(body: str, threads: int = 256, launch: Launch | None = None) -> CudaText:
    return read_cuda(SourceText(kernel(body, threads)), launch)


def who_executes(text: CudaText) -> list[tuple[Op, str]]:
    (only,) = text.kernels
    assert not only.problems
    placed = reach(only, compute)
    assert placed is not None
    return [(r.operation.op, describe(r.participants, placed.shape)) for r in placed.reached]


def test_a_helper_has_the_ptx_it_wraps_and_what_it_does() -> None:
    helpers = read("").helpers
    assert helpers["init"].ptx == "mbarrier.init.shared.b64 [%0], %1;"
    assert [one.op for one in helpers["cta_sync"].instructions] == [Op.CTA_SYNC]
    assert [one.op for one in helpers["cluster_sync"].instructions] == [Op.CLUSTER_SYNC]
    assert [one.op for one in helpers["wait"].instructions] == [Op.BARRIER_WAIT]
    assert helpers["elect_one_op"].value is Value.ELECTED  # through the helper it calls
    assert helpers["thread_rank"].value is Value.THREAD_RANK


def test_the_preamble_ends_where_the_first_kernel_is_declared() -> None:
    text = read("cta_sync();")
    assert text.source.slice(text.preamble) == HELPERS


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("cta_sync();", [(Op.CTA_SYNC, "the whole CTA (256 of 256 threads)")]),
        (
            "if ((warp >> 2) == 1) { named_sync(1); }",
            [(Op.NAMED_BARRIER, "warpgroup 1 (128 of 256 threads)")],
        ),
        (
            "if (warp == 0 && elect_one_op()) { arm(pool[0], 64); }",
            [(Op.BARRIER_ARRIVE, "one elected lane of warp 0 of warpgroup 0 (1 of 256 threads)")],
        ),
        (
            "if (thread_rank() == 0) init(pool[0], 1); else return;\ncta_sync();",
            [
                (Op.MBARRIER_INIT, "thread 0 of the CTA (1 of 256 threads)"),
                (Op.CTA_SYNC, "thread 0 of the CTA (1 of 256 threads)"),
            ],
        ),
        (  # a `while` as TVM writes it, on a count that each role keeps for itself
            "alignas(64) int tile[1];\ntile[0] = ((int)blockIdx.x);\n"
            "while (1) { if (!((tile[0] < 256))) { break; } cta_sync(); tile[0] = tile[0] + 148; }",
            [(Op.CTA_SYNC, "the whole CTA (256 of 256 threads)")],
        ),
        (  # an array that holds a number of the thread's own is not uniform
            "alignas(64) int tile[1];\ntile[0] = lane;\n"
            "while (1) { if (!((tile[0] < 7))) { break; } cta_sync(); }",
            [(Op.CTA_SYNC, "some threads of the whole CTA")],
        ),
        (  # a name that changes is not what it was declared as
            "int n = 0;\nn = lane;\nif (n == 0) { cta_sync(); }",
            [(Op.CTA_SYNC, "some threads of the whole CTA")],
        ),
        (
            'if (lane < 1) { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }',
            [
                (
                    Op.FENCE_PROXY_ASYNC,
                    "lane 0 of warps 0-3 of every warpgroup (8 of 256 threads)",
                )
            ],
        ),
    ],
)
def test_operations_have_the_threads_that_execute_them(
    body: str, expected: list[tuple[Op, str]]
) -> None:
    assert who_executes(read(body)) == expected


def test_ctas_of_a_cluster_are_told_apart_when_the_launch_is_known() -> None:
    text = read("if (((int)cta_rank()) == 1) { cta_sync(); }", launch=Launch(128, 2))
    assert who_executes(text) == [(Op.CTA_SYNC, "CTA 1 (128 of 256 threads)")]


def test_a_block_of_several_dimensions_is_left_alone() -> None:
    text = read("cta_sync();", launch=Launch(256, flat=False))
    assert reach(text.kernels[0], compute) is None


def test_what_cannot_be_followed_is_a_problem_that_cuts() -> None:
    assert not read("again: cta_sync(); goto again;").kernels[0].is_whole


@pytest.mark.parametrize(
    "text",
    ["", "{", "}}}}", 'extern "C" __global__ void k(', "\x00\xff", "if (" * 3000, "{" * 3000],
)
def test_any_text_gives_a_model(text: str) -> None:
    read_cuda(SourceText(text))
    read_cuda(SourceText(kernel(text)))


@pytest.mark.parametrize(
    ("assembly", "expected"),
    [
        ("tcgen05.wait::ld.sync.aligned;", ("tcgen05.wait::ld.sync.aligned",)),
        ("{ .reg .pred p; setp.ne.b32 p, %8, 0; tcgen05.mma.cta_group::1.kind::f16 [%0]; }",
         ("setp.ne.b32", "tcgen05.mma.cta_group::1.kind::f16")),
        ("@%%px mov.s32 %0, 1;", ("mov.s32",)),
        ("LAB: bra.uni DONE;", ()),
    ],
)  # fmt: skip
def test_opcodes(assembly: str, expected: tuple[str, ...]) -> None:
    found = tuple(opcode for opcode in opcodes_of(assembly) if opcode != "bra.uni")
    assert found == expected
