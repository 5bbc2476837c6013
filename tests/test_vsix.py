"""Each extension of `make vsix-all`: for its system, whole, and with nothing else in it."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import zipfile
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import pytest
from tests.test_bundle import HEADS, ROOT, bundle, compiled_modules, module_name

VERSION = json.loads((ROOT / "package.json").read_text("utf-8"))["version"]
NOTICES = (ROOT / "THIRD_PARTY_NOTICES.txt").read_text("utf-8")
LIMIT_BYTES = 8_000_000
OWN = {
    "package.json",
    "readme.md",
    "changelog.md",
    "LICENSE.txt",
    "THIRD_PARTY_NOTICES.txt",
    "bundled/run_server.py",
    "client/icon.png",
    "client/dist/extension.js",
    "client/dist/timeline.css",
    "client/dist/timeline.js",
}
LIBS = "bundled/libs/"


@pytest.fixture(scope="module", params=sorted(HEADS))
def extension(request):
    """The target, and the packaged files by their paths in the extension."""
    target = request.param
    path = ROOT / ".build" / f"tirx-lens-{target}-{VERSION}.vsix"
    if not path.exists():
        pytest.fail(f"{path} is not there: make vsix-all")
    assert path.stat().st_size < LIMIT_BYTES
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = ElementTree.fromstring(files["extension.vsixmanifest"])
    (identity,) = [node for node in manifest.iter() if node.tag.endswith("}Identity")]
    assert identity.get("TargetPlatform") == target
    assert identity.get("Version") == VERSION
    inside = {name.removeprefix("extension/"): data for name, data in files.items()}
    return target, {name: data for name, data in inside.items() if f"extension/{name}" in files}


def test_compiled_modules_are_for_the_system_and_each_python(extension) -> None:
    target, files = extension
    compiled = {name for name in files if compiled_modules.is_compiled(PurePosixPath(name))}
    assert {compiled_modules.target_of(files[name]) for name in compiled} == {target}
    any_python = "_binding.pyd" if target == "win32-x64" else "_binding.abi3.so"
    cores = {module_name(target, python.replace(".", "")) for python in bundle.PYTHONS}
    assert compiled == {
        *(f"{LIBS}tree_sitter/{name}" for name in cores),
        f"{LIBS}tree_sitter_python/{any_python}",
        f"{LIBS}tree_sitter_cuda/{any_python}",
    }


def test_it_holds_ours_and_what_the_wheels_brought(extension) -> None:
    _, files = extension
    package = tracked("server/tirx_lens", "server/", LIBS)
    shown = tracked("client/syntaxes", "", "") | tracked("client/walkthrough", "", "")
    foreign = files.keys() - OWN - package - shown - recorded(files)
    assert not foreign
    assert OWN | package | shown <= files.keys()


def tracked(folder: str, old: str, new: str) -> set[str]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = (line for line in listed.splitlines() if (ROOT / line).exists())
    return {f"{new}{line.removeprefix(old)}" for line in names}


def recorded(files: dict[str, bytes]) -> set[str]:
    """Return the files that the wheels say they have; `RECORD` of the last core names its own."""
    found = set()
    for name, data in files.items():
        if name.endswith(".dist-info/RECORD"):
            rows = csv.reader(io.StringIO(data.decode()))
            found |= {LIBS + row[0] for row in rows if row}
    return {*found, *(name for name in files if name.startswith(f"{LIBS}tree_sitter/_binding."))}


def test_the_libraries_are_those_that_are_pinned(extension) -> None:
    _, files = extension
    brought = set()
    for name in files:
        if name.endswith(".dist-info/METADATA"):
            found = re.match(rf"{LIBS}(.+)-([^-]+)\.dist-info/", name)
            brought.add(f"{found[1].replace('_', '-')}=={found[2]}")
    assert brought == {pin.replace("_", "-") for pin in bundle.read_requirements()}


def test_the_licence_of_each_library_is_in_the_notices(extension) -> None:
    _, files = extension
    assert files["THIRD_PARTY_NOTICES.txt"].decode() == NOTICES
    assert files["LICENSE.txt"] == (ROOT / "LICENSE").read_bytes()
    for name, data in files.items():
        if name.endswith(".dist-info/METADATA"):
            fields = dict(re.findall(r"^(Name|Version): (\S+)", data.decode(), re.MULTILINE))
            assert f"\n{fields['Name']} {fields['Version']} (" in NOTICES
            folder = name.removesuffix("METADATA")
            texts = [
                files[one].decode().replace("\r\n", "\n").strip()
                for one in files
                if one.startswith(folder) and re.search(r"(?i)/(licen[cs]e|copying)[^/]*$", one)
            ]
            assert texts, f"{folder} has no licence"
            assert all(text in NOTICES for text in texts)


def test_the_notices_are_of_what_is_bundled_now(tmp_path: Path) -> None:
    """Made anew from the licence files of the packages themselves, the file is the same."""
    libraries = ROOT / ".build" / "libraries-linux-x64"
    made = tmp_path / "notices.txt"
    words = ["node", "esbuild.mjs", "--notices", str(libraries), str(made)]
    subprocess.run(words, cwd=ROOT, check=True, timeout=120)
    assert made.read_text("utf-8") == NOTICES, "make notices"
    for package in ("vscode-languageclient", "d3-selection", "semver", "minimatch"):
        assert re.search(rf"^{package} \d", NOTICES, re.MULTILINE)
