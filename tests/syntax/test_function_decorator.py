"""Kernels of `tvm_tirx`, which calls its decorator `T.function`: what is read, and what is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.files import Unreadable, find_files, read_source
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.read import read_kernels

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(
    os.environ.get("TIRX_LENS_TVM_TIRX_PYTHON", ROOT / ".venv-tvm-tirx" / "bin" / "python")
)

RING = """\
from tvm_tirx.backend.cuda.lang.alloc_pool import SMEMPool
from tvm_tirx.backend.cuda.lang.pipeline import MBarrier, PipelineState
from tvm_tirx.script import tirx as T


def build(N=4):
    @T.function
    def ring(A: T.Tensor((128,), "float32")):
        with T.device_entry():
            pool = SMEMPool()
            full = MBarrier(pool, 2)
            empty = MBarrier(pool, 2)
            pool.commit()
            full.init(1)
            empty.init(128)
            T.ptx.fence.mbarrier_init.release.cluster()
            T.cuda.cta_sync()
            if T.cuda.warpgroup_id() == 0:
                if T.cuda.warp_id() == 0:
                    if T.cuda.elect_sync():
                        s = PipelineState(2, 1)
                        for k in T.serial(N):
                            empty.wait(s.stage, s.phase)
                            full.arrive(s.stage)
                            s.advance()
            else:
                r = PipelineState(2, 0)
                for k in T.serial(N):
                    full.wait(r.stage, r.phase)
                    A[k] = T.float32(1)
                    empty.arrive(r.stage)
                    r.advance()
            T.cuda.cta_sync()

    return ring


@T.function(private=True)
def helper(A: T.Tensor((128,), "float32")):
    A[0] = T.float32(1)
"""


def found(text: str) -> list[tuple[str, str]]:
    analysis = analyse(SourceText(text))
    assert analysis.failures == ()
    return [(one.code, one.message) for one in analysis.findings]


def test_a_kernel_is_read_and_a_private_function_is_none() -> None:
    kernels = read_kernels(SourceText(RING)).kernels
    assert [(one.name, one.builder) for one in kernels] == [("ring", "build")]
    (kernel,) = kernels
    assert "tvm_tirx.script.tirx.cuda.cta_sync" in {call.name for call in kernel.calls}


@pytest.mark.parametrize("module", ["tvm.script", "mylib.script"])
def test_another_function_is_none(module: str) -> None:
    text = RING.replace("from tvm_tirx.script import", f"from {module} import")
    assert read_kernels(SourceText(text)).kernels == ()
    assert read_kernels(SourceText("import tvm_tirx\n" + text)).kernels == ()


def test_what_is_right_is_silent_and_a_wrong_name_is_said() -> None:
    assert found(RING) == []
    (one,) = found(RING.replace("T.cuda.elect_sync()", "T.cuda.elect_sink()"))
    assert one[0] == "TX501"
    assert "`elect_sync`" in one[1]


def test_names_that_the_package_has_elsewhere_get_no_meaning_of_their_own() -> None:
    """A release of TVM has `T.warpgroup_id`, and this package has it at another place."""
    guarded = """\
from tvm_tirx.script import tirx as T


@T.function
def kernel(A: T.Tensor((256,), "float32")):
    with T.device_entry():
        if T.cuda.warpgroup_id() == 0:
            T.cuda.warpgroup_sync(1)
        if T.cuda.thread_idx() == 0:
            A[0] = T.float32(2)
        T.cuda.cta_sync()
"""
    assert found(guarded) == []


@pytest.mark.tvm
def test_nothing_is_said_of_the_package_itself() -> None:
    """Its own sources are right: whatever is found in them is a false alarm."""
    (package,) = PYTHON.parents[1].glob("lib/python3*/site-packages/tvm_tirx")
    read = 0
    for path in find_files([package], respect_gitignore=False):
        assert isinstance(path, Path)
        source = read_source(path)
        assert not isinstance(source, Unreadable)
        read += 1
        assert analyse(source).findings == (), path
    assert read > 100
