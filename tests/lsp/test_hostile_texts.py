"""One server, one hostile text after another in one document: each is answered, none is fatal."""

from __future__ import annotations

from hostile.texts import CONSTANTS, GROWING, NESTED, WIDE

from .raw import REAL_SERVER

URI = "file:///a.py"
DEEP, LONG = 3_000, 2_000
TEXTS = [
    *CONSTANTS.values(),
    *(make(LONG) for make in GROWING.values()),
    NESTED["ifs"](DEEP),
    NESTED["host functions"](DEEP),
    WIDE["elif"](DEEP),
    WIDE["one line"](DEEP),
]


def test_the_server_survives_them_all(start) -> None:
    client = start(REAL_SERVER)
    client.initialize()
    client.open(URI, "tirx")
    client.diagnostics(URI, timeout=20)
    for version, text in enumerate(TEXTS, 2):
        client.change(URI, version, {"text": "# tirx\n" + text})
        while client.diagnostics(URI, timeout=60)["version"] != version:
            pass
    assert client.stop() == 0
    assert b"Traceback" not in client.stderr
    logs = [m["params"] for m in client.received if m.get("method") == "window/logMessage"]
    information = 3  # nothing failed: it is said which kernels are too much to read
    assert all(log["type"] == information for log in logs), logs
    assert all(" is not checked: " in log["message"] for log in logs), logs
    assert any("too long once inlined" in log["message"] for log in logs)
