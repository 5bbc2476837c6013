"""What a build on another host costs above one here: the same machine, over ssh and over a pipe.

    python benchmarks/remote.py [KERNEL.py ...] [--repeat 15]

Starts a real OpenSSH server on loopback and builds each kernel through it and in the local worker,
in turns, both connected. Beside the medians stand the median of the differences of neighbours, and
the difference of the fastest ones: a busy machine spoils that least. A module that builds nothing
shows the way there and back alone. Then connections are made anew, and the time from the request to
the CUDA is told by stage.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the server is that of the tests

from tests.remote.sshd import HOST, LoopbackSshd, why_no_sshd  # noqa: E402

from tirx_lens.compile.builders import find_builders  # noqa: E402
from tirx_lens.compile.local import LocalLauncher  # noqa: E402
from tirx_lens.compile.prepare import prepare  # noqa: E402
from tirx_lens.compile.request import BuildRequest, SourceFile  # noqa: E402
from tirx_lens.compile.service import Compiler, compiler_for  # noqa: E402
from tirx_lens.compile.targets import LauncherKind, Target  # noqa: E402

KERNELS = ROOT / "kernels"
DEFAULT = ("tma_ring_copy.py", "gemm_step7_warp_specialized.py")
NOTHING = SourceFile("/nowhere/nothing.py", "raise SystemExit\n")
LIMIT_MS = 30.0
"""What a remote build may cost more than a local one, once connected."""

STAGES = ("connecting to", "sending the worker", "importing TVM", "uploading", "importing ")
NAMES = ("ssh and Python", "the worker's way and start", "importing TVM", "upload", "build")


@dataclass(frozen=True)
class Times:
    """Seconds of builds here and there, in turns."""

    here: list[float]
    there: list[float]

    @property
    def difference(self) -> float:
        pairs = zip(self.here, self.there, strict=True)
        return statistics.median(there - here for here, there in pairs)

    @property
    def of_fastest(self) -> float:
        return min(self.there) - min(self.here)


def changed(request: BuildRequest, number: int) -> BuildRequest:
    """Return the request with another last line, as an edit makes it: no cache knows it."""
    entry, *others = request.files
    return replace(request, files=(SourceFile(entry.path, f"{entry.text}\n# {number}\n"), *others))


async def seconds_of(compiler: Compiler, request: BuildRequest) -> float:
    start = time.perf_counter()
    result = await compiler.build(request)
    if result.failed and request.entry != NOTHING.path:
        raise SystemExit(f"{request.entry}: {result.diagnostics[0].message}")
    return time.perf_counter() - start


async def connected(target: Target, request: BuildRequest, repeat: int) -> Times:
    here, there = Compiler(LocalLauncher(sys.executable)), compiler_for(target)
    times = Times([], [])
    try:
        for compiler in (here, there):
            await seconds_of(compiler, request)
        for number in range(repeat):
            asked = changed(request, number)
            pairs = [(here, times.here), (there, times.there)]
            for compiler, taken in pairs if number % 2 else reversed(pairs):
                taken.append(await seconds_of(compiler, asked))
    finally:
        await here.close()
        await there.close()
    return times


async def cold(target: Target, request: BuildRequest) -> list[float]:
    """Return the seconds of each stage of a build that begins with the connection."""
    compiler = compiler_for(target)
    begun: dict[str, float] = {}

    def listen(text: str) -> None:
        for stage in STAGES:
            if text.startswith(stage):
                begun.setdefault(stage, time.perf_counter())
                return

    try:
        result = await compiler.build(request, listen)
        end = time.perf_counter()
    finally:
        await compiler.close()
    if result.failed:
        raise SystemExit(f"{request.entry}: {result.diagnostics[0].message}")
    moments = [*(begun[stage] for stage in STAGES), end]
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


async def measure(target: Target, paths: list[Path], repeat: int) -> None:
    requests = []
    for path in paths:
        text = path.read_text()
        requests.append(prepare(path, text, find_builders(text)[0]))
    columns = f"{'here ms':>9} {'there ms':>9} {'ratio':>6} {'difference':>11} {'of fastest':>11}"
    print(f"{'connected':32} {columns}")
    nothing = replace(requests[0], entry=NOTHING.path, files=(NOTHING,))
    for request in (nothing, *requests):
        times = await connected(target, request, repeat)
        here, there = statistics.median(times.here), statistics.median(times.there)
        print(
            f"{Path(request.entry).stem:32} {here * 1e3:9.0f} {there * 1e3:9.0f} "
            f"{there / here:6.2f} {times.difference * 1e3:11.1f} {times.of_fastest * 1e3:11.1f}"
            f"  (at most {LIMIT_MS:g})",
            flush=True,
        )
    print(f"\n{'cold, ms':32} " + "  ".join(NAMES) + "  all")
    for request in requests:
        runs = [await cold(target, request) for _ in range(max(repeat // 3, 1))]
        stages = [statistics.median(run[number] for run in runs) for number in range(len(NAMES))]
        figures = [*stages, statistics.median(map(sum, runs))]
        widths = [*map(len, NAMES), len("all")]
        cells = (f"{one * 1e3:{width}.0f}" for one, width in zip(figures, widths, strict=True))
        print(f"{Path(request.entry).stem:32} " + "  ".join(cells), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", type=Path)
    parser.add_argument("--repeat", type=int, default=15)
    arguments = parser.parse_args()
    reason = why_no_sshd()
    if reason is not None:
        raise SystemExit(reason)
    paths = [path.absolute() for path in arguments.kernels] or [KERNELS / name for name in DEFAULT]
    with tempfile.TemporaryDirectory() as folder, LoopbackSshd(Path(folder)) as server:
        target = Target(
            "loopback",
            LauncherKind.SSH,
            host=HOST,
            ssh_args=server.ssh_args,
            python=(sys.executable,),
        )
        asyncio.run(measure(target, paths, arguments.repeat))
    return 0


if __name__ == "__main__":
    sys.exit(main())
