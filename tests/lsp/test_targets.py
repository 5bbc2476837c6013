"""Where builds go: targets listed, chosen, confirmed, and refused, with builds that run nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from pathlib import Path

    from .raw import RawClient

KERNEL = """\
from tvm.script import tirx as T


def gemm(M=128):
    @T.prim_func
    def kernel(a: T.Buffer((M,), "float16")):
        a[0] = 1.0
    return kernel
"""
GPU1 = {
    "launcher": "ssh",
    "host": "me@gpu1",
    "python": "/opt/tvm/bin/python",
    "arch": "sm_103a",
    "time_limit": 30,
}
TABLE = """\
[tool.tirx-lens.targets.pod]
launcher = "command"
argv = ["kubectl", "exec", "-i", "pod one", "--"]
python = "python3"
env = { CUDA_VISIBLE_DEVICES = "0" }

[tool.tirx-lens.targets.second]
python = "/opt/second/python"
"""


class Workspace:
    """A folder with a kernel and a pyproject.toml, and a server that has the kernel open."""

    def __init__(self, client: RawClient, folder: Path, table: str = TABLE, **options: Any) -> None:
        self.client = client
        self.configuration = folder / "pyproject.toml"
        self.configuration.write_text(table)
        self.uri = (folder / "kernel.py").as_uri()
        settings = options.pop("settings", {})
        client.initialize(
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
            initializationOptions={"trusted": True, "settings": settings} | options,
        )
        client.open(self.uri, KERNEL)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        document = {"textDocument": {"uri": self.uri}}
        reply: dict[str, Any] = self.client.request(f"tirxLens/{method}", document | params)
        return reply["result"]

    def targets(self) -> dict[str, tuple[str, bool]]:
        """Return the origin of each target, and whether it may be used."""
        listed = self.ask("targets")["targets"]
        return {one["name"]: (one["origin"], one["usable"]) for one in listed}

    def command(self) -> list[str]:
        """Build, and return the words that would have been run."""
        return json.loads(self.ask("cuda")["text"])["command"]

    def confirm(self, name: str) -> dict[str, Any]:
        """Choose a target of the project, and confirm what is shown for it."""
        asked = self.ask("chooseTarget", name=name)
        assert asked["kind"] == "confirmTarget"
        return self.ask("chooseTarget", name=name, confirmed=asked["fingerprint"])

    def change(self, old: str, new: str) -> None:
        text = self.configuration.read_text()
        assert old in text
        self.configuration.write_text(text.replace(old, new))
        change = {"uri": self.configuration.as_uri(), "type": 2}
        self.client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})


@pytest.fixture
def make(start, tmp_path):
    return lambda **options: Workspace(start(), tmp_path, **options)


def test_all_targets_are_listed(make):
    workspace = make(settings={"targets": {"gpu1": GPU1}, "interpreter": ["/opt/python"]})
    reply = workspace.ask("targets")
    assert (reply["kind"], reply["chosen"]) == ("targets", "local")
    assert [(one["name"], one["summary"]) for one in reply["targets"]] == [
        ("local", "/opt/python"),
        ("gpu1", "ssh me@gpu1, /opt/tvm/bin/python"),
        ("pod", "kubectl exec -i 'pod one' -- python3"),
        ("second", "/opt/second/python"),
    ]
    assert workspace.targets() == {
        "local": ("built-in", True),
        "gpu1": ("settings", True),
        "pod": ("project", False),
        "second": ("project", False),
    }


def test_without_a_document_the_targets_are_those_of_the_first_folder(make):
    workspace = make()
    listed = workspace.client.request("tirxLens/targets", None)["result"]
    assert [one["name"] for one in listed["targets"]] == ["local", "pod", "second"]


def test_a_project_within_the_workspace_has_targets_of_its_own(make, tmp_path):
    workspace = make()
    workspace.confirm("pod")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text(TABLE.replace("pod one", "evil"))
    workspace.uri = (inner / "kernel.py").as_uri()
    workspace.client.open(workspace.uri, KERNEL)
    refused = workspace.ask("cuda")
    assert refused["kind"] == "confirmTarget"
    assert '"evil"' in refused["text"]


def test_a_target_of_the_settings_builds_as_it_says(make):
    settings = {"targets": {"gpu1": GPU1}, "build": {"arch": "sm_90a", "timeLimit": 7}}
    workspace = make(settings=settings)
    assert workspace.ask("chooseTarget", name="gpu1")["chosen"] == "gpu1"
    built = json.loads(workspace.ask("cuda")["text"])
    assert (built["command"], built["arch"]) == (["/opt/tvm/bin/python"], "sm_103a")
    assert built["limit"] == 30.0
    # The request's own word counts before the target's.
    assert json.loads(workspace.ask("cuda", arch="sm_120a")["text"])["arch"] == "sm_120a"
    workspace.ask("chooseTarget", name="local")
    built = json.loads(workspace.ask("cuda")["text"])
    assert (built["arch"], built["limit"]) == ("sm_90a", 7.0)


def test_a_target_of_the_project_is_used_once_it_is_confirmed(make):
    workspace = make()
    local = workspace.command()
    asked = workspace.ask("chooseTarget", name="pod")
    assert (asked["kind"], asked["name"]) == ("confirmTarget", "pod")
    shown = asked["text"]  # in full, and all of the project's
    for part in ('"kubectl", "exec", "-i", "pod one", "--"', "CUDA_VISIBLE_DEVICES", "second"):
        assert part in shown
    assert shown.isascii()
    assert workspace.ask("targets")["chosen"] == "local"
    assert workspace.command() == local
    assert workspace.ask("chooseTarget", name="pod", confirmed="0" * 64) == asked
    assert workspace.command() == local
    listed = workspace.ask("chooseTarget", name="pod", confirmed=asked["fingerprint"])
    assert (listed["kind"], listed["chosen"]) == ("targets", "pod")
    assert workspace.command() == ["kubectl", "exec", "-i", "pod one", "--", "python3"]
    assert workspace.targets()["second"] == ("project", True)


def test_several_targets_stay_open(make):
    workspace = make(settings={"targets": {"gpu1": GPU1}})
    for name in ("gpu1", "local", "gpu1"):
        workspace.ask("chooseTarget", name=name)
        workspace.command()
    assert closed(workspace) == 0
    assert workspace.client.stop() == 0
    assert closed(workspace) == 2  # with the session


def closed(workspace: Workspace) -> int:
    """Count the compilers that are told to have been closed."""
    return sum("was closed" in str(m.get("params")) for m in workspace.client.received)


def test_what_is_confirmed_hides_nothing(make):
    """Neither colours nor characters that turn the direction of writing change what is read."""
    workspace = make(table=TABLE.replace("pod one", "a\\u001b[8mb\\u202ec\u2066"))
    text = workspace.ask("chooseTarget", name="pod")["text"]
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert r'"a\u001b[8mb\u202ec\u2066"' in text
    (pod,) = (one for one in workspace.ask("targets")["targets"] if one["name"] == "pod")
    assert r"b\u202ec\u2066" in pod["summary"]
    assert pod["summary"].isprintable()


def test_targets_that_change_are_confirmed_anew(make):
    workspace = make()
    first = workspace.confirm("pod")
    assert first["chosen"] == "pod"
    workspace.command()
    workspace.change("pod one", "pod two")
    refused = workspace.ask("cuda")
    assert (refused["kind"], refused["name"]) == ("confirmTarget", "pod")
    assert "pod two" in refused["text"]
    assert "not confirmed" in refused["message"]
    workspace.confirm("pod")
    assert workspace.command() == ["kubectl", "exec", "-i", "pod two", "--", "python3"]
    closed = workspace.client.wait(lambda m: "was closed" in str(m.get("params")))
    assert "python3" in closed["params"]["message"]
    # What was confirmed once stays so.
    workspace.change("pod two", "pod one")
    assert workspace.command() == ["kubectl", "exec", "-i", "pod one", "--", "python3"]


def test_another_target_of_the_project_that_changes_is_confirmed_too(make):
    workspace = make()
    workspace.confirm("pod")
    workspace.change("/opt/second/python", "/tmp/evil")
    assert workspace.ask("cuda")["kind"] == "confirmTarget"


def test_a_save_builds_at_no_target_that_is_not_confirmed(make):
    workspace = make(settings={"build.onSave": True}, targets={"chosen": "pod", "confirmed": []})
    workspace.client.notification("tirxLens/status")
    workspace.client.notify("textDocument/didSave", {"textDocument": {"uri": workspace.uri}})
    status = workspace.client.notification("tirxLens/status")
    assert (status["state"], status["target"]) == ("failed", "pod")
    assert "choose the target again" in status["message"]


def test_choice_and_confirmations_are_taken_from_the_client(make, start, tmp_path):
    fingerprint = make().ask("chooseTarget", name="pod")["fingerprint"]
    remembered = {"chosen": "pod", "confirmed": ["f" * 64, fingerprint]}
    again = Workspace(start(), tmp_path, targets=remembered)
    assert again.client.notification("tirxLens/status")["target"] == "pod"
    assert again.command() == ["kubectl", "exec", "-i", "pod one", "--", "python3"]


@pytest.mark.parametrize("said", [None, [], "pod", {"chosen": 3, "confirmed": "all"}])
def test_a_memory_that_is_none_means_the_local_target(make, said):
    workspace = make(targets=said, settings={"interpreter": ["/opt/python"]})
    assert workspace.command() == ["/opt/python"]
    assert workspace.targets()["pod"] == ("project", False)


def test_a_target_of_the_settings_wins_over_one_of_the_project(make):
    workspace = make(settings={"targets": {"pod": GPU1}})
    assert workspace.targets()["pod"] == ("settings", True)
    workspace.ask("chooseTarget", name="pod")
    assert workspace.command() == ["/opt/tvm/bin/python"]


def test_a_target_that_is_not_there_is_said(make):
    workspace = make(targets={"chosen": "gone\x1b[31m", "confirmed": []})
    reply = workspace.ask("cuda")
    assert reply["kind"] == "failed"
    assert "choose one of local, pod, second." in reply["message"]
    assert "\x1b" not in reply["message"]
    for state in ("ready", "failed"):
        assert workspace.client.notification("tirxLens/status")["state"] == state
    assert workspace.ask("chooseTarget", name="third")["kind"] == "failed"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("chooseTarget", {"name": 3}),
        ("chooseTarget", {"name": "pod", "confirmed": ["x"]}),
        ("chooseTarget", {"name": "pod", "textDocument": {}}),
        ("targets", {"textDocument": {"uri": 3}}),
        ("targets", {"textDocument": "kernel.py"}),
    ],
)
def test_a_malformed_request_is_answered(make, method, params):
    workspace = make()
    reply = workspace.ask(method, **params)
    assert reply["kind"] == "failed"
    assert "malformed" in reply["message"]


def test_settings_that_make_no_target_are_told(make):
    bad = {"launcher": "ssh", "host": "-oProxyCommand=evil"}
    workspace = make(settings={"targets": {"bad": bad, "gpu1": GPU1}})
    said = workspace.client.wait(lambda m: "tirx-lens.targets" in str(m.get("params")))
    assert "target 'bad' is left out: `host` must be" in said["params"]["message"]
    assert list(workspace.targets()) == ["local", "gpu1", "pod", "second"]


def test_all_targets_that_may_be_used_are_checked(make):
    workspace = make(settings={"targets": {"gpu1": GPU1}, "build.arch": "sm_100a"})
    reply = workspace.ask("doctor")
    assert reply["kind"] == "doctor"
    local, gpu1, left = reply["text"].split("\n\n")
    assert local.startswith("local: not good  (")
    assert "  TVM      0.27.0 at /opt/tvm\n" in local
    assert "  GPU      H100 <b> (compute capability 9.0, sm_90a, driver 580.1)\n" in local
    assert "does not run what is built for sm_100a" in local
    assert "(TX507)" in local
    assert gpu1.startswith("gpu1: no answer  (ssh me@gpu1, /opt/tvm/bin/python)\n")
    assert "  error: me@gpu1 does not answer: try `ssh gpu1 true`" in gpu1
    assert "not confirmed: pod, second." in left
    assert "\x1b" not in reply["text"]
    workspace.confirm("pod")
    assert "pod: not good  (kubectl exec" in workspace.ask("doctor")["text"]


def test_a_gpu_that_does_not_run_the_kernel_is_said_at_the_import(make):
    workspace = make()
    workspace.confirm("pod")
    for _ in range(2):  # the second time it is known
        workspace.command()
        while not (said := workspace.client.diagnostics(workspace.uri)["diagnostics"]):
            pass
        assert (said[0]["code"], said[0]["range"]["start"]["line"]) == ("TX507", 0)
        assert said[0]["message"].startswith("The GPU of pod is not Blackwell: H100")
        assert "\x1b" not in said[0]["message"]
    workspace.ask("chooseTarget", name="local")
    workspace.command()
    while workspace.client.diagnostics(workspace.uri)["diagnostics"]:
        pass  # those of the text with what another target's TVM has


# Run in an untrusted workspace, any of these would leave the mark.
EVIL = """\
[tool.tirx-lens.targets.evil]
launcher = "command"
argv = ["{program}"]

[tool.tirx-lens.targets.other]
python = "{program}"
"""


@pytest.mark.parametrize("trusted", [False, None, "true", 1])
def test_forged_requests_run_nothing_in_an_untrusted_server(start, tmp_path, trusted):
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    client = start(REAL_SERVER)
    settings = {"targets": {"mine": {"python": str(program)}}, "interpreter": [str(program)]}
    workspace = Workspace(
        client,
        tmp_path,
        EVIL.format(program=program),
        settings=settings,
        trusted=trusted,
        targets={"chosen": "evil", "confirmed": [fingerprint_of(EVIL.format(program=program))]},
    )
    fingerprint = fingerprint_of(EVIL.format(program=program))
    for name in ("evil", "other", "mine", "local"):
        reply = workspace.ask("chooseTarget", name=name, confirmed=fingerprint, trusted=True)
        assert reply["message"].startswith("This workspace is not trusted")
        reply = workspace.ask("cuda", builder="gemm", trusted=True, target=name)
        assert reply["message"].startswith("This workspace is not trusted")
    for method in ("targets", "doctor"):
        assert workspace.ask(method, trusted=True)["kind"] == "failed"
    assert client.stop() == 0
    assert not mark.exists()


def fingerprint_of(table: str) -> str:
    """Return the fingerprint that a user's confirmation of a project's targets has."""
    from tirx_lens.compile.targets import Targets
    from tirx_lens.configuration.read import read_configuration
    from tirx_lens.model.source import SourceText

    configuration = read_configuration(SourceText(table)).configuration
    assert configuration is not None
    assert configuration.targets
    return Targets(configuration.targets).fingerprint


def test_trust_that_is_granted_later_lets_the_chosen_target_build(make):
    workspace = make(
        trusted=False, settings={"targets": {"gpu1": GPU1}}, targets={"chosen": "gpu1"}
    )
    assert workspace.client.notification("tirxLens/status")["target"] == "local"
    assert workspace.ask("cuda")["kind"] == "failed"
    workspace.client.notify("tirxLens/didGrantTrust", None)
    assert workspace.client.notification("tirxLens/status")["target"] == "gpu1"
    assert workspace.command() == ["/opt/tvm/bin/python"]


def test_the_mark_would_be_seen(start, tmp_path):
    """The same requests in a trusted server do run the program."""
    mark = tmp_path / "mark"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    table = EVIL.format(program=program)
    remembered = {"chosen": "evil", "confirmed": [fingerprint_of(table)]}
    workspace = Workspace(start(REAL_SERVER), tmp_path, table, targets=remembered)
    assert workspace.ask("cuda")["kind"] == "failed"
    assert mark.exists()


def test_a_server_starts_without_what_targets_need():
    program = """if True:
        import sys
        from tirx_lens.lsp.server import create_server
        from tirx_lens.lsp.settings import read_settings
        server = create_server()
        read_settings({"targets": {}, "interpreter": ["python"]})
        server.targets.restore({"chosen": "gpu1", "confirmed": []})
        assert not [name for name in sys.modules if name.startswith("tirx_lens.compile")]
    """
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
