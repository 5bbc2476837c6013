"""CTAs on one SM, as NVIDIA's `cuda_occupancy.h` (CUDA 13.5) counts, and TMEM, which it leaves out.

The rows are a sample of 4,000 random kernels on which both gave the same number.
"""

from __future__ import annotations

import pytest

from tirx_lens.cuda.occupancy import Demand, Limiter, occupancy, sm_of, waves


@pytest.mark.parametrize(
    ("arch", "registers", "threads", "smem", "ctas"),
    [
        ("sm_90a", 161, 1024, 0, 0),
        ("sm_100a", 46, 288, 199481, 1),
        ("sm_120a", 182, 256, 0, 1),
        ("sm_80", 140, 32, 234177, 0),
        ("sm_80", 246, 192, 0, 1),
        ("sm_120a", 142, 384, 61101, 1),
        ("sm_90a", 189, 128, 199477, 1),
        ("sm_100a", 253, 32, 0, 8),
        ("sm_90a", 177, 768, 225429, 0),
        ("sm_120a", 166, 32, 0, 12),
        ("sm_100a", 38, 288, 0, 5),
        ("sm_90a", 84, 64, 0, 10),
        ("sm_80", 159, 32, 0, 12),
        ("sm_120a", 53, 32, 0, 24),
    ],
)
def test_as_nvidia_counts(arch: str, registers: int, threads: int, smem: int, ctas: int) -> None:
    sm = sm_of(arch)
    assert sm is not None
    assert occupancy(Demand(threads, registers, smem), sm).ctas == ctas


def test_tmem_is_shared_by_the_ctas_of_an_sm() -> None:
    sm = sm_of("sm_100a")
    assert sm is not None
    found = occupancy(Demand(128, 32, 16 * 1024, tmem_columns=256), sm)
    assert (found.ctas, found.limiters) == (2, (Limiter.TMEM,))
    assert found.threads == 256 / 2048


def test_waves_of_a_grid() -> None:
    sm = sm_of("sm_100a")
    assert sm is not None
    assert waves(148 * 3, occupancy(Demand(1024, 32), sm), sm) == 1.5
    other = sm_of("sm_103a")
    assert other is not None
    assert waves(100, occupancy(Demand(1024, 32), other), other) is None  # GPUs of it differ


def test_what_is_not_known_has_no_sm() -> None:
    assert sm_of("sm_999") is None
    assert sm_of("gfx90a") is None
