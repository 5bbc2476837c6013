"""Building kernels in a process of their own, for the tests in this folder."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
BUILD_LIMIT_S = 300


@dataclass(frozen=True)
class Request:
    """One build: a file under kernels/, the architecture, arguments other than its comment's."""

    file: str
    arch: str = "sm_100a"
    args: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Build:
    """What came of a request: the CUDA text, or what went wrong."""

    cuda: str = ""
    error: str = ""

    def text(self) -> str:
        assert not self.error, self.error
        return self.cuda


def build_all(python: str, requests: list[Request]) -> list[Build]:
    """Build the requests, in order, in one process of the given interpreter."""
    asked = [
        {"file": str(KERNELS / request.file), "arch": request.arch, "args": request.args}
        for request in requests
    ]
    done = subprocess.run(
        [python, str(Path(__file__).with_name("build_kernels.py"))],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=BUILD_LIMIT_S,
    )
    assert done.returncode == 0, f"{python} could not build kernels:\n{done.stderr}"
    answers = json.loads(done.stdout.splitlines()[-1])
    return [Build(answer.get("cuda", ""), answer.get("error", "")) for answer in answers]
