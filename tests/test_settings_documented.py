"""The settings of package.json, of docs/configuration.md and of the server are the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tirx_lens.compile.prepare import DEFAULT_ARCH
from tirx_lens.lsp.settings import SECTION, Settings, read_settings

ROOT = Path(__file__).parents[1]
MANIFEST = json.loads((ROOT / "package.json").read_text("utf-8"))
PROPERTIES = MANIFEST["contributes"]["configuration"]["properties"]
RESTRICTED = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
ROW = re.compile(r"^\| `(tirx-lens\.[\w.]+)` \| `(.+?)` \| (\w+) \| (.+) \|$", re.MULTILINE)
ROWS = {row[1]: row for row in ROW.finditer((ROOT / "docs/configuration.md").read_text("utf-8"))}
# Where the server knows no default of its own, what an empty value comes to there.
COMES_TO = {"build.arch": DEFAULT_ARCH, "select": [], "logLevel": "info"}


def test_every_setting_has_a_row_and_every_row_a_setting() -> None:
    assert set(ROWS) == set(PROPERTIES)


@pytest.mark.parametrize("name", PROPERTIES)
def test_its_row_says_what_the_manifest_says(name: str) -> None:
    setting, row = PROPERTIES[name], ROWS[name]
    assert json.loads(row[2]) == setting["default"]
    guarded = "trust" if name in RESTRICTED else "any"
    assert row[3] == ("machine" if setting["scope"] == "machine" else guarded)
    for word in setting.get("enum", ()):
        assert f"`{word}`" in row[4] or json.dumps(word) == row[2]
    if "minimum" in setting:
        assert f"{setting['minimum']} to {setting['maximum']}" in row[4]


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_server_takes_its_default_and_has_the_same(name: str) -> None:
    key = name.removeprefix(f"{SECTION}.")
    default = PROPERTIES[name]["default"]
    read = read_settings({key: default})
    assert read.refused == ()
    ours = read_settings({}).settings
    if key in COMES_TO:
        assert default == COMES_TO[key]
    else:
        assert read.settings == ours == Settings()


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_server_refuses_what_the_manifest_refuses(name: str) -> None:
    key = name.removeprefix(f"{SECTION}.")
    if ROWS[name][4].startswith("VS Code:"):
        assert read_settings({key: object()}).refused == ()  # it is none of the server's
        return
    setting = PROPERTIES[name]
    wrong: list[object] = [object()]
    wrong += [setting["maximum"] + 1, setting["minimum"] - 0.5] if "maximum" in setting else []
    wrong += ["nothing of these"] if "enum" in setting or "pattern" in setting else []
    wrong += [["nothing of these"]] if "pattern" in setting.get("items", {}) else []
    for value in wrong:
        (sentence,) = read_settings({key: value}).refused
        assert f"{SECTION}.{key}" in sentence
