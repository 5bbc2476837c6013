"""A kernel that is too much to read is left out, and that is said: in `check` and in an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.analysis import analyse
from tirx_lens.cli.main import main
from tirx_lens.incremental import Analyser
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LONG = (
    """\
from tvm.script import tirx as T


@T.prim_func
def endless(A: T.Buffer((64,), "float16")):
    T.device_entry()
    tid = T.thread_id([128])
"""
    + "    T.cuda.cta_sync()\n" * 2100
)
SAID = "the kernel is too long once inlined"


def test_the_analysis_says_so_each_time() -> None:
    assert analyse(SourceText(LONG)).unread == (("endless", SAID),)
    analyser = Analyser()
    for text in (LONG, LONG + "# more\n", LONG):
        analysis = analyser.analyse(SourceText(text))
        assert (analysis.findings, analysis.unread) == ((), (("endless", SAID),))


def test_a_syntax_error_is_no_such_case() -> None:
    assert analyse(SourceText(LONG[:300] + "    if (\n")).unread == ()


def test_check_says_so_and_does_not_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(LONG)
    assert main(["check", str(tmp_path / "k.py")]) == 0
    printed = capsys.readouterr()
    assert f"k.py: kernel endless is not checked: {SAID}" in printed.err
