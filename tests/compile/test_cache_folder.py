"""Results on disk: found again, bounded, and rebuilt when anything about them is wrong."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from kernel_texts import kernel, request

from tirx_lens.compile import cache_folder
from tirx_lens.compile.cache import ResultCache
from tirx_lens.compile.cache_folder import CacheFolder
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.result import BuildDiagnostic, BuildResult, KernelResult, Severity, Stage
from tirx_lens.compile.service import Compiler
from tirx_lens.worker.messages import LoadedFile

KEY = "0" * 64


def result(text: str = "cuda") -> BuildResult:
    return BuildResult(kernels=(KernelResult("k", "b", {"M": 8}, text, "0.27.0", "sm_100a"),))


def test_a_result_is_found_again_by_another_session(tmp_path: Path) -> None:
    ResultCache(CacheFolder(tmp_path / "made")).put(KEY, result())
    assert ResultCache(CacheFolder(tmp_path / "made")).get(KEY) == result()
    assert ResultCache(CacheFolder(tmp_path / "made")).get("1" * 64) is None
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:80] + bytes([data[80] ^ 1]) + data[81:],
        lambda data: b"tirx-lens build 9 " + data[18:],
        lambda data: data + b"more",
        lambda data: os.urandom(len(data)),
    ],
)
def test_a_spoiled_entry_is_none_and_is_removed(tmp_path: Path, spoil) -> None:
    folder = CacheFolder(tmp_path)
    folder.put(KEY, result())
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(spoil(entry.read_bytes()))
    assert folder.get(KEY) is None
    assert not entry.exists()
    folder.put(KEY, result())
    assert folder.get(KEY) == result()


def test_an_entry_that_would_unpack_to_too_much_is_none(tmp_path: Path, monkeypatch) -> None:
    folder = CacheFolder(tmp_path)
    folder.put(KEY, result("x" * 100_000))
    monkeypatch.setattr(cache_folder, "LARGEST_RESULT", 50_000)
    assert folder.get(KEY) is None


def test_the_least_recently_used_make_room(tmp_path: Path) -> None:
    texts = {f"{number}" * 64: os.urandom(2000).hex() for number in range(4)}
    one = CacheFolder(tmp_path)
    for age, (key, text) in enumerate(texts.items()):
        one.put(key, result(text))
        os.utime(tmp_path / f"{key}.result", (1000 + age, 1000 + age))
    size = next(tmp_path.iterdir()).stat().st_size
    small = CacheFolder(tmp_path, capacity=3 * size)
    assert small.get("0" * 64) is not None  # used now, so the next one is the oldest
    small.put("5" * 64, result(os.urandom(2000).hex()))
    kept = {path.name[0] for path in tmp_path.iterdir()}
    assert kept == {"0", "3", "5"} or kept == {"0", "5"}


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = CacheFolder(tmp_path / "file" / "below")
    folder.put(KEY, result())
    assert folder.get(KEY) is None


def test_a_failed_build_is_not_kept_for_the_next_session(tmp_path: Path) -> None:
    failed = BuildResult(diagnostics=(BuildDiagnostic(Severity.ERROR, Stage.IMPORT, "no"),))
    cache = ResultCache(CacheFolder(tmp_path))
    cache.put(KEY, failed)
    assert cache.get(KEY) == failed
    assert not list(tmp_path.iterdir())


def test_a_result_goes_with_the_files_it_ran(tmp_path: Path) -> None:
    module = tmp_path / "installed.py"
    module.write_text("BLOCK = 64\n")
    seen = LoadedFile.of(str(module))
    assert seen is not None
    made = BuildResult(kernels=result().kernels, loaded=(seen,))
    cache = ResultCache(CacheFolder(tmp_path / "cache"))
    cache.put(KEY, made)
    assert cache.get(KEY) == made
    module.write_text("BLOCK = 128 \n")
    assert cache.get(KEY) is None
    assert cache.remembered(KEY) is None
    assert ResultCache(CacheFolder(tmp_path / "cache")).get(KEY) is None


@pytest.mark.tvm
async def test_a_build_says_what_it_ran_beyond_its_sources(tmp_path: Path, monkeypatch) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "blocks_of_mine.py").write_text("BLOCK = 64\n")
    monkeypatch.setenv("PYTHONPATH", str(installed), prepend=os.pathsep)
    compiler = Compiler(LocalLauncher(sys.executable))
    text = "import json, blocks_of_mine\n" + kernel()
    try:
        built = await compiler.build(request(text, tmp_path / "work" / "k.py", builder="build"))
    finally:
        await compiler.close()
    assert built.kernels, built.diagnostics
    assert [Path(file.path).name for file in built.loaded] == ["blocks_of_mine.py"]
