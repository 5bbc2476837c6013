"""Completion and signature help over stdio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .raw import REAL_SERVER

if TYPE_CHECKING:
    from .raw import RawClient

HEAD = """\
# 内核 😀
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier


@T.prim_func
def kernel(A: T.Buffer((512,), "float16")):
    T.device_entry()
    full = MBarrier(pool, 1)
"""
URI = "file:///workspace/kernel.py"
SNIPPETS = {"textDocument": {"completion": {"completionItem": {"snippetSupport": True}}}}


@pytest.fixture
def client(start) -> RawClient:
    client = start(REAL_SERVER)
    client.initialize(capabilities=SNIPPETS)
    return client


def asked(client: RawClient, method: str, line: str, *, head: str = HEAD) -> Any:
    text = f"{head}    {line}"
    client.open(URI, text)
    lines = text.split("\n")
    at = {"line": len(lines) - 1, "character": len(lines[-1])}
    params = {"textDocument": {"uri": URI}, "position": at}
    return client.request(f"textDocument/{method}", params)["result"]


def test_modifiers_and_where_they_go(client: RawClient) -> None:
    found = asked(client, "completion", "T.ptx.fence.mb")["items"]
    (item,) = [one for one in found if one["label"] == "mbarrier_init"]
    assert item["textEdit"]["newText"] == "mbarrier_init.release.cluster()"
    assert item["textEdit"]["range"]["start"]["character"] == len("    T.ptx.fence.")
    assert item["insertTextFormat"] == 2


@pytest.mark.parametrize("name", ["warpgroup_id", "address_of", "thread_id"])
def test_no_name_of_a_long_list_is_cut_off(client: RawClient, name: str) -> None:
    found = asked(client, "completion", f"T.{name[:4].upper()}")
    assert name in {one["label"] for one in found["items"]}
    assert found["isIncomplete"], "the client has to ask again"


def test_methods_of_a_barrier(client: RawClient) -> None:
    found = asked(client, "completion", "full.")["items"]
    assert {"init", "wait", "arrive", "ptr_to"} <= {one["label"] for one in found}


def test_ways_to_carry_out_a_copy(client: RawClient) -> None:
    found = asked(client, "completion", 'Tx.copy_async(A[:], A[:], dispatch="t')["items"]
    assert "tma_auto" in [one["label"] for one in found]


def test_names_of_an_older_release(client: RawClient) -> None:
    head = HEAD + "    T.ptx.fence.mbarrier_init()\n"
    found = asked(client, "completion", "T.ptx.tcgen05.wait.", head=head)["items"]
    assert [one["label"] for one in found] == ["ld", "st"]


def test_the_argument_at_the_cursor(client: RawClient) -> None:
    found = asked(client, "signatureHelp", "full.wait(0, ")
    (one,) = found["signatures"]
    assert one["label"] == "MBarrier.wait(stage, phase)"
    assert [one["label"] for one in one["parameters"]] == ["stage", "phase"]
    assert found["activeParameter"] == 1


@pytest.mark.parametrize("line", ["print(", "A.", "x", '"T.cuda.'])
def test_nothing_is_said_of_plain_python(client: RawClient, line: str) -> None:
    assert asked(client, "signatureHelp", line) is None
    if line != '"T.cuda.':
        client.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
        assert asked(client, "completion", line) is None


def test_a_file_without_tirx_has_none(client: RawClient) -> None:
    client.open(URI, "import torch\nT.cuda.")
    params = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 7}}
    assert client.request("textDocument/completion", params)["result"] is None


def test_the_standard_shapes_where_a_statement_begins(client: RawClient) -> None:
    (item,) = asked(client, "completion", "mma")["items"]
    assert item["label"] == item["filterText"] == "tirx_mma_consumer"
    assert item["insertTextFormat"] == 2
    new = item["textEdit"]["newText"]
    assert new.startswith("if ${1:warp_id} == 0:\n    if T.cuda.elect_sync():\n")
    assert new.endswith("$0")
    assert item["textEdit"]["range"]["start"]["character"] == 4
    (edit,) = item["additionalTextEdits"]
    assert edit["newText"] == "from tvm.backend.cuda.lang.pipeline import PipelineState\n"
    line = HEAD.split("\n").index("from tvm.backend.cuda.lang.pipeline import MBarrier") + 1
    assert edit["range"]["start"] == edit["range"]["end"] == {"line": line, "character": 0}


def test_a_client_without_snippets_gets_the_shape_indented(start) -> None:
    client = start(REAL_SERVER)
    client.initialize(capabilities={})
    found = asked(client, "completion", "tirx_tmem_d")["items"]
    (item,) = found
    assert item["insertTextFormat"] == 1
    first, second, *_ = item["textEdit"]["newText"].split("\n")
    assert first == "T.cuda.cta_sync()  # every role is done with TMEM"
    assert second == "    if wg_id == 0:"
    assert "additionalTextEdits" not in item


@pytest.mark.parametrize("line", ["x = mma", "full.wait(mma", "# mma", "nothing"])
def test_no_shape_is_offered_elsewhere(client: RawClient, line: str) -> None:
    assert asked(client, "completion", line) is None


def test_no_shape_is_offered_to_an_older_release(client: RawClient) -> None:
    head = HEAD + "    T.ptx.fence.mbarrier_init()\n"
    assert asked(client, "completion", "mma", head=head) is None
