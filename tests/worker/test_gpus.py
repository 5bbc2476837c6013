"""What is read of a host's GPUs and checkouts."""

from pathlib import Path

import pytest

from tirx_lens.worker.checkouts import checkouts_on
from tirx_lens.worker.gpus import read_gpus
from tirx_lens.worker.messages import Gpu
from tirx_lens.worker.programs import ProgramError, said_by


def test_the_list_of_nvidia_smi() -> None:
    found = read_gpus("NVIDIA B200, 10.0, 580.95.05\nNVIDIA H100 NVL, 9.0, 580.95.05\n")
    assert found.problem is None
    assert found.gpus == (
        Gpu("NVIDIA B200", (10, 0), "580.95.05"),
        Gpu("NVIDIA H100 NVL", (9, 0), "580.95.05"),
    )
    assert [gpu.arch for gpu in found.gpus] == ["sm_100a", "sm_90a"]


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        ("", "nvidia-smi lists no GPU"),
        ("No devices were found\n", "nvidia-smi said something else than GPUs: No devices were"),
        ("Tesla K80, [N/A], 470.1\n", "nvidia-smi said something else than GPUs: Tesla K80, [N/A]"),
    ],
)
def test_a_list_that_names_none(listed: str, problem: str) -> None:
    found = read_gpus(listed)
    assert found.gpus == ()
    assert found.problem is not None
    assert found.problem.startswith(problem)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 9", "asked ended with exit code 9"),
        ("echo no driver; exit 9", "asked ended with exit code 9: no driver"),
        ("echo no driver >&2; exit 9", "asked ended with exit code 9: no driver"),
        ("sleep 20", "asked did not answer within 0.2 s"),
    ],
)
def test_a_program_that_says_nothing_of_use(script: str, problem: str, tmp_path: Path) -> None:
    program = tmp_path / "asked"
    program.write_text(f"#!/bin/sh\nexec 3>&-\n{script.replace('sleep', 'exec sleep')}\n")
    with pytest.raises(ProgramError, match="cannot be run: Permission denied"):
        said_by((str(program),))
    program.chmod(0o755)
    with pytest.raises(ProgramError) as raised:
        said_by((str(program),), limit=0.2)
    assert str(raised.value) == problem


def test_checkouts_beside_the_installed_package(tmp_path: Path) -> None:
    for name in ("site", "before", "after", "empty"):
        (tmp_path / name / "tvm").mkdir(parents=True)
    (tmp_path / "empty" / "tvm").rmdir()
    (tmp_path / "link").symlink_to(tmp_path / "site")
    paths = [str(tmp_path / name) for name in ("before", "link", "site", "after", "empty", "after")]
    found = checkouts_on((*paths, "/nowhere"), [str(tmp_path / "site")])
    assert found == (str(tmp_path / "before" / "tvm"), str(tmp_path / "after" / "tvm"))
