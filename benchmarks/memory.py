"""How much memory a server holds when every file of the corpus is open.

Opens all of the corpus of real kernels (`make corpus`) and the kernels of `kernels/` in one
session, as an editor does that restores its tabs, waits for the diagnostics of each and for the
server to come to rest, and reads what the system says the process holds: VmRSS, which counts shared
libraries too, and its highest value so far. TIRx Lens and its peers take turns. Linux only.

`python benchmarks/memory.py [--peers]`
"""

from __future__ import annotations

import argparse
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path

from editing import SERVERS
from listening import LONG_REST, Listener

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / ".build" / "corpus"
OURS = "TIRx Lens"
LIMIT = 600  # seconds that one session may last


@dataclass(frozen=True, slots=True)
class Held:
    """What one server held, in megabytes: after `initialize`, with all open, at most, closed."""

    started: float
    opened: float
    peak: float
    closed: float


def texts() -> dict[str, str]:
    """Return the texts of the corpus and of the example kernels by their URIs."""
    paths = [*sorted(CORPUS.rglob("*.py")), *sorted((ROOT / "kernels").rglob("*.py"))]
    return {path.absolute().as_uri(): path.read_text("utf-8") for path in paths}


def measure(command: list[str], files: dict[str, str], folder: Path) -> Held:
    """Open all files in one server and close them again."""
    client = Listener(command, LIMIT)
    client.initialize(folder)
    client.send(method="initialized", params={})
    client.come_to_rest()
    started = client.megabytes()
    for uri, text in files.items():
        client.open(uri, text)
        client.until_analysed(uri)
    client.come_to_rest(LONG_REST)
    opened, peak = client.megabytes(), client.megabytes("VmHWM")
    for uri in files:
        client.send(method="textDocument/didClose", params={"textDocument": {"uri": uri}})
    client.come_to_rest(LONG_REST)
    closed = client.megabytes()
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
    print(f"{len(files)} files, {size:.1f} MB; Python {platform.python_version()}\n")
    print("| MB | started | all open | highest | all closed |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in servers.items():
            held = measure(command, files, Path(folder))
            cells = (held.started, held.opened, held.peak, held.closed)
            print(f"| {name} | {' | '.join(f'{cell:.0f}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
