"""What is found in the generated CUDA is what the static rules find in the source, and no more."""

from __future__ import annotations

import pytest
from building import KERNELS, Build

from tirx_lens.analysis import Selection, analyse
from tirx_lens.cuda.checks import check_cuda
from tirx_lens.cuda.read import CudaText, read_cuda
from tirx_lens.files import read_source
from tirx_lens.model.kernel import Op
from tirx_lens.model.source import SourceText

pytestmark = pytest.mark.tvm

SHARED = Selection(("TX101", "TX102", "TX106", "TX202"))


def in_source(file: str) -> set[tuple[str, str]]:
    source = read_source(KERNELS / file)
    assert isinstance(source, SourceText)
    return {(found.code, found.severity.value) for found in analyse(source, SHARED).findings}


def in_cuda(build: Build) -> tuple[CudaText, set[tuple[str, str]]]:
    text = read_cuda(SourceText(build.text()))
    assert text.kernels
    assert all(kernel.is_whole for kernel in text.kernels)
    return text, {(found.code, found.severity.value) for found in check_cuda(text)}


def test_correct_kernels_have_clean_cuda(builds_027: dict[str, Build], builds_026) -> None:
    for build in (*builds_027.values(), *builds_026.values()):
        text, found = in_cuda(build)
        assert not found
        ops = {item.op for helper in text.helpers.values() for item in helper.instructions}
        assert Op.OTHER not in ops


def test_broken_kernels_have_the_same_findings_in_both(builds_broken: dict[str, Build]) -> None:
    differences = {}
    for name, build in builds_broken.items():
        source, (_, cuda) = in_source(f"broken/{name}"), in_cuda(build)
        if source != cuda:
            differences[name] = (source, cuda)
    assert not differences
    both = set().union(*(in_source(f"broken/{name}") for name in builds_broken))
    assert {code for code, _ in both} == set(SHARED.select)  # each check is put to the proof
