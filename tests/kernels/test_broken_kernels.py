"""TVM builds every broken kernel without a word; mended, it builds to what the correct one does."""

import sys
import tomllib
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

BROKEN = {
    path.name: tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))
    for path in sorted(KERNELS.glob("broken/*.py"))
}
MENDED = [name for name, expected in BROKEN.items() if expected["mended_by_fixes"]]


@pytest.fixture(scope="module")
def mended(tmp_path_factory):
    """Each broken kernel with its safe fixes applied, on disk, by its name."""
    folder = tmp_path_factory.mktemp("mended")
    files = {}
    for name in MENDED:
        source = read_source(KERNELS / "broken" / name)
        assert isinstance(source, SourceText)
        files[name] = folder / name
        files[name].write_text(apply_safe_fixes(source, analyse).text, "utf-8")
    return files


def content(build: Build) -> Landmarks:
    """Return the landmarks of a build, whatever the order of its inits."""
    found = landmarks(build.text())
    return replace(found, arrivals=tuple(sorted(found.arrivals)))


def test_tvm_builds_the_broken_and_the_mended(mended: dict[str, Path], builds_027, builds_broken):
    fixed = build_all(sys.executable, [Request(str(mended[name])) for name in MENDED])
    for build in builds_broken.values():
        assert build.text()
    for name, build in zip(MENDED, fixed, strict=True):
        assert content(build) == content(builds_027[BROKEN[name]["made_from"]]), name
