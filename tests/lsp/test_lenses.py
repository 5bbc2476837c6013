"""Code lenses over builders, and the arguments that are chosen there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .raw import FAKE_SERVER, REAL_SERVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from .raw import RawClient

KERNELS = Path(__file__).parents[2] / "kernels"
STEP2 = (KERNELS / "gemm_step2_k_loop.py").read_text("utf-8")
ARGUMENTS = "# tirx-lens: args M=128 N=128 K=256"
BARE = STEP2.replace(ARGUMENTS + "\n", "").partition("def run_correctness")[0]
TABLE = "[tool.tirx-lens.arguments]\ngemm = [{ M = 128, N = 128, K = 512 }, { K = 1024 }]\n"
COMMANDS = [
    "tirx-lens.showGeneratedCuda",
    "tirx-lens.showWorksheet",
    "tirx-lens.showTimeline",
    "tirx-lens.chooseArguments",
    "tirx-lens.goToFinding",
]
USE = "tirx-lens.server.useArguments"
REFRESH = "workspace/codeLens/refresh"


class Editor:
    """A client that shows lenses, with one file open."""

    def __init__(self, client: RawClient, folder: Path, text: str, **options: Any) -> None:
        self.client = client
        self.uri = (folder / "gemm.py").as_uri()
        initial = {"commands": COMMANDS, "trusted": True} | options
        client.initialize(
            capabilities={"workspace": {"codeLens": {"refreshSupport": True}}},
            initializationOptions=initial,
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
        )
        client.open(self.uri, text)

    def ask(self, method: str, **params: Any) -> Any:
        params = {"textDocument": {"uri": self.uri}} | params
        reply = self.client.request(method, params, 30)
        assert "result" in reply, reply
        return reply["result"]

    def lenses(self) -> list[dict[str, Any]] | None:
        return self.ask("textDocument/codeLens")

    def titles(self) -> list[str]:
        return [lens["command"]["title"] for lens in self.lenses()]

    def use(self, builder: str | None = "gemm", **chosen: Any) -> dict[str, Any]:
        choice = {"textDocument": {"uri": self.uri}, "builder": builder, **chosen}
        params = {"command": USE, "arguments": [choice]}
        return self.client.request("workspace/executeCommand", params)

    def refreshed(self) -> None:
        self.client.wait(lambda m: m.get("method") == REFRESH, 30)


@pytest.fixture
def edit(start, tmp_path: Path) -> Callable[..., Editor]:
    def open_in_editor(text: str, server: list[str] = REAL_SERVER, **options: Any) -> Editor:
        return Editor(start(server), tmp_path, text, **options)

    return open_in_editor


def test_each_builder_has_its_commands_and_arguments(edit) -> None:
    other = BARE[BARE.index("def gemm(") :].replace("def gemm(", "def other(")
    text = STEP2 + "\n\n# tirx-lens: args M=256 N=128 K=64\n" + other
    editor = edit(text)
    lenses = editor.lenses()
    lines = text.splitlines()
    first = lines.index(ARGUMENTS)
    second = lines.index("# tirx-lens: args M=256 N=128 K=64")
    assert [lens["range"]["start"]["line"] for lens in lenses] == [first] * 4 + [second] * 4
    assert [lens["command"]["title"] for lens in lenses] == [
        "Show CUDA",
        "Worksheet",
        "Timeline",
        "M=128, N=128, K=256 (from the comment)",
        "Show CUDA",
        "Worksheet",
        "Timeline",
        "M=256, N=128, K=64 (from the comment)",
    ]
    assert [lens["command"]["command"] for lens in lenses[:4]] == COMMANDS[:4]
    assert lenses[4]["command"]["arguments"] == [editor.uri, "other"]


@pytest.mark.parametrize(
    "options", [{"commands": None}, {"commands": "all"}, {"settings": {"codeLens": False}}]
)
def test_there_are_none_where_nobody_could_follow_them_or_they_are_off(edit, options) -> None:
    assert edit(STEP2, **options).lenses() is None


def test_a_client_gets_those_that_it_carries_out(edit) -> None:
    assert edit(STEP2, commands=["tirx-lens.showWorksheet", 7]).titles() == ["Worksheet"]


def test_a_file_without_a_kernel_has_none(edit) -> None:
    assert edit("x = 1\n").lenses() is None
    assert edit("# tirx\n").lenses() == []


def test_a_file_that_is_excluded_has_none(edit, tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.tirx-lens]\nexclude = ["gemm.py"]\n', "utf-8")
    assert edit(STEP2).lenses() == []


def test_arguments_are_named_by_where_they_are_from(edit, tmp_path) -> None:
    editor = edit(BARE)
    assert editor.titles()[3] == "Choose M, N, K"
    editor.client.change(editor.uri, 2, {"text": BARE + "\nkernel = gemm(128, 128, 64)\n"})
    assert editor.titles()[3] == "M, N, K (from the calls in this file)"
    (tmp_path / "pyproject.toml").write_text(TABLE, "utf-8")
    project = {"changes": [{"uri": (tmp_path / "pyproject.toml").as_uri(), "type": 1}]}
    editor.client.notify("workspace/didChangeWatchedFiles", project)
    assert editor.titles()[3] == "M=128, N=128, K=512 (from pyproject.toml, 1 of 2)"
    comment = BARE.replace("def gemm(", "# tirx-lens: args M=256\ndef gemm(")
    editor.client.change(editor.uri, 3, {"text": comment})
    expected = "M=256, N=128, K=512 (from the comment and pyproject.toml, 1 of 3)"
    assert editor.titles()[3] == expected
    editor.client.change(
        editor.uri, 4, {"text": comment.replace("def gemm(M, N, K)", "def other(M, N=64, *, K)")}
    )
    assert editor.titles()[3] == "M=256, K=? (from the comment)"


def test_defaults_are_named_as_such(edit) -> None:
    text = BARE.replace("def gemm(M, N, K)", "def gemm(M=128, N=128, K=64)")
    assert edit(text).titles()[3] == "M=128, N=128, K=64 (defaults)"


def test_chosen_arguments_count_everywhere_until_they_are_given_back(edit) -> None:
    editor = edit(STEP2)
    assert editor.titles()[3] == "M=128, N=128, K=256 (from the comment)"
    before = editor.ask("tirxLens/worksheet", builder="gemm")["markdown"]
    assert editor.use(arguments={"K": "512"})["result"] is None
    editor.refreshed()
    assert editor.titles()[3] == "M=128, N=128, K=512 (chosen)"
    after = editor.ask("tirxLens/worksheet", builder="gemm")["markdown"]
    assert after != before
    assert "512" in after
    told = editor.ask("tirxLens/arguments", builder="gemm")
    assert told["parameters"] == [{"name": "M"}, {"name": "N"}, {"name": "K"}]
    assert told["own"] == {"M": "128", "N": "128", "K": "256"}
    assert told["values"] == {"M": "128", "N": "128", "K": "512"}
    assert told["isChosen"] is True
    editor.use()
    editor.refreshed()
    assert editor.titles()[3] == "M=128, N=128, K=256 (from the comment)"
    assert editor.ask("tirxLens/worksheet", builder="gemm")["markdown"] == before
    assert editor.ask("tirxLens/arguments", builder="gemm")["isChosen"] is False


def test_a_set_is_chosen_by_its_label_and_follows_its_values(edit, tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text(TABLE, "utf-8")
    editor = edit(STEP2)
    assert editor.titles()[3] == "M=128, N=128, K=256 (from the comment, 1 of 3)"
    editor.use(argumentSet="configuration 2")
    assert editor.titles()[3] == "M=128, N=128, K=1024 (chosen, 3 of 3)"
    assert "1024" in editor.ask("tirxLens/worksheet", builder="gemm")["markdown"]
    sets = editor.ask("tirxLens/arguments", builder="gemm")["sets"]
    labels = [one["label"] for one in sets]
    assert labels == ["comment", "configuration", "configuration 2"]
    (tmp_path / "pyproject.toml").write_text(TABLE.replace("1024", "2048"), "utf-8")
    project = {"changes": [{"uri": (tmp_path / "pyproject.toml").as_uri(), "type": 2}]}
    editor.client.notify("workspace/didChangeWatchedFiles", project)
    assert editor.titles()[3] == "M=128, N=128, K=2048 (chosen, 3 of 3)"
    assert "2048" in editor.ask("tirxLens/worksheet", builder="gemm")["markdown"]


def test_a_configuration_of_a_registered_kernel_is_chosen(edit) -> None:
    registered = BARE.replace("def gemm(", "def get_kernel(") + (
        '\nKERNEL_META = {"name": "gemm"}\nCONFIGS = [\n'
        '    {"label": "k256", "M": 128, "N": 128, "K": 256},\n'
        '    {"label": "k512", "M": 128, "N": 128, "K": 512},\n]\n'
    )
    editor = edit(registered)
    assert editor.titles()[3] == "k256 (first of 2)"
    editor.use("get_kernel", config="k512")
    assert editor.titles()[3] == "k512 (chosen)"
    told = editor.ask("tirxLens/arguments", builder="get_kernel")
    assert (told["configs"], told["config"]) == (["k256", "k512"], "k512")


def test_what_an_earlier_session_chose_is_there_at_once(edit, tmp_path) -> None:
    uri = (tmp_path / "gemm.py").as_uri()
    chosen = {"textDocument": {"uri": uri}, "builder": "gemm", "arguments": {"M": "256"}}
    editor = edit(STEP2, choices=[chosen])
    assert editor.titles()[3] == "M=256, N=128, K=256 (chosen)"


def test_findings_are_those_of_the_chosen_arguments(edit) -> None:
    broken = (KERNELS / "broken/tx205_shape_not_divisible.py").read_text("utf-8")
    editor = edit(broken)
    lens = editor.lenses()[-1]["command"]
    assert (lens["title"], lens["command"]) == ("2 findings", "tirx-lens.goToFinding")
    published = editor.client.diagnostics(editor.uri, 30)["diagnostics"]
    assert lens["arguments"] == [editor.uri, min(starts_of(published), key=at)]
    editor.use(arguments={"K": "64"})
    assert editor.titles()[-1] == "M=256, N=256, K=64 (chosen)"
    assert editor.client.diagnostics(editor.uri, 30)["diagnostics"] == []


def starts_of(published: list[dict[str, Any]]) -> list[dict[str, int]]:
    return [one["range"]["start"] for one in published]


def at(place: dict[str, int]) -> tuple[int, int]:
    return place["line"], place["character"]


def test_lenses_follow_findings_that_come_later(edit) -> None:
    # The fake analysis finds the word in a builder; TVM's spelling makes it one.
    text = "# tirx\nfrom tvm.script import tirx as T\n@T.prim_func\ndef kernel(A):\n    x = NOTE\n"
    editor = edit(text, FAKE_SERVER)
    assert editor.titles() == ["Show CUDA", "Worksheet", "Timeline", "1 finding"]
    editor.client.change(editor.uri, 2, {"text": text.replace("NOTE", "NOTE + BAD")})
    assert editor.titles()[-1] == "2 findings"


def test_a_build_uses_what_was_chosen_and_says_so(edit) -> None:
    text = BARE.replace("def gemm(", "# TOLD\n# tirx-lens: args M=1 N=2 K=3\ndef gemm(")
    editor = edit(text, FAKE_SERVER)
    assert "args={'M': 1, 'N': 2, 'K': 3}" in editor.ask("tirxLens/cuda", builder="gemm")["message"]
    editor.use(arguments={"K": "7"})
    for asked in ({"builder": "gemm"}, {"position": {"line": 0, "character": 0}}):
        said = editor.ask("tirxLens/cuda", **asked)["message"]
        assert "args={'M': 1, 'N': 2, 'K': 7}" in said
    assert editor.titles()[3] == "M=1, N=2, K=7 (chosen)"


def test_what_a_build_was_told_when_it_asked_is_in_use(edit) -> None:
    editor = edit(BARE + "# TOLD\n", FAKE_SERVER)
    answers = {"M": "1", "N": "2", "K": "3"}
    editor.ask("tirxLens/cuda", builder="gemm", answers=answers)
    editor.refreshed()
    assert editor.titles()[3] == "M=1, N=2, K=3 (chosen)"


def test_the_target_is_named_where_it_is_not_this_machine(edit) -> None:
    settings = {"targets": {"gpu1": {"launcher": "ssh", "host": "gpu1", "python": "python3"}}}
    editor = edit(STEP2, FAKE_SERVER, settings=settings)
    assert editor.titles()[0] == "Show CUDA"
    assert editor.ask("tirxLens/chooseTarget", name="gpu1")["kind"] == "targets"
    editor.refreshed()
    assert editor.titles()[0] == "Show CUDA at gpu1"


@pytest.mark.parametrize("chosen", [{"builder": None}, {"arguments": 7}, {"argumentSet": 1}])
def test_a_malformed_choice_is_refused(edit, chosen) -> None:
    reply = edit(STEP2).use(**({"builder": "gemm"} | chosen))
    assert reply["error"]["code"] == -32602
    assert USE in reply["error"]["message"]


def test_a_question_that_cannot_be_answered_says_why(edit) -> None:
    editor = edit(STEP2)
    assert "no function nothing" in editor.ask("tirxLens/arguments", builder="nothing")["message"]
    gone = {"uri": editor.uri.replace("gemm", "other")}
    assert "not open" in editor.ask("tirxLens/arguments", textDocument=gone)["message"]


def test_worksheet_and_timeline_open_the_named_builder(edit) -> None:
    other = BARE[BARE.index("def gemm(") :].replace("def gemm(", "def other(")
    editor = edit(STEP2 + "\n\n# tirx-lens: args M=256 N=128 K=64\n" + other)
    for name in ("gemm", "other"):
        position = {"line": 0, "character": 0}
        sheet = editor.ask("tirxLens/worksheet", builder=name, position=position)
        assert sheet["title"] == f"Worksheet of {name}"
        shown = editor.ask("tirxLens/timeline", builder=name, position=position)
        assert shown["kernels"][shown["chosen"]] == name
