"""How long an editor waits: for a server to start, and for diagnostics after an open and a change.

TIRx Lens, `ruff server` and `basedpyright-langserver` get the same messages from the same small
client, in turns, on the largest kernel of `kernels/`. Run it with the development requirements
installed: `python benchmarks/editing.py [--changes N] [--starts N]`. It prints a Markdown table.
With `--sizes` it changes texts of several sizes instead: kernels as they are, many builders in one
file, one long kernel, and the longest file of the corpus, which has no kernel that any of the
three reads as one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from keystroke import builders, long_kernel

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
SERVERS = {
    "TIRx Lens": ["tirx-lens", "server"],
    "ruff server": ["ruff", "server"],
    "basedpyright-langserver": ["basedpyright-langserver", "--stdio"],
}
BARRIER = "T.cuda.warpgroup_sync("
# An error to each of the three: a barrier that hangs, and a name that nothing binds.
BROKEN = "T.cuda.cta_sync(); no_such_name"
MARKS = ("cta_sync", "no_such_name")
LIMIT = 60  # seconds that one session may last
CORPUS = ROOT / ".build" / "corpus"  # `make setup-test` brings it
PUBLISH = "textDocument/publishDiagnostics"


class Client:
    """One server process and the messages to and from it."""

    def __init__(self, command: list[str], limit: float = LIMIT) -> None:
        program = shutil.which(command[0], path=f"{BIN}{os.pathsep}{os.environ['PATH']}")
        if program is None:
            sys.exit(f"{command[0]} is missing: install the development requirements")
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(
            [program, *command[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.last_id = 0
        # A server that stops answering is an error of the run, not a wait without end.
        self.limit = limit
        self.watchdog = threading.Timer(limit, self.process.kill)
        self.watchdog.start()

    def send(self, **message: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def receive(self) -> dict:
        length = 0
        while header := self.process.stdout.readline().strip():
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            self.watchdog.cancel()
            raise EOFError(f"{self.process.args} ended, or did not answer for {self.limit} s")
        message = json.loads(self.process.stdout.read(length))
        if "method" in message and "id" in message:  # a request of the server's
            self.answer(message)
        return message

    def answer(self, message: dict) -> None:
        """Answer a request of the server's; whoever asks for the Python is told ours."""
        items = (message.get("params") or {}).get("items", [])
        python = {"pythonPath": sys.executable}
        result = [python if item.get("section") == "python" else None for item in items]
        self.send(id=message["id"], result=result or None)

    def request(self, method: str, params: object) -> dict:
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        while (message := self.receive()).get("id") != self.last_id or "method" in message:
            pass
        return message

    def diagnostics(self, uri: str, version: int, line: int | None, *, broken: bool) -> None:
        """Wait until a server says of a version that a line is broken, or that it is not.

        Without a line, until it says anything of that version.
        """
        while True:
            message = self.receive()
            if message.get("method") != PUBLISH or message["params"]["uri"] != uri:
                continue
            if message["params"].get("version", version) != version:
                continue
            if line is None:
                return
            here = [
                problem["message"]
                for problem in message["params"]["diagnostics"]
                if problem["range"]["start"]["line"] == line
            ]
            if broken == any(mark in said for said in here for mark in MARKS):
                return

    def initialize(self, folder: Path) -> None:
        self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": folder.as_uri(),
                "workspaceFolders": [{"uri": folder.as_uri(), "name": "kernels"}],
                "capabilities": {
                    "workspace": {"configuration": True, "workspaceFolders": True},
                    "textDocument": {
                        "synchronization": {"didSave": True},
                        "publishDiagnostics": {"versionSupport": True, "relatedInformation": True},
                    },
                },
            },
        )

    def stop(self) -> None:
        self.request("shutdown", None)
        self.send(method="exit")
        self.watchdog.cancel()
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


@dataclass
class Times:
    """What was measured of one server, in milliseconds."""

    initialize: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    changed: list[float] = field(default_factory=list)

    def rows(self) -> dict[str, list[float]]:
        return {
            "start to `initialize` reply": self.initialize,
            "didOpen to diagnostics, first file": self.opened,
            "start to first diagnostics": [
                first + second for first, second in zip(self.initialize, self.opened, strict=True)
            ],
            "didChange to diagnostics": self.changed,
        }


def measure(
    command: list[str], path: Path, times: Times, changes: int, place: str | None = BARRIER
) -> None:
    """Start a server once, open the file, and break and mend one line of it in turns.

    The line is the one in the middle of those with `place`. Without one it is the middle of the
    file, and any answer to a version counts.
    """
    text = path.read_text()
    lines = text.splitlines()
    with_place = [n for n, content in enumerate(lines) if place is not None and place in content]
    shown_at = with_place[len(with_place) // 2] if place is not None else None
    line = len(lines) // 2 if shown_at is None else shown_at
    column = 0 if place is None else lines[line].index(place)
    good = lines[line][column:]
    uri = path.as_uri()
    began = time.perf_counter()
    client = Client(command, LIMIT if place is not None else 10 * LIMIT)
    client.initialize(path.parent)
    times.initialize.append((time.perf_counter() - began) * 1000)
    client.send(method="initialized", params={})
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    began = time.perf_counter()
    client.send(method="textDocument/didOpen", params={"textDocument": document})
    client.diagnostics(uri, 1, shown_at, broken=False)
    times.opened.append((time.perf_counter() - began) * 1000)
    shown = good
    for version in range(2, changes + 2):
        broken = version % 2 == 0
        # No text twice, or what a server remembers would be measured.
        other = f"{BROKEN if broken else good}  # {version}"
        change = {
            "range": {
                "start": {"line": line, "character": column},
                "end": {"line": line, "character": column + len(shown)},
            },
            "text": other,
        }
        identifier = {"uri": uri, "version": version}
        began = time.perf_counter()
        client.send(
            method="textDocument/didChange",
            params={"textDocument": identifier, "contentChanges": [change]},
        )
        client.diagnostics(uri, version, shown_at, broken=broken)
        times.changed.append((time.perf_counter() - began) * 1000)
        shown = other
    client.stop()


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(measured: dict[str, Times]) -> str:
    names = list(measured)
    lines = [
        f"| ms, median (p95) | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for label, own in measured[names[0]].rows().items():
        base = statistics.median(own)
        cells = []
        for name in names:
            values = measured[name].rows()[label]
            median = statistics.median(values)
            cell = f"{median:.1f} ({percentile(values, 0.95):.1f})"
            cells.append(cell if name == names[0] else f"{cell}, ours is {base / median:.2f}×")
        lines.append(f"| {label}, n={len(own)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--sizes", action="store_true", help="change texts of several sizes")
    arguments = parser.parse_args()
    if arguments.sizes:
        sizes(arguments.changes)
        return
    kernel = max((ROOT / "kernels").glob("*.py"), key=lambda candidate: candidate.stat().st_size)
    measured = {name: Times() for name in SERVERS}
    with tempfile.TemporaryDirectory() as folder:  # where no configuration of ours applies
        path = Path(folder, kernel.name)
        path.write_bytes(kernel.read_bytes())
        measure_all(measured, path, arguments.starts, arguments.changes)
    count = len(kernel.read_text().splitlines())
    print(f"`kernels/{kernel.name}`, {count} lines; {os.cpu_count()} cores, load ", end="")
    print(f"{os.getloadavg()[0]:.1f}, Python {platform.python_version()}\n\n{table(measured)}")


def sizes(changes: int) -> None:
    """Print how long changes take in texts of several sizes."""
    kernels = ROOT / "kernels"
    longest = max(
        CORPUS.rglob("*.py"), key=lambda file: file.read_bytes().count(b"\n"), default=None
    )
    texts = {
        "one builder": ((kernels / "gemm_step9_two_consumers.py").read_text(), BARRIER),
        "flash attention": ((kernels / "flash_attention.py").read_text(), BARRIER),
        "10 builders": (builders(10), BARRIER),
        "one long kernel": (long_kernel(16), BARRIER),
        "74 builders": (builders(74), BARRIER),
    }
    if longest is not None:
        texts[longest.name] = longest.read_text(), None
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python ", end="")
    print(f"{platform.python_version()}, {changes} changes of each\n")
    print(f"| ms, median (p95) | lines | {' | '.join(SERVERS)} |")
    print(f"|---|---|{'---|' * len(SERVERS)}")
    for name, (text, place) in texts.items():
        cells = []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernel.py")
            path.write_text(text)
            for command in SERVERS.values():
                times = Times()
                measure(command, path, times, changes, place)
                p95 = percentile(times.changed, 0.95)
                cells.append(f"{statistics.median(times.changed):.1f} ({p95:.1f})")
        print(f"| {name} | {text.count(chr(10))} | {' | '.join(cells)} |", flush=True)


def measure_all(measured: dict[str, Times], path: Path, starts: int, changes: int) -> None:
    """Take the servers in turns. A first round, which warms caches, counts for nothing."""
    for start in range(starts + 1):
        for name, command in SERVERS.items():
            times = measured[name] if start else Times()
            measure(command, path, times, max(1, changes // starts))


if __name__ == "__main__":
    main()
