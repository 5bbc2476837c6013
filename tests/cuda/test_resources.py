"""What a kernel takes of its GPU, and its spills at the lines that own them."""

from __future__ import annotations

from tirx_lens.cuda.resources import resources_of
from tirx_lens.cuda.spills import spill_findings
from tirx_lens.model.source import SourceText
from tirx_lens.worker.messages import (
    CodeLine,
    KernelResult,
    Launch,
    MachineCode,
    ResourceReport,
    Resources,
)

CUDA = 'extern "C" __global__ void k(float* A) {\n  float x = A[0];\n  A[1] = x;\n}\n'
LAUNCH = Launch((148, 1, 1), (256, 1, 1), (1, 1, 1))
TAKEN = Resources(dynamic_smem_bytes=148_480, tmem_columns=128)


def kernel(machine: MachineCode | None, launch: Launch | None = LAUNCH) -> KernelResult:
    return KernelResult(
        "k", "gemm", {}, CUDA, "0.27.0", "sm_100a", launch=launch, resources=TAKEN, machine=machine
    )


def facts(machine: MachineCode | None, launch: Launch | None = LAUNCH) -> dict[str, str]:
    return {fact.name: fact.value for fact in resources_of(kernel(machine, launch)).facts}


def test_all_that_a_build_and_a_compiler_say() -> None:
    made = MachineCode("NVRTC 13.5", reports=(ResourceReport("k_kernel", 82, barriers=2),))
    assert facts(made) == {
        "registers per thread": "82 of 255",
        "spills per thread": "none",
        "named barriers": "2 of 16",
        "dynamic SMEM": "148,480 of 232,448 B",
        "TMEM columns": "128 of 512",
        "grid": "148 × 1 × 1",
        "block": "256 × 1 × 1",
        "cluster": "1 × 1 × 1",
        "CTAs per SM": "1",
        "occupancy": "12%",
        "waves": "1.00",
    }
    resources = resources_of(kernel(made))
    assert resources.summary == "82 regs · 145 KiB · 128 cols · 1 CTA/SM"
    assert len(resources.summary) <= 43  # VS Code cuts a hint off there
    assert all("NVRTC 13.5" in f.note for f in resources.facts if f.name.startswith("registers"))


def test_what_only_a_compiler_knows_is_left_out_without_one() -> None:
    assert set(facts(None)) == {"dynamic SMEM", "TMEM columns", "grid", "block", "cluster"}
    assert resources_of(kernel(None)).summary == "145 KiB · 128 cols"


def test_a_launch_that_depends_on_an_argument_has_no_waves() -> None:
    made = MachineCode("NVRTC 13.5", reports=(ResourceReport("k", 82),))
    known = facts(made, Launch((None, 1, 1), (256, 1, 1), (1, 1, 1)))
    assert known["grid"] == "? × 1 × 1"
    assert "waves" not in known
    assert known["CTAs per SM"] == "1"
    assert "CTAs per SM" not in facts(made, Launch((8,), (None,), (1,)))


def spilling(report: ResourceReport) -> MachineCode:
    sass = (
        CodeLine("    0010  LDG.E R0, [R2]", 2),
        CodeLine("    0020  STL [R1], R0", 2),
        CodeLine("    0030  STL.64 [R1+0x8], R4", 2),
        CodeLine("    0040  LDL R0, [R1]", 3),
        CodeLine("    0050  EXIT", 4),
    )
    return MachineCode("NVRTC 13.5", sass=sass, reports=(report,))


def test_spills_stand_at_the_lines_that_own_them() -> None:
    source = SourceText(CUDA)
    report = ResourceReport("k", 255, spill_store_bytes=12, spill_load_bytes=4)
    first, second = spill_findings(spilling(report), source)
    assert (first.code, source.slice(first.span)) == ("TX404", "float x = A[0];")
    assert "12 B stored, 4 B loaded" in first.message
    assert "2 of its 3 instructions" in first.message
    assert source.slice(second.span) == "A[1] = x;"


def test_local_arrays_are_no_spills() -> None:
    assert spill_findings(spilling(ResourceReport("k", 40)), SourceText(CUDA)) == ()
