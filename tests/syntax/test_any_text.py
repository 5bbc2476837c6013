"""Any text gives an analysis: never an exception, never a wait."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel

KERNELS = Path(__file__).parents[2] / "kernels"
STEP_7 = (KERNELS / "gemm_step7_warp_specialized.py").read_text("utf-8")

TEXTS = {
    "empty": "",
    "not Python": "<html>prim_func</html>\n" * 50,
    "binary": "\x00\x01prim_func\xff\x00" * 100,
    "null bytes in a kernel": in_kernel("x = 1\n").replace("x", "\x00"),
    "lone surrogates": in_kernel("s = 'a\ud800'\nif wg_id == 0:\n    T.cuda.cta_sync()\n"),
    "one long line": "prim_func = '" + "x" * 1_000_000 + "'\n",
    "one long sum": in_kernel("y = " + "+".join(["wg_id"] * 150_000) + "\n"),
    "deep parentheses": in_kernel("y = " + "(" * 50_000 + "1" + ")" * 50_000 + "\n"),
    "unbalanced": in_kernel("y = " + "([{" * 5_000 + "\n"),
    "deep blocks": in_kernel(
        "".join(" " * i + "if wg_id == 0:\n" for i in range(300)) + " " * 300 + "x = 1\n"
    ),
    "many elifs": in_kernel(
        "if lane_id == 0:\n    pass\n"
        + "".join(f"elif lane_id == {i}:\n    pass\n" for i in range(1, 600))
    ),
    "a big constant": in_kernel("y = 9 ** 9 ** 9\nz = 1 << 10**9\nw = 'a' * 10**9\n"),
    "a big comprehension": in_kernel("ys = [wg_id for i in range(10**9)]\n"),
    "a function that calls itself": in_kernel(
        "@T.inline\ndef loop():\n    loop()\n    T.cuda.cta_sync()\n\nloop()\n"
    ),
    "functions that double": in_kernel(
        "".join(f"@T.inline\ndef f{i}():\n    f{i + 1}()\n    f{i + 1}()\n\n" for i in range(40))
        + "@T.inline\ndef f40():\n    T.cuda.warp_sync()\n\nf0()\n"
    ),
    "plain functions that double": in_kernel("x = f0(1)\ny = g(2)\n").replace(
        "@T.prim_func",
        "".join(f"def f{i}(x):\n    return f{i + 1}(x) + f{i + 1}(x)\n" for i in range(40))
        + "def g(x):\n    for i in range(60):\n        for j in range(60):\n"
        "            for k in range(60):\n                x = x + g(k)\n    return x\n"
        "@T.prim_func",
    ),
    "classes upon classes": in_kernel("c = C2000()\nc.go()\nc.me.me.go()\nc.no()\n").replace(
        "@T.prim_func",
        "@T.meta_class\nclass C0:\n    def __init__(self):\n        self.me = self\n"
        "    def go(self):\n        self.go()\n        self.all = [self]\n"
        "        self.all.append(self.all)\n"
        + "".join(f"class C{i + 1}(C{i}, C{i}):\n    pass\n" for i in range(2000))
        + "@T.prim_func",
    ),
    "a list that holds itself": "xs = [1]\n" + "xs.append(xs)\n" * 200 + in_kernel("y = xs\n"),
    "patterns in patterns": "match ((1,),):\n    case "
    + "(" * 3000
    + "x"
    + ",)" * 3000
    + ":\n        y = 1\n"
    + in_kernel("z = y\n"),
    "host recursion": "def f(n):\n    return f(n - 1)\n\nN = f(3)\n" + in_kernel("x = N\n"),
    "a zero extent": in_kernel("q = T.warp_id([0])\nr = T.warp_id([-4])\ns = wg_id // 0\n"),
    "no statements": "@T.prim_func\ndef kernel(\n",
    "half a decorator": "@T.prim_func(\ndef kernel(): pass\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_nothing_stops_it(text: str) -> None:
    started = time.monotonic()
    analysis = analyse(SourceText(text))
    assert not analysis.failures
    assert time.monotonic() - started < 20, "an editor would seem to hang"


@pytest.mark.parametrize("step", [1, 7])
def test_half_typed_kernels_raise_no_errors(step: int) -> None:
    """Cut a correct kernel off at every few characters: no cut makes a barrier unreachable."""
    for end in range(step, len(STEP_7), 97 * step):
        analysis = analyse(SourceText(STEP_7[:end]))
        assert not analysis.failures
        assert not analysis.findings, STEP_7[:end][-200:]


def test_positions_follow_wide_characters() -> None:
    text = in_kernel("if wg_id == 0:\n    T.cuda.cta_sync()\n")
    wide = text.replace("    if wg_id", "    名 = '🚀漢字'  # 注释\n    if wg_id")
    (plain,) = analyse(SourceText(text)).findings
    source = SourceText(wide)
    (moved,) = analyse(source).findings
    assert source.slice(moved.span) == "T.cuda.cta_sync()"
    assert SourceText(text).slice(plain.span) == "T.cuda.cta_sync()"
