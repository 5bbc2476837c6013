"""PTX, SASS and the resource report, from the real compiler and from what compilers print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tirx_lens.worker import toolchain
from tirx_lens.worker.gpu_code import CompilerError, GpuCode, compile_cuda, disassemble
from tirx_lens.worker.machine_code import (
    machine_code_of,
    ptx_lines,
    resource_reports,
    sass_lines,
)
from tirx_lens.worker.messages import ResourceReport

if TYPE_CHECKING:
    from pathlib import Path

CUDA = """\
__forceinline__ __device__ void fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__forceinline__ __device__ void twice() {
  fence();
}
extern "C" __global__ void __launch_bounds__(128) scale(float* A, float* B) {
  int i = (((int)blockIdx.x) * 128) + ((int)threadIdx.x);
  B[i] = A[i] * 3.0f;
  twice();
  if (i == 7) {
    B[0] = 1.0f;
  }
}
"""
INSIDE = range(7, 15)


@pytest.fixture(scope="module")
def tools() -> toolchain.Toolchain:
    return toolchain.find_toolchain()


@pytest.fixture(scope="module")
def code(tools: toolchain.Toolchain) -> GpuCode:
    return compile_cuda(CUDA, "sm_100a", tools)


def test_every_instruction_has_its_line_of_the_kernel(code: GpuCode, tools) -> None:
    lines = sass_lines(disassemble(code.cubin, tools), INSIDE)
    instructions = [line for line in lines if line.text.startswith("    ")]
    assert instructions
    assert all(line.cuda_line in INSIDE for line in instructions)
    by_line = {
        name: {line.cuda_line for line in instructions if name in line.text.split(maxsplit=1)[1]}
        for name in ("LDG", "FENCE", "EXIT")
    }
    assert by_line["LDG"] == {9}
    assert by_line["FENCE"] == {10}  # through two helpers: the line of the call in the kernel
    assert by_line["EXIT"]


def test_ptx_has_its_lines_and_no_directives(code: GpuCode) -> None:
    lines = ptx_lines(code.ptx, INSIDE)
    assert not any(line.text.lstrip().startswith((".loc", ".file")) for line in lines)
    found = {
        line.text.split()[0].rstrip(";"): line.cuda_line for line in lines if line.text.strip()
    }
    assert found["fence.proxy.async.shared::cta"] == 10
    assert found["ld.global.b32"] == 9
    assert found["ret"] == 14


def test_ptx_is_that_of_the_virtual_architecture(code: GpuCode, tools) -> None:
    assert ".target sm_100a" in code.ptx
    virtual = compile_cuda(CUDA, "compute_100a", tools)
    assert virtual.ptx == code.ptx
    assert not virtual.cubin


def test_the_assembler_reports_on_the_kernel(code: GpuCode) -> None:
    (report,) = resource_reports(code.log)
    assert report.kernel == "scale"
    assert 4 <= report.registers <= 40
    assert (report.spill_store_bytes, report.spill_load_bytes) == (0, 0)
    assert code.compiler.startswith(("NVRTC ", "nvcc "))


def test_reports_of_several_kernels_are_told_apart() -> None:
    log = (
        "ptxas info    : 3746 bytes gmem\n"
        "ptxas info    : Compiling entry function 'first' for 'sm_100a'\n"
        "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers\n"
        "ptxas info    : Compiling entry function 'gemm' for 'sm_100a'\n"
        "ptxas info    : Function properties for gemm\n"
        "    24 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 3 barriers, 1024 bytes smem, 360 bytes cmem[0]\n"
    )
    assert resource_reports(log) == (
        ResourceReport("first", 10, stack_bytes=8),
        ResourceReport("gemm", 255, 24, 16, 12, 3, 1024),
    )


def test_all_that_is_known_of_a_text_comes_together() -> None:
    made = machine_code_of(CUDA, "sm_100a")
    assert made.problem is None
    assert [report.kernel for report in made.reports] == ["scale"]
    assert {line.cuda_line for line in made.sass if line.cuda_line} <= set(INSIDE)
    assert made.ptx


def test_what_the_compiler_says_is_passed_on() -> None:
    made = machine_code_of(CUDA.replace("twice();\n  if", "thrice();\n  if"), "sm_100a")
    assert made.problem is not None
    assert "thrice" in made.problem
    assert not made.sass


def test_what_the_assembler_refuses_is_passed_on_and_not_that_it_gave_up() -> None:
    """A load of 64 columns wants more registers than a block of 1024 threads leaves each."""
    places = ", ".join(f"%{number}" for number in range(64))
    filled = ", ".join(f'"=f"(row[{number}])' for number in range(64))
    made = machine_code_of(
        'extern "C" __global__ void __launch_bounds__(1024) load(float* out) {\n'
        "  float row[64];\n"
        f'  asm volatile("tcgen05.ld.sync.aligned.32x32b.x64.b32 {{{places}}}, [%64];"\n'
        f'               : {filled} : "r"(0));\n'
        "  out[threadIdx.x] = row[63];\n"
        "}\n",
        "sm_100a",
    )
    assert made.problem is not None
    assert "registers" in made.problem
    assert not made.sass


def test_cuda_that_does_not_compile_says_so(tools: toolchain.Toolchain) -> None:
    with pytest.raises(CompilerError, match=r"kernel\.cu.*undefined"):
        compile_cuda('extern "C" __global__ void k() {\n  nothing();\n}\n', "sm_100a", tools)


def test_an_environment_without_a_compiler_says_what_to_install(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(toolchain.sys, "path", [str(tmp_path)])
    monkeypatch.setattr(toolchain, "_HOMES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    with pytest.raises(toolchain.NoToolchainError, match="pip install nvidia-cuda-nvrtc"):
        toolchain.find_toolchain()


def test_headers_of_two_toolkits_are_not_mixed(monkeypatch, tmp_path) -> None:
    for name in ("one", "two"):
        for file in ("lib/libnvrtc.so.13", "bin/nvdisasm", "include/cuda_fp16.h", "include/cccl/x"):
            path = tmp_path / "nvidia" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
            path.chmod(0o755)
    monkeypatch.setattr(toolchain.sys, "path", [str(tmp_path)])
    found = toolchain.find_toolchain()
    assert found.nvrtc == str(tmp_path / "nvidia/one/lib/libnvrtc.so.13")
    assert {path.split("/include")[0] for path in found.include} == {str(tmp_path / "nvidia/one")}


def test_files_that_are_needed_meanwhile_are_made_where_builds_work(tmp_path: Path) -> None:
    """There, they are removed with the rest when a build is killed."""
    program = tmp_path / "program"
    program.write_text(
        '#!/bin/sh\necho "$TMPDIR" >&2\nfor last; do :; done\necho "$last"\n'
        'case "$last" in /*) : > "$last" ;; esac\n'
    )
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    tools = toolchain.Toolchain(None, str(program), str(program), ())
    assert disassemble(b"", tools, str(work)).startswith(f"{work}/")
    made = compile_cuda("", "sm_100a", tools, str(work))
    assert made.log.startswith(f"{work}/")
    assert list(work.iterdir()) == []
    work.rmdir()
    found = machine_code_of("", "sm_100a", str(work))
    assert found.problem is not None
    assert found.problem.startswith("Builds cannot write in ")
