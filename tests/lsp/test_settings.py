from __future__ import annotations

import sys

import pytest

from tirx_lens.compile.targets import Origin
from tirx_lens.lsp.settings import Settings, read_settings


def test_valid_settings_are_taken():
    values = {
        "interpreter": ["/opt/python", "-I"],
        "arch": "sm_90a",
        "timeLimit": 30,
        "select": ["TX1"],
        "ignore": ["TX102"],
        "enable": False,
        "somethingElse": 1,
    }
    read = read_settings(values)
    assert read.refused == ()
    assert read.settings == Settings(
        ("/opt/python", "-I"), "sm_90a", 30.0, ("TX1",), ("TX102",), enable=False
    )


@pytest.mark.parametrize("values", [None, {}, {"interpreter": "", "arch": None}])
def test_nothing_said_means_the_defaults(values):
    assert read_settings(values).settings == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("interpreter", 3),
        ("interpreter", ["python", 3]),
        ("arch", ["sm_90a"]),
        ("timeLimit", -1),
        ("timeLimit", True),
        ("timeLimit", "soon"),
        ("select", "all"),
        ("select", [1]),
        ("ignore", {"TX102": True}),
        ("enable", "yes"),
    ],
)
def test_an_invalid_value_is_named_and_its_default_kept(name, value):
    read = read_settings({name: value, "arch": "sm_90a"} | {name: value})
    (sentence,) = read.refused
    assert f"tirx-lens.{name}" in sentence
    assert repr(value) in sentence
    assert "\n" not in sentence
    expected = Settings() if name == "arch" else Settings(arch="sm_90a")
    assert read.settings == expected


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
    (sentence,) = read_settings({"arch": ["x" * 1000]}).refused
    assert len(sentence) < 250


def test_an_untrusted_workspace_does_not_choose_the_interpreter():
    settings = Settings(interpreter=("/workspace/evil",))
    assert settings.command(trusted=True) == ("/workspace/evil",)
    assert settings.command(trusted=False) == (sys.executable,)
    assert Settings().command(trusted=True) == (sys.executable,)
