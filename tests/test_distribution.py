"""What is handed on besides the extension: sdist, wheel, pre-commit hook, workflow.

The tools are those that people use: hatchling, pipx, pre-commit, the schema of GitHub's workflows.
"""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.test_vsix import ROOT, VERSION, tracked

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = sys.executable
BROKEN = ROOT / "kernels" / "broken" / "tx102_cta_sync_divergent.py"
CORRECT = ROOT / "kernels" / "gemm_step7_warp_specialized.py"
STEM = f"tirx_lens-{VERSION}"


def run(words: list[str], folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a tool with nothing of this checkout on its import path."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        words,
        cwd=folder,
        env={**inherited, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder of sdist and wheel, made from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    made = run([PYTHON, "-m", "hatchling", "build", "-d", str(folder)], ROOT)
    assert made.returncode == 0, made.stdout + made.stderr
    assert {path.name for path in folder.iterdir()} == {
        f"{STEM}.tar.gz",
        f"{STEM}-py3-none-any.whl",
    }
    return folder


def wheel_of(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(folder / f"{STEM}-py3-none-any.whl") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_the_package_and_its_licence(built: Path) -> None:
    files = wheel_of(built)
    info = f"{STEM}.dist-info/"
    package = tracked("server/tirx_lens", "server/", "")
    ours = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    assert files.keys() == package | {info + name for name in ours}
    assert {"tirx_lens/py.typed", "tirx_lens/api/data/0.27.json"} < package
    assert files[f"{info}licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    points = configparser.ConfigParser()
    points.read_string(files[f"{info}entry_points.txt"].decode())
    assert dict(points["console_scripts"]) == {"tirx-lens": "tirx_lens.cli.main:main"}
    metadata = files[f"{info}METADATA"].decode()
    for line in ("License-Expression: Apache-2.0", "License-File: LICENSE", f"Version: {VERSION}"):
        assert f"\n{line}\n" in metadata


def test_the_sdist_makes_the_same_wheel(built: Path, tmp_path: Path) -> None:
    with tarfile.open(built / f"{STEM}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / STEM
    assert {path.name for path in source.iterdir()} == {
        *("server", "kernels", "docs", "CHANGELOG.md", "LICENSE", "README.md"),
        *("pyproject.toml", "PKG-INFO", ".gitignore"),
    }
    again = run([PYTHON, "-m", "hatchling", "build", "-t", "wheel", "-d", "again"], source)
    assert again.returncode == 0, again.stdout + again.stderr
    assert wheel_of(source / "again") == wheel_of(built)


def test_pipx_runs_it(built: Path, tmp_path: Path) -> None:
    """In an environment of its own, with what the wheel says it depends on and nothing else."""
    wheel = str(built / f"{STEM}-py3-none-any.whl")
    words = [PYTHON, "-m", "pipx", "run", "--spec", wheel, "tirx-lens", "check", str(BROKEN)]
    ran = run(words, tmp_path, PIPX_HOME=str(tmp_path / "pipx"))
    assert ran.returncode == 1, ran.stderr
    assert ": TX102 error: " in ran.stdout
    (package,) = (tmp_path / "pipx").rglob("site-packages/tirx_lens/__init__.py")
    assert package.is_file()


def test_the_hook_of_pre_commit(tmp_path: Path) -> None:
    manifest = run(
        [PYTHON, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml"], ROOT
    )
    assert manifest.returncode == 0, manifest.stdout
    for kernel in (BROKEN, CORRECT):
        (tmp_path / kernel.name).write_bytes(kernel.read_bytes())
    (tmp_path / "notes.txt").write_text("no Python")
    for words in (["git", "init", "--quiet"], ["git", "add", "."]):
        assert run(words, tmp_path).returncode == 0
    words = [PYTHON, "-m", "pre_commit", "try-repo", str(ROOT), "tirx-lens", "--all-files"]
    ran = run(words, tmp_path, PRE_COMMIT_HOME=str(tmp_path / ".git" / "hooks-home"))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    found = [line for line in ran.stdout.splitlines() if re.match(r"\S+\.\w+:\d+:\d+: ", line)]
    assert [line.partition(": TX")[0] for line in found] == [f"{BROKEN.name}:154:21"]


def yaml_under(heading: str) -> str:
    page = (ROOT / "docs" / "editors.md").read_text("utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return block


def test_the_configuration_of_pre_commit_in_the_documentation(tmp_path: Path) -> None:
    config = tmp_path / ".pre-commit-config.yaml"
    config.write_text(yaml_under("pre-commit"), "utf-8")
    checked = run([PYTHON, "-m", "pre_commit", "validate-config", str(config)], tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert f"rev: v{VERSION}\n" in config.read_text("utf-8")


def test_the_workflow_in_the_documentation(tmp_path: Path) -> None:
    """It is what GitHub takes, and the command in it writes the file that it uploads."""
    workflow = tmp_path / "kernels.yml"
    workflow.write_text(yaml_under("GitHub Actions"), "utf-8")
    schema = ["--builtin-schema", "vendor.github-workflows"]
    checked = run([PYTHON, "-m", "check_jsonschema", *schema, str(workflow)], tmp_path)
    assert checked.returncode == 0, checked.stdout
    (tmp_path / "kernel.py").write_bytes(BROKEN.read_bytes())
    (command,) = re.findall(r"pipx run (tirx-lens .*)$", workflow.read_text("utf-8"), re.MULTILINE)
    command = command.replace("tirx-lens", f"{PYTHON} -m tirx_lens.cli.main", 1)
    server = {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = run(["sh", "-c", command], tmp_path, **server)
    assert ran.returncode == 0, ran.stderr
    assert '"TX102"' in (tmp_path / "kernels.sarif").read_text("utf-8")
    assert "sarif_file: kernels.sarif" in workflow.read_text("utf-8")
