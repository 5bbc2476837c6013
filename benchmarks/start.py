"""The first build after start: a worker from nothing against a bare Python that does the same.

    python benchmarks/start.py [KERNEL.py ...] [--repeat 5]

Each time a new worker is started, imports TVM, and builds; the other side is `python script.py`,
which imports TVM and the kernel, calls the builder and compiles. Both end with the CUDA in hand.
They take turns. "Warm" is the second build of that worker: what each later one costs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from worker import DEFAULT, KERNELS, changed, failing_loudly

from tirx_lens.compile.builders import Builder, find_builders
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.service import Compiler

BARE = """
import importlib.util, json, sys
import tvm
path, name, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
spec = importlib.util.spec_from_file_location("bare_kernel", path)
module = importlib.util.module_from_spec(spec)
sys.modules["bare_kernel"] = module
spec.loader.exec_module(module)
target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"})
with target:
    built = tvm.compile(
        tvm.IRModule({"main": getattr(module, name)(**arguments)}),
        target=target,
        tir_pipeline="tirx",
    )
print(built.mod.imports[0].inspect_source("cuda"))
"""


def bare_seconds(path: Path, builder: Builder) -> float:
    """Return how long a Python takes that starts, builds and prints the CUDA."""
    words = [str(path), builder.name, json.dumps(dict(builder.arguments))]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", BARE, *words], check=True, capture_output=True)
    return time.perf_counter() - start


async def worker_seconds(path: Path, builder: Builder, text: str) -> tuple[float, float]:
    """Return how long a new worker takes to its first result, and then to its second."""
    request = prepare(path, text, builder)
    start = time.perf_counter()
    compiler = Compiler(LocalLauncher(sys.executable))
    try:
        await failing_loudly(compiler, request)
        first = time.perf_counter()
        await failing_loudly(compiler, changed(request, 1))
        return first - start, time.perf_counter() - first
    finally:
        await compiler.close()


def measure(path: Path, repeat: int) -> tuple[float, float, float]:
    """Return the medians of the bare process, the first build of a worker, and its second."""
    text = path.read_text()
    builder = find_builders(text)[0]
    bare_seconds(path, builder)  # so that the files of TVM are in the system's cache for both
    rows = [
        (bare_seconds(path, builder), *asyncio.run(worker_seconds(path, builder, text)))
        for _ in range(repeat)
    ]
    bare, first, second = (statistics.median(column) for column in zip(*rows, strict=True))
    return bare, first, second


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'kernel':32} {'bare ms':>9} {'first ms':>9} {'ratio':>6} {'warm ms':>8}")
    for path in arguments.kernels or [KERNELS / name for name in DEFAULT]:
        bare, first, second = measure(path.absolute(), arguments.repeat)
        print(
            f"{path.stem:32} {bare * 1e3:9.0f} {first * 1e3:9.0f} {first / bare:6.2f} "
            f"{second * 1e3:8.0f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
