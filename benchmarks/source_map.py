"""What the source map covers and what it costs, on the example kernels and on all registered ones.

    python benchmarks/source_map.py [--repeat 5] [--interpreter PYTHON] [--corpus FOLDER]

Each kernel is built with its map and without, in turns, and the examples by bare TVM as well;
times are medians of parse and compile. Registered kernels (`make corpus`) are built once each way,
in their first configuration, with stand-ins for torch and triton.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from worker import Bare, changed

from tirx_lens.compile.builders import find_builder, find_builders
from tirx_lens.compile.local import LocalLauncher
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.request import BuildRequest, Limits
from tirx_lens.compile.service import Compiler

if TYPE_CHECKING:
    from tirx_lens.compile.result import BuildResult, KernelResult

ROOT = Path(__file__).parent.parent
KERNELS = ROOT / "kernels"
STAND_INS = ROOT / "tests" / "compile" / "stand_ins"
LIMIT = Limits(time_seconds=600)


@dataclass
class Coverage:
    """Lines of kernel bodies: all, mapped, and mapped without a guess."""

    lines: int = 0
    mapped: int = 0
    exact: int = 0

    def add(self, kernel: KernelResult) -> None:
        entries = {entry.cuda_line: entry for entry in kernel.map}
        inside = False
        for number, line in enumerate(kernel.cuda.split("\n"), 1):
            if "__global__" in line and line.endswith("{"):
                inside = True
            elif line == "}":
                inside = False
            elif inside and line.strip() not in ("", "}", "} else {"):
                self.lines += 1
                self.mapped += number in entries
                self.exact += number in entries and not entries[number].via.is_guess

    def __str__(self) -> str:
        lines = max(self.lines, 1)
        return (
            f"{self.lines:7} lines, {self.mapped / lines:7.2%} mapped, "
            f"{self.exact / lines:7.2%} exactly"
        )


@dataclass
class Cost:
    """Seconds with and without the map, and those of bare TVM where it was asked."""

    with_map: list[float] = field(default_factory=list)
    without: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        mine, without = statistics.median(self.with_map), statistics.median(self.without)
        text = f"{mine * 1e3:7.0f} ms with, {without * 1e3:7.0f} without"
        if self.bare:
            bare = statistics.median(self.bare)
            text += f", {bare * 1e3:7.0f} bare; map/bare {(mine - without) / bare:+.3f}"
        return f"{text}; map/build {(mine - without) / without:+.3f}"


async def timed(compiler: Compiler, request: BuildRequest) -> tuple[float, BuildResult]:
    start = time.perf_counter()
    result = await compiler.build(request)
    return time.perf_counter() - start, result


async def example(compiler: Compiler, interpreter: str, path: Path, repeat: int) -> None:
    text = path.read_text()
    builder = find_builders(text)[0]
    request = prepare(path, text, builder, limits=LIMIT)
    bare = Bare(interpreter, path, builder)
    cost, coverage = Cost(), Coverage()
    try:
        bare.seconds()
        await compiler.build(request)
        for number in range(repeat):
            cost.bare.append(bare.seconds())
            edited = changed(request, number)
            seconds, result = await timed(compiler, edited)
            cost.with_map.append(seconds)
            cost.without.append((await timed(compiler, replace(edited, source_map=False)))[0])
    finally:
        bare.close()
    for kernel in result.kernels:
        coverage.add(kernel)
    print(f"{path.stem:30} {coverage}; {cost}", flush=True)


async def registered(compiler: Compiler, corpus: Path) -> None:
    coverage = Coverage()
    with_map = without = 0.0
    built, failed, different, unmapped = 0, [], [], []
    for path in sorted(corpus.rglob("*.py")):
        text = path.read_text("utf-8")
        builder = find_builder(text, "get_kernel")
        if builder is None or not builder.is_registered:
            continue
        request = prepare(path, text, builder, workspace=[STAND_INS], limits=LIMIT)
        seconds, result = await timed(compiler, request)
        if not result.kernels:
            failed.append(f"{path.stem}: {result.diagnostics[0].message[:100]}")
            continue
        plain_seconds, plain = await timed(compiler, replace(request, source_map=False))
        built += 1
        with_map, without = with_map + seconds, without + plain_seconds
        unmapped += [item.message for item in result.diagnostics]
        one = Coverage()
        for kernel, other in zip(result.kernels, plain.kernels, strict=True):
            if kernel.cuda != other.cuda:
                different.append(path.stem)
            one.add(kernel)
            coverage.add(kernel)
        ratio = (seconds - plain_seconds) / plain_seconds
        print(f"{path.stem:60.60} {one}; {plain_seconds:6.2f} s, map {ratio:+.3f}", flush=True)
    for said in (*failed, *unmapped):
        print(f"not built or not mapped: {said}")
    print(f"CUDA that a map made another: {different or 'none'}")
    print(
        f"{built} registered kernels: {coverage}; {with_map:.0f} s with, {without:.0f} s without, "
        f"map/build {(with_map - without) / without:+.3f}"
    )


async def measure(arguments: argparse.Namespace) -> None:
    compiler = Compiler(LocalLauncher(arguments.interpreter))
    try:
        if arguments.repeat:
            for path in sorted(arguments.kernels.glob("*.py")):
                await example(compiler, arguments.interpreter, path.absolute(), arguments.repeat)
        if arguments.corpus.is_dir():
            await registered(compiler, arguments.corpus.absolute())
    finally:
        await compiler.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="0 leaves the examples out")
    parser.add_argument("--kernels", type=Path, default=KERNELS)
    parser.add_argument("--corpus", type=Path, default=ROOT / ".build" / "corpus")
    parser.add_argument("--interpreter", default=sys.executable)
    asyncio.run(measure(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
