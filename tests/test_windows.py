"""The static analysis and the server need nothing of what Windows lacks.

`dev/run_checks.py` has mypy look for names that Windows lacks in all but the worker; here the
program runs without them.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import like_windows
from tests.lsp.raw import RawClient

from tirx_lens.compile.local import ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "kernels"
SCRIPT = str(ROOT / "tests" / "like_windows.py")
BROKEN = KERNELS / "broken" / "tx102_cta_sync_divergent.py"
CHECKED = (BROKEN, *sorted((KERNELS / "broken").glob("tx50*.py")))
OLD = KERNELS / "v0_26" / "tma_ring_copy.py"


def environment(folder: Path) -> dict[str, str]:
    folders = dict.fromkeys(("LOCALAPPDATA", "APPDATA", "USERPROFILE"), str(folder))
    return {**os.environ, "PYTHONPATH": str(ROOT / "server"), **folders}


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("check", "--jobs", "1", "--output-format", "json", *map(str, CHECKED)),
        ("migrate", "--to", "0.27", "--diff", str(OLD)),
        ("worksheet", str(KERNELS / "gemm_step7_warp_specialized.py")),
        ("timeline", str(KERNELS / "gemm_step5_ring.py")),
        ("rules", "TX102"),
    ],
    ids=lambda words: words[0],
)
def test_commands_say_the_same(words: tuple[str, ...], tmp_path: Path) -> None:
    here = run(tmp_path, "-m", "tirx_lens.cli.main", *words)
    there = run(tmp_path, SCRIPT, *words)
    assert here.stdout or here.stderr
    assert (there.stdout, there.stderr, there.returncode) == (
        here.stdout,
        here.stderr,
        here.returncode,
    )


def test_fixes_are_written(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_bytes(BROKEN.read_bytes())
    there = run(tmp_path, SCRIPT, "check", "--fix", str(kernel))
    assert there.returncode == 0, there.stderr
    assert "warpgroup_sync(" in kernel.read_text("utf-8")


def test_a_local_build_says_where_kernels_are_built(tmp_path: Path) -> None:
    kernel = str(KERNELS / "gemm_step1_one_cta.py")
    arguments = ("--arg", "M=128", "--arg", "N=128", "--arg", "K=64")
    there = run(tmp_path, SCRIPT, "cuda", kernel, *arguments)
    assert there.returncode == 2
    assert there.stderr.strip() == f"error: {ELSEWHERE} [environment]"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[RawClient]:
    client = RawClient([sys.executable, SCRIPT, "server"], env=environment(tmp_path))
    yield client
    client.kill()


def test_the_server_checks_and_refuses_to_build(client: RawClient) -> None:
    client.initialize(initializationOptions={"trusted": True})
    uri = BROKEN.as_uri()
    client.open(uri, BROKEN.read_text("utf-8"))
    (found,) = client.diagnostics(uri, timeout=60)["diagnostics"]
    assert found["code"] == "TX102"
    place = {"textDocument": {"uri": uri}, "position": found["range"]["start"]}
    assert client.request("textDocument/hover", place, timeout=60)["result"]["contents"]
    reply = client.request("tirxLens/cuda", place, timeout=60)["result"]
    assert (reply["kind"], reply["message"]) == ("failed", ELSEWHERE)
    assert client.stop() == 0


def test_only_the_worker_imports_what_windows_lacks() -> None:
    package = like_windows.PACKAGE
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] == "worker":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            lacking = {name.partition(".")[0] for name in names} & like_windows.MODULES
            assert not lacking, f"{file.relative_to(package)}:{node.lineno} imports {lacking}"


def test_what_is_taken_away_is_gone() -> None:
    """The stand-in takes away what it says, else the tests above would prove nothing."""
    program = (
        "import sys; sys.path.insert(0, 'tests'); import like_windows as w; w.become_windows()\n"
        "import os, signal\n"
        "assert sys.platform == 'win32' and not hasattr(os, 'fork')\n"
        "assert not hasattr(os, 'killpg') and not hasattr(signal, 'SIGKILL')\n"
        "try: import fcntl\n"
        "except ImportError: sys.exit(7)\n"
    )
    assert run(ROOT, "-c", program).returncode == 7
