"""What is wrong with a host, told from its report alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirx_lens.compile.diagnosis import Wants, clock_ahead, diagnose, runs, spelled_time
from tirx_lens.compile.result import Environment, Gpu, HostReport, TvmBuild
from tirx_lens.compile.targets import LauncherKind, Target
from tirx_lens.model.given import TvmVersion

NOW = 1_800_000_000.0
B200 = Gpu("NVIDIA B200", (10, 0), "580.95.05")
H200 = Gpu("NVIDIA H200", (9, 0), "580.95.05")
TARGET = Target("gpu1", LauncherKind.SSH, host="gpu1")
GOOD = HostReport(
    Environment("3.12.1", "/opt/python", "0.27.0.post1", "/opt/site-packages/tvm"),
    hostname="gpu1.example",
    clock=NOW,
    free_bytes=80 << 30,
    scratch="/tmp",
    gpus=(B200,),
    torch_version="2.9.0",
    nvrtc="NVRTC 13.0 at /opt/libnvrtc.so.13",
)
WANTS = Wants(TvmVersion.V0_27)


def problems(
    report: HostReport, wants: Wants = WANTS, target: Target = TARGET
) -> list[tuple[str, str | None, str]]:
    found = diagnose(report, target, NOW, NOW + 0.5, wants)
    for problem in found:
        assert "\n" not in problem.message
        assert not problem.message.endswith(".")
    return [(problem.severity.value, problem.code, problem.message) for problem in found]


def test_a_host_with_all_that_is_wanted() -> None:
    assert problems(GOOD) == []


def test_without_tvm() -> None:
    reason = "Python 3.12.1 at /opt/python has no TVM: install apache-tvm 0.27 into this one"
    environment = Environment("3.12.1", "/opt/python", reason=reason)
    assert problems(replace(GOOD, environment=environment)) == [("error", "TX507", reason)]


@pytest.mark.parametrize(
    ("found", "wanted", "is_wrong"),
    [
        ("0.27.0.post1", TvmVersion.V0_27, False),
        ("0.27.dev3", TvmVersion.V0_27, False),
        ("0.26.0", TvmVersion.V0_27, True),
        ("0.27.0", TvmVersion.V0_26, True),
        ("0.270.0", TvmVersion.V0_27, True),
        ("0.26.0", None, False),
    ],
)
def test_a_tvm_of_another_generation(found: str, wanted: TvmVersion | None, is_wrong: bool) -> None:
    report = replace(GOOD, environment=replace(GOOD.environment, tvm_version=found))
    said = problems(report, Wants(wanted))
    assert [one[:2] for one in said] == ([("warning", "TX507")] if is_wrong else [])
    if is_wrong and wanted is not None:
        assert f"gpu1 has TVM {found}" in said[0][2]
        assert f"install apache-tvm {wanted.value} there" in said[0][2]


@pytest.mark.parametrize(
    ("gpu", "of_target", "wanted", "said"),
    [
        (B200, None, None, None),
        (B200, "sm_100a", None, None),
        (Gpu("NVIDIA B300", (10, 3)), None, None, None),
        (H200, None, None, "The GPU of gpu1 is not Blackwell: NVIDIA H200 (sm_90a)"),
        (H200, "sm_90a", None, None),
        (H200, "sm_100a", None, "NVIDIA H200 (sm_90a), does not run what is built for sm_100a"),
        (H200, None, "sm_100a", "does not run what is built for sm_100a"),
        (H200, "sm_100a", "sm_90a", None),
    ],
)
def test_the_gpu_and_what_is_built_for_it(
    gpu: Gpu, of_target: str | None, wanted: str | None, said: str | None
) -> None:
    target = replace(TARGET, arch=of_target)
    found = problems(replace(GOOD, gpus=(gpu,)), Wants(arch=wanted), target)
    assert [one[:2] for one in found] == ([("warning", "TX507")] if said else [])
    assert said is None or said in found[0][2]


def test_one_gpu_of_several_is_enough() -> None:
    report = replace(GOOD, gpus=(H200, B200))
    assert problems(report, Wants(arch="sm_100a")) == []
    assert problems(report) == []


@pytest.mark.parametrize(
    ("capability", "arch", "expected"),
    [
        ((10, 0), "sm_100a", True),
        ((10, 3), "sm_100a", False),
        ((10, 3), "sm_100f", True),
        ((10, 0), "sm_103f", False),
        ((12, 0), "sm_100f", False),
        ((12, 0), "sm_90", True),
        ((8, 9), "sm_90", False),
        ((9, 0), "of tomorrow", True),
    ],
)
def test_which_gpu_runs_what(capability: tuple[int, int], arch: str, expected: bool) -> None:
    assert runs(Gpu("GPU", capability), arch) is expected


def test_what_a_host_does_without_is_a_note() -> None:
    report = replace(
        GOOD, gpus=(), gpu_problem="There is no nvidia-smi.", nvrtc=None, torch_version=None
    )
    gpu, tools, torch = problems(report)
    assert {gpu[0], tools[0], torch[0]} == {"note"}
    assert gpu[2].startswith("gpu1 shows no GPU (There is no nvidia-smi): builds need none")
    assert "`pip install nvidia-cuda-nvrtc nvidia-cuda-nvdisasm`" in tools[2]
    assert "no torch" in torch[2]
    assert problems(replace(GOOD, nvrtc=None, nvcc="nvcc 13.0 at /opt/nvcc")) == []


@pytest.mark.parametrize(
    ("free", "severity"), [(0, "error"), (15 << 20, "error"), (100 << 20, "warning"), (None, None)]
)
def test_a_full_disk(free: int | None, severity: str | None) -> None:
    found = problems(replace(GOOD, free_bytes=free))
    assert [one[0] for one in found] == ([severity] if severity else [])
    if free is not None:
        assert f"/tmp of gpu1 has {free >> 20} MiB left" in found[0][2]


def test_a_checkout_in_the_way() -> None:
    mine, other = "/home/me/tvm/python/tvm", "/srv/tvm"
    environment = replace(GOOD.environment, tvm_path=mine)
    found = problems(replace(GOOD, environment=environment, shadowing=(other, mine)))
    assert [one[0] for one in found] == ["warning", "note"]
    assert f"finds the checkout {mine}, whatever is installed" in found[0][2]
    assert f"{other} is another TVM" in found[1][2]


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        (NOW, None),
        (NOW + 0.5, None),
        (NOW - 2.0, None),
        (NOW + 2.5, None),
        (NOW - 45.0, "45 s behind this machine's"),
        (NOW + 3 * 3600 + 12 * 60, "3 h 12 min ahead of this machine's"),
        (0.0, "20833 days behind this machine's"),
    ],
)
def test_the_clock(clock: float, said: str | None) -> None:
    found = problems(replace(GOOD, clock=clock))
    assert len(found) == (said is not None)
    assert said is None or said in found[0][2]


def test_a_clock_is_as_far_ahead_as_is_sure() -> None:
    assert clock_ahead(5.0, 4.0, 6.0) == 0
    assert clock_ahead(9.0, 4.0, 6.0) == 3
    assert clock_ahead(1.0, 4.0, 6.0) == -3


def test_lengths_of_time() -> None:
    spelled = [spelled_time(seconds) for seconds in (3.4, 119, 120, 7100, 7200, 400_000)]
    assert spelled == ["3 s", "119 s", "2 min", "118 min", "2 h 0 min", "4 days"]


@pytest.mark.parametrize(
    ("build", "is_told"),
    [
        (("tvm", "0.27.0.post1"), False),
        (("tvm", "0.28.0"), True),
        (("tvm", "0.27.0+checkout"), True),
        (("tvm_tirx", "0.1.0a4"), False),
        (("tvm_tirx", "0.1.0a5"), True),
    ],
)
def test_a_tvm_whose_names_are_not_known(build: tuple[str, str], is_told: bool) -> None:
    environment = replace(GOOD.environment, builds=(TvmBuild(*build, "key"),))
    found = problems(replace(GOOD, environment=environment))
    assert [(severity, code) for severity, code, _ in found] == [("note", None)] * is_told
    assert all(" ".join(build) in said for _, _, said in found)


def test_the_worst_comes_first() -> None:
    report = replace(GOOD, gpus=(), clock=0.0, free_bytes=0)
    assert [one[0] for one in problems(report)] == ["error", "warning", "note"]
