"""TVM builds every broken kernel without a word; mended, it builds to what the correct one does."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from building import KERNELS, Build, Request, build_all
from cuda_text import Landmarks, landmarks

from tirx_lens.analysis import analyse
from tirx_lens.files import read_source
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.model.source import SourceText

pytestmark = pytest.mark.tvm

MADE_FROM = {
    "tx101_barrier_init_unreachable.py": "tma_ring_copy.py",
    "tx102_cta_sync_divergent.py": "gemm_step7_warp_specialized.py",
    "tx201_alloc_after_commit.py": "gemm_step7_warp_specialized.py",
}


@pytest.fixture(scope="module")
def mended(tmp_path_factory):
    """Each broken kernel with its safe fixes applied, on disk, by its name."""
    folder = tmp_path_factory.mktemp("mended")
    files = {}
    for name in MADE_FROM:
        source = read_source(KERNELS / "broken" / name)
        assert isinstance(source, SourceText)
        files[name] = folder / name
        files[name].write_text(apply_safe_fixes(source, analyse).text, "utf-8")
    return files


def test_every_broken_kernel_has_its_origin():
    assert {path.name for path in KERNELS.glob("broken/*.py")} == set(MADE_FROM)


def content(build: Build) -> Landmarks:
    """Return the landmarks of a build, whatever the order of its inits."""
    found = landmarks(build.text())
    return replace(found, arrivals=tuple(sorted(found.arrivals)))


def test_tvm_builds_the_broken_and_the_mended(mended: dict[str, Path], builds_027):
    broken = build_all(sys.executable, [Request(f"broken/{name}") for name in MADE_FROM])
    fixed = build_all(sys.executable, [Request(str(mended[name])) for name in MADE_FROM])
    for build in broken:
        assert build.text()
    for name, build in zip(MADE_FROM, fixed, strict=True):
        assert content(build) == content(builds_027[MADE_FROM[name]]), name
