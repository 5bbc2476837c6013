"""What machine code costs: a build with PTX and SASS against TVM, NVRTC and nvdisasm alone.

    python benchmarks/machine_code.py [KERNEL.py ...] [--repeat 5]

Both sides parse and compile the kernel with TVM, compile the CUDA with NVRTC for `sm_100a`, with
line information, and disassemble the cubin with nvdisasm. The worker also makes the source map,
links each instruction to its line and sends all of it; the other side throws away what it gets.
They take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from worker import DEFAULT, KERNELS, changed, failing_loudly

from tirx_lens.compile.builders import Builder, find_builders
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.service import Compiler
from tirx_lens.worker.toolchain import find_toolchain

# The other side: each line of standard input asks for one build and is answered by three times in
# seconds: of TVM, of NVRTC and of nvdisasm.
BARE = """
import ctypes, importlib.util, json, subprocess, sys, tempfile, time
import tvm
path, name, arguments, tools = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:5])
spec = importlib.util.spec_from_file_location("bare_kernel", path)
module = importlib.util.module_from_spec(spec)
sys.modules["bare_kernel"] = module
spec.loader.exec_module(module)
target = tvm.target.Target({"kind": "cuda", "arch": "sm_100a"})
nvrtc = ctypes.CDLL(tools["nvrtc"])
options = ["-arch=sm_100a", "-default-device", "--device-int128", "--use_fast_math", "-w",
           "-lineinfo", *("-I" + folder for folder in tools["include"])]
options = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
MAP = "struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };"
MAP += "typedef struct CUtensorMap_st CUtensorMap;"

def cubin_of(text):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    source = (MAP + text).encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(options), options):
        raise SystemExit("NVRTC refused the kernel")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, cubin)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin.raw

for _ in sys.stdin:
    times = [time.perf_counter()]
    function = getattr(module, name)(**arguments)
    with target:
        built = tvm.compile(tvm.IRModule({"main": function}), target=target, tir_pipeline="tirx")
    text = built.mod.imports[0].inspect_source("cuda")
    times.append(time.perf_counter())
    cubin = cubin_of(text)
    times.append(time.perf_counter())
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        subprocess.run([tools["nvdisasm"], "-gi", "-c", file.name], check=True, capture_output=True)
    times.append(time.perf_counter())
    print(json.dumps([after - before for before, after in zip(times, times[1:])]), flush=True)
"""


class Bare:
    """A warm process that calls TVM, NVRTC and nvdisasm and nothing else."""

    def __init__(self, path: Path, builder: Builder) -> None:
        tools = find_toolchain()
        found = {"nvrtc": tools.nvrtc, "nvdisasm": tools.nvdisasm, "include": tools.include}
        words = [str(path), builder.name, json.dumps(dict(builder.arguments)), json.dumps(found)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", BARE, *words],
            env=without_compilers(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self) -> list[float]:
        """Return how long TVM, NVRTC and nvdisasm took for one build."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        times: list[float] = json.loads(self._process.stdout.readline())
        return times

    def close(self) -> None:
        self._process.communicate()


def without_compilers() -> dict[str, str]:
    """Return an environment in which TVM stops at the CUDA, as it does without a toolkit."""

    return {**os.environ, "TVM_COMPILE_FORCE_FALLBACK": "1"}


async def measure(path: Path, repeat: int) -> tuple[list[float], float]:
    """Return the medians of TVM, NVRTC and nvdisasm alone, and that of the worker's builds."""
    text = path.read_text()
    builder = find_builders(text)[0]
    request = replace(prepare(path, text, builder), machine_code=True)
    compiler = Compiler(LocalLauncher(sys.executable))
    bare = Bare(path, builder)
    try:
        bare.seconds()
        await failing_loudly(compiler, request)
        bare_times, worker_times = [], []
        for number in range(repeat):
            bare_times.append(bare.seconds())
            start = time.perf_counter()
            await failing_loudly(compiler, changed(request, number))
            worker_times.append(time.perf_counter() - start)
    finally:
        bare.close()
        await compiler.close()
    parts = [statistics.median(times) for times in zip(*bare_times, strict=True)]
    return [*parts, statistics.median(map(sum, bare_times))], statistics.median(worker_times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    print(
        f"{'kernel':32} {'TVM ms':>8} {'NVRTC ms':>9} {'nvdisasm ms':>12} {'bare ms':>8} "
        f"{'worker ms':>10} {'ratio':>6}"
    )
    for path in arguments.kernels or [KERNELS / name for name in DEFAULT]:
        (tvm, nvrtc, nvdisasm, bare), worker = asyncio.run(
            measure(path.absolute(), arguments.repeat)
        )
        print(
            f"{path.stem:32} {tvm * 1e3:8.0f} {nvrtc * 1e3:9.0f} {nvdisasm * 1e3:12.0f} "
            f"{bare * 1e3:8.0f} {worker * 1e3:10.0f} {worker / bare:6.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
