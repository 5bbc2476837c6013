from __future__ import annotations

import sys

import pytest

from tirx_lens.compile.targets import Origin
from tirx_lens.lsp.settings import Settings, read_settings, told, unknown_options

from .raw import REAL_SERVER
from .test_rules import KERNEL


def test_valid_settings_are_taken():
    values = {
        "interpreter": ["/opt/python", "-I"],
        "build": {"arch": "sm_90a"},
        "build.timeLimit": 30,
        "select": ["TX1"],
        "ignore": ["TX102"],
        "enable": False,
        "args": ["--x"],  # a setting of VS Code's that other editors may send too
    }
    read = read_settings(values)
    assert read.refused == ()
    assert read.settings == Settings(
        ("/opt/python", "-I"), "sm_90a", 30.0, ("TX1",), ("TX102",), enable=False
    )


@pytest.mark.parametrize("values", [None, {}, {"interpreter": "", "build": {"arch": None}}])
def test_nothing_said_means_the_defaults(values):
    assert read_settings(values).settings == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interpreter", 3),
        ("interpreter", ["python", 3]),
        ("build.arch", ["sm_90a"]),
        ("build.arch", "hopper"),
        ("build.timeLimit", 0.5),
        ("build.timeLimit", True),
        ("build.timeLimit", "soon"),
        ("build.timeLimit", 86_401),
        ("build.onSave", 1),
        ("inlayHints.arrivals", "on"),
        ("logLevel", "loud"),
        ("select", "all"),
        ("select", [1]),
        ("select", ["TX1025"]),
        ("ignore", {"TX102": True}),
        ("enable", "yes"),
    ],
)
def test_an_invalid_value_is_named_with_what_is_used_instead(name, value):
    read = read_settings({"build.arch": "sm_90a"} | {name: value})
    (sentence,) = read.refused
    assert sentence.startswith(f"setting tirx-lens.{name} must be ")
    assert f", not {value!r}; using " in sentence
    assert "\n" not in sentence
    expected = Settings() if name == "build.arch" else Settings(arch="sm_90a")
    assert read.settings == expected


def test_what_is_used_instead_is_written_as_in_a_file():
    used = [
        read_settings({name: object()}).refused[0].rpartition("; using ")[2]
        for name in ("interpreter", "build.arch", "build.timeLimit", "build.onSave", "enable")
    ]
    assert used == ["[]", "the default", "120.0", "false", "true"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"ignroe": []}, "ignroe is not known and passed over; did you mean tirx-lens.ignore?"),
        (
            {"build": {"arhc": 1}},
            "build.arhc is not known and passed over; did you mean tirx-lens.build.arch?",
        ),
        (
            {"onSave": True},
            "onSave is not known and passed over; did you mean tirx-lens.build.onSave?",
        ),
        ({"colour": {"dark": 1}}, "colour is not known and passed over"),
        (
            {"build": True},
            "build is not known and passed over; did you mean tirx-lens.build.arch?",
        ),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(values, said):
    read = read_settings(values)
    assert read.settings == Settings()
    assert read.refused == (f"setting tirx-lens.{said}",)


def test_a_code_that_no_rule_has_is_passed_over():
    read = read_settings({"select": ["TX1", "TX190"], "ignore": ["TX7"]})
    assert (read.settings.select, read.settings.ignore) == (("TX1",), ())
    first, second = read.refused
    assert first.startswith("setting tirx-lens.select: no rule has a code that begins with TX190")
    assert second.startswith("setting tirx-lens.ignore: no rule has a code that begins with TX7")
    assert read_settings({"select": ["TX999"]}).settings.select is None


def test_options_that_mean_nothing_are_told():
    assert unknown_options({"trusted": True, "settings": {}, "choices": [], "targets": {}}) == ()
    first, second = unknown_options({"select": ["TX1"], "trustd": True})
    assert first.endswith("passed over; settings stand in the object `settings`")
    assert second == "initialization option 'trustd' is not known and passed over"


def test_one_message_has_the_first_problems():
    assert told(["one", "two"]) == "TIRx Lens: one. two."
    assert told([str(n) for n in range(9)]) == "TIRx Lens: 0. 1. 2. 3. 5 more are in the log."


def shown(client):
    return [m for m in client.received if m.get("method") == "window/showMessage"]


def test_each_problem_is_told_once(start):
    """In one message for all that a client sends, and again only after it was mended."""
    client = start(REAL_SERVER)

    def send(**settings):
        client.notify("workspace/didChangeConfiguration", {"settings": {"tirx-lens": settings}})
        client.request("tirxLens/targets", {"textDocument": {"uri": "file:///workspace/a.py"}})
        return [one["params"]["message"] for one in shown(client)]

    options = {"settings": {"enable": "yes", "ignroe": []}, "select": []}
    client.initialize(initializationOptions=options)
    (first,) = send(enable="yes", ignroe=[])
    assert first.startswith("TIRx Lens: initialization option 'select' is not known")
    assert "tirx-lens.enable must be true or false, not 'yes'; using true" in first
    assert "tirx-lens.ignroe is not known" in first
    assert len(send(enable="yes")) == 1
    assert len(send(enable=True)) == 1
    *_, again = send(enable="yes")
    assert (
        again == "TIRx Lens: setting tirx-lens.enable must be true or false, not 'yes'; using true."
    )


def test_an_empty_object_that_some_clients_send_changes_nothing(start):
    client = start(REAL_SERVER)
    client.initialize(initializationOptions={"settings": {"ignore": ["TX1"]}})
    client.notify("workspace/didChangeConfiguration", {"settings": {}})
    client.open("file:///workspace/a.py", KERNEL)
    assert client.diagnostics("file:///workspace/a.py")["diagnostics"] == []


def test_targets_are_read_one_by_one():
    pod = {"launcher": "command", "argv": ["kubectl", "exec", "-i", "pod", "--"]}
    bad = {"launcher": "ssh", "host": "-oProxyCommand=x", "port": 22}
    read = read_settings({"targets": {"pod": pod, "bad": bad, "local": {}}})
    (target,) = read.settings.targets
    assert (target.name, target.argv, target.origin) == ("pod", tuple(pod["argv"]), Origin.SETTINGS)
    assert len(read.refused) == 3
    for sentence, named in zip(read.refused, ("`host`", "`port`", "'local'"), strict=True):
        assert sentence.startswith("setting tirx-lens.targets, target '")
        assert named in sentence
        assert "\n" not in sentence


@pytest.mark.parametrize("value", [["pod"], "pod", 3])
def test_targets_that_are_no_object_are_refused(value):
    read = read_settings({"targets": value})
    assert read.settings.targets == ()
    (sentence,) = read.refused
    assert "tirx-lens.targets must be an object" in sentence


def test_settings_that_are_no_object_are_refused():
    read = read_settings([1, 2])
    assert read.settings == Settings()
    assert len(read.refused) == 1


def test_a_long_value_is_shown_short():
    (sentence,) = read_settings({"build.arch": ["x" * 1000]}).refused
    assert len(sentence) < 250


def test_an_untrusted_workspace_does_not_choose_the_interpreter():
    settings = Settings(interpreter=("/workspace/evil",))
    assert settings.command(trusted=True) == ("/workspace/evil",)
    assert settings.command(trusted=False) == (sys.executable,)
    assert Settings().command(trusted=True) == (sys.executable,)
