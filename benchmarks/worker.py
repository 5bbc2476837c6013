"""What the worker costs: a build through it against a bare `tvm.compile` in a warm process.

    python benchmarks/worker.py [KERNEL.py ...] [--repeat 5] [--interpreter PYTHON]

Prints, for each kernel, the medians of both in the same run and their ratio, and the time of a
remembered result: from memory, and from disk as the next session finds it. They take turns, so that
a busy machine slows all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from tirx_lens.compile.archive import worker_hash
from tirx_lens.compile.builders import Builder, find_builders
from tirx_lens.compile.cache import ResultCache, key_of
from tirx_lens.compile.cache_folder import CacheFolder
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.request import BuildRequest, SourceFile
from tirx_lens.compile.service import Compiler

KERNELS = Path(__file__).parent.parent / "kernels"
DEFAULT = ("tma_ring_copy.py", "gemm_step7_warp_specialized.py", "gemm_step9_two_consumers.py")

# The other side of the comparison: TVM and the kernel's module are imported, then each line of
# standard input asks for one call of the builder and one compilation, and is answered in seconds.
BARE = """
import importlib.util, json, sys, time
import tvm
path, name, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spec = importlib.util.spec_from_file_location("bare_kernel", path)
module = importlib.util.module_from_spec(spec)
sys.modules["bare_kernel"] = module
spec.loader.exec_module(module)
target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"})
for _ in sys.stdin:
    start = time.perf_counter()
    function = getattr(module, name)(**arguments)
    with target:
        built = tvm.compile(
            tvm.IRModule({"main": function}), target=target, tir_pipeline="tirx"
        )
    built.mod.imports[0].inspect_source("cuda")
    print(time.perf_counter() - start, flush=True)
"""


class Bare:
    """A warm process that calls TVM and nothing else."""

    def __init__(self, interpreter: str, path: Path, builder: Builder) -> None:
        arguments = json.dumps(dict(builder.arguments))
        self._process = subprocess.Popen(
            [interpreter, "-c", BARE, str(path), builder.name, arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self) -> float:
        """Return how long one build took inside the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def changed(request: BuildRequest, number: int) -> BuildRequest:
    """Return the request with another last line, as an edit makes it: no cache knows it."""
    entry, *others = request.files
    text = f"{entry.text}\n# {number}\n"
    return replace(request, files=(SourceFile(entry.path, text), *others))


async def measure(path: Path, interpreter: str, repeat: int) -> dict[str, Any]:
    text = path.read_text()
    builder = find_builders(text)[0]
    request = prepare(path, text, builder)
    folder = tempfile.TemporaryDirectory()
    compiler = Compiler(LocalLauncher(interpreter), cache=kept_in(folder.name))
    bare = Bare(interpreter, path, builder)
    try:
        bare.seconds()
        await failing_loudly(compiler, request)
        bare_times, worker_times, cached_times, disk_times = [], [], [], []
        key = key_of(request, await compiler.environment(), worker_hash())
        for number in range(repeat):
            bare_times.append(bare.seconds())
            start = time.perf_counter()
            await failing_loudly(compiler, changed(request, number))
            worker_times.append(time.perf_counter() - start)
            start = time.perf_counter()
            await failing_loudly(compiler, request)
            cached_times.append(time.perf_counter() - start)
            start = time.perf_counter()
            if kept_in(folder.name).get(key) is None:
                raise SystemExit("the result is not on disk")
            disk_times.append(time.perf_counter() - start)
    finally:
        bare.close()
        await compiler.close()
        folder.cleanup()
    return {
        "kernel": path.stem,
        "bare": statistics.median(bare_times),
        "worker": statistics.median(worker_times),
        "cached": statistics.median(cached_times),
        "disk": statistics.median(disk_times),
    }


def kept_in(folder: str) -> ResultCache:
    """Return a memory with nothing in it over what is on disk: that of a session just begun."""
    return ResultCache(CacheFolder(Path(folder)))


async def failing_loudly(compiler: Compiler, request: BuildRequest) -> None:
    result = await compiler.build(request)
    if result.failed:
        raise SystemExit(f"{request.entry}: {result.diagnostics[0].message}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--interpreter", default=sys.executable)
    arguments = parser.parse_args()
    paths = arguments.kernels or [KERNELS / name for name in DEFAULT]
    columns = f"{'bare ms':>9} {'worker ms':>10} {'ratio':>6} {'memory ms':>10} {'disk ms':>8}"
    print(f"{'kernel':32} {columns}")
    for path in paths:
        row = asyncio.run(measure(path.absolute(), arguments.interpreter, arguments.repeat))
        print(
            f"{row['kernel']:32} {row['bare'] * 1e3:9.0f} {row['worker'] * 1e3:10.0f} "
            f"{row['worker'] / row['bare']:6.2f} {row['cached'] * 1e3:10.2f} "
            f"{row['disk'] * 1e3:8.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
