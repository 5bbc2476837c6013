"""How much memory a server holds when every file of the corpus is open.

Opens all of the corpus of real kernels (`make corpus`) and the kernels of `kernels/` in one session,
as an editor does that restores its tabs, waits for the diagnostics of each and for the server to come
to rest, and reads what the system says the process holds: VmRSS, which counts shared libraries
too, and its highest value so far. TIRx Lens and its peers take turns. Linux only.

`python benchmarks/memory.py [--peers]`
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from editing import PUBLISH, SERVERS, Client

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / ".build" / "corpus"
OURS = "TIRx Lens"
REST = 1.0  # seconds without a tick of processor time, after which a server is at rest
LIMIT = 600  # seconds that one session may last


@dataclass(frozen=True, slots=True)
class Held:
    """What one server held, in megabytes: after `initialize`, with all open, at most, closed."""

    started: float
    opened: float
    peak: float
    closed: float


def status(process: int, key: str) -> float:
    """Return a line of what Linux says of a process's memory, in megabytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    value = next(line for line in lines if line.startswith(key))
    return int(value.split()[1]) / 1024


def ticks(process: int) -> int:
    """Return the processor time of a process so far, in the system's ticks."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def come_to_rest(process: int) -> None:
    """Wait until a process has had nothing to do for a while."""
    before, since = ticks(process), time.monotonic()
    while time.monotonic() - since < REST:
        time.sleep(0.1)
        if (now := ticks(process)) > before + 1:
            before, since = now, time.monotonic()


def texts() -> dict[str, str]:
    """Return the texts of the corpus and of the example kernels by their URIs."""
    paths = [*sorted(CORPUS.rglob("*.py")), *sorted((ROOT / "kernels").rglob("*.py"))]
    return {path.absolute().as_uri(): path.read_text("utf-8") for path in paths}


def measure(command: list[str], files: dict[str, str], folder: Path) -> Held:
    """Open all files in one server and close them again."""
    client = Client(command, LIMIT)
    process = client.process.pid
    client.initialize(folder)
    client.send(method="initialized", params={})
    come_to_rest(process)
    started = status(process, "VmRSS")
    for uri, text in files.items():
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        client.send(method="textDocument/didOpen", params={"textDocument": document})
        awaited = client.receive()
        while awaited.get("method") != PUBLISH or awaited["params"]["uri"] != uri:
            awaited = client.receive()
    come_to_rest(process)
    opened, peak = status(process, "VmRSS"), status(process, "VmHWM")
    for uri in files:
        client.send(method="textDocument/didClose", params={"textDocument": {"uri": uri}})
    come_to_rest(process)
    closed = status(process, "VmRSS")
    client.stop()
    return Held(started, opened, peak, closed)


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", action="store_true", help="measure the peers too")
    files = texts()
    if not CORPUS.is_dir():
        raise SystemExit("unpack the corpus with: make corpus")
    servers = SERVERS if parser.parse_args().peers else {OURS: SERVERS[OURS]}
    size = sum(len(text.encode()) for text in files.values()) / 1e6
    print(f"{len(files)} files, {size:.1f} MB; Python {platform.python_version()}, {os.uname().sysname}\n")
    print("| MB | started | all open | highest | all closed |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in servers.items():
            held = measure(command, files, Path(folder))
            cells = (held.started, held.opened, held.peak, held.closed)
            print(f"| {name} | {' | '.join(f'{cell:.0f}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
