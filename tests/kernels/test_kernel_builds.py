"""Every kernel builds on its TVM, and its CUDA holds what its docstring promises."""

import sys

import pytest
from building import KERNELS, Request, build_all
from cuda_text import Landmarks, freed_columns, kernel_body, landmarks

from tirx_lens.worker.machine_code import machine_code_of

pytestmark = pytest.mark.tvm

STEP7 = Landmarks((1,) * 9 + (128,), (32768,), 2, 2, 4, 2, (128,))
RING = Landmarks((1,) * 4 + (128,) * 4, (16384,), loads=1, stores=1)
EXPECTED = {
    "tma_ring_copy.py": RING,
    "gemm_step1_one_cta.py": Landmarks((1,), (), 0, 0, 4, 1, (128,)),
    "gemm_step2_k_loop.py": Landmarks((1,), (), 0, 0, 4, 1, (128,)),
    "gemm_step3_tiles.py": Landmarks((1,), (), 0, 0, 4, 1, (128,)),
    "gemm_step4_tma.py": Landmarks((1,) * 3, (32768,), 2, 2, 4, 2, (128,)),
    # Loads and MMAs stand twice: fill and steady state, steady state and drain.
    "gemm_step5_ring.py": Landmarks((1,) * 9, (32768,) * 2, 4, 2, 8, 3, (128,)),
    "gemm_step6_persistent.py": Landmarks((1,) * 9, (32768,) * 2, 4, 2, 8, 3, (128,)),
    "gemm_step7_warp_specialized.py": STEP7,
    # One CTA of the pair arms for both: 2 × 32 KiB, and 2 × 48 KiB with two blocks of A.
    "gemm_step8_cluster.py": Landmarks((1,) * 9 + (256,), (65536,), 2, 4, 4, 2, (256,)),
    "gemm_step9_two_consumers.py": Landmarks(
        (1,) * 4 + (2,) * 4 + (1,) * 2 + (256,) * 2, (98304,), 3, 4, 4, 2, (512,)
    ),
    # Eight MMAs along HEAD make scores, eight along the rows of V the output.
    "flash_attention.py": Landmarks(
        (1,) * 14 + (128,) * 2 + (1,) * 2 + (128, 128, 1, 128) + (1,) * 2 + (128,) * 4,
        (32768,) * 3,
        3,
        2,
        16,
        7,
        (512,),
    ),
}
EXPECTED_026 = {"tma_ring_copy.py": RING, "gemm_step7_warp_specialized.py": STEP7}


def test_every_kernel_has_an_expectation():
    assert {path.name for path in KERNELS.glob("*.py")} == set(EXPECTED)
    assert {path.name for path in KERNELS.glob("v0_26/*.py")} == set(EXPECTED_026)


@pytest.mark.parametrize("name", EXPECTED)
def test_builds_on_027(name, builds_027):
    cuda = builds_027[name].text()
    assert landmarks(cuda) == EXPECTED[name]
    assert freed_columns(cuda) == EXPECTED[name].tmem_columns


@pytest.mark.parametrize("name", EXPECTED_026)
def test_builds_on_026(name, builds_026):
    cuda = builds_026[name].text()
    assert landmarks(cuda) == EXPECTED_026[name]
    assert freed_columns(cuda) == EXPECTED_026[name].tmem_columns


def test_a_026_kernel_does_not_build_on_027():
    build = build_all(sys.executable, [Request("v0_26/tma_ring_copy.py")])[0]
    assert "elect_sync" in build.error or "mbarrier_init" in build.error


def test_the_ring_builds_for_hopper_without_a_tensor_core():
    cuda = build_all(sys.executable, [Request("tma_ring_copy.py", arch="sm_90a")])[0].text()
    assert landmarks(cuda) == RING
    assert "tcgen05" not in cuda


@pytest.mark.parametrize("name", [name for name in EXPECTED if EXPECTED[name].tmem_columns])
def test_tmem_is_allocated_and_freed_by_the_same_single_warp(name, builds_027):
    lines = [line.strip() for line in kernel_body(builds_027[name].text()).splitlines()]
    sites = [i for i, line in enumerate(lines) if "tcgen05_alloc" in line or "dealloc(" in line]
    sites += [i for i, line in enumerate(lines) if "tcgen05_relinquish" in line]
    assert len(sites) == 2
    for site in sites:
        assert lines[site - 1] == "if (warp_id_in_cta == 0) {"
        assert lines[site - 2] == "if ((warp_id_in_cta >> 2) == 0) {"


def test_only_the_cluster_kernels_pair_their_ctas(builds_027):
    paired = {
        name
        for name, build in builds_027.items()
        if "cta_group__2" in kernel_body(build.text())
        and kernel_body(build.text()).count("tvm_builtin_cuda_cluster_sync();") == 2
    }
    assert paired == {"gemm_step8_cluster.py", "gemm_step9_two_consumers.py"}


def test_shapes_below_at_and_off_the_ring_depth():
    """K tiles fewer than, equal to and not a multiple of the four stages."""
    requests = [
        Request(name, args={"M": 512, "N": 512, "K": tiles * 64})
        for name in ("gemm_step5_ring.py", "gemm_step7_warp_specialized.py")
        for tiles in (1, 3, 4, 5)
    ]
    for build in build_all(sys.executable, requests):
        assert landmarks(build.text()).mmas >= 4


def test_attention_to_few_blocks_and_to_many():
    """One block of K and V needs no correction; two fill the rings, more go round."""
    requests = [
        Request("flash_attention.py", args={"HEADS": 1, "SEQ_Q": rows, "SEQ_KV": blocks * 128})
        for rows, blocks in ((128, 1), (256, 2), (128, 3), (4096, 9))
    ]
    for build in build_all(sys.executable, requests):
        assert landmarks(build.text()).mmas == 16


def test_attention_keeps_its_scores_in_registers(builds_027):
    """Nothing spills: the warpgroups give each other as many registers as each needs."""
    made = machine_code_of(builds_027["flash_attention.py"].text(), "sm_100a")
    assert not made.problem
    (report,) = made.reports
    assert (report.spill_store_bytes, report.spill_load_bytes) == (0, 0)


def test_one_tile_kernels_refuse_other_shapes():
    requests = [
        Request("gemm_step1_one_cta.py", args={"M": 256}),
        Request("gemm_step2_k_loop.py", args={"N": 256}),
    ]
    for build in build_all(sys.executable, requests):
        assert "ValueError: one tile is 128 x 128" in build.error
