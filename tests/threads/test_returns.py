"""`return` in a `T.inline` function: the CUDA of TVM 0.26 and 0.27 has `return;` of the kernel."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel

LEAVE = """\
@T.inline
def leave(number):
    if wg_id == number:
        return 0
    T.cuda.warp_sync()

"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("leave(1)\nT.cuda.cta_sync()", []),
        ("leave(1)\nif wg_id == 0:\n    T.cuda.cta_sync()", []),
        ("leave(5)\nif wg_id == 0:\n    T.cuda.cta_sync()", ["TX102"]),
        ("if wg_id == 0:\n    T.cuda.cta_sync()\nleave(1)", ["TX102"]),
        ("for i in range(4):\n    leave(1)\nT.cuda.cta_sync()", []),
    ],
)
def test_who_is_left_after_a_helper_returned(body: str, expected: list[str]) -> None:
    analysis = analyse(SourceText(in_kernel(LEAVE + body)))
    assert [one.code for one in analysis.findings] == expected


def test_a_return_of_a_plain_function_leaves_nothing() -> None:
    plain = "def number(x):\n    if True:\n        return 1\n    return x\n\n\n"
    text = in_kernel("n = T.meta_var(number(2))\nif wg_id == n:\n    T.cuda.cta_sync()")
    text = text.replace("@T.prim_func", plain + "@T.prim_func")
    assert [one.code for one in analyse(SourceText(text)).findings] == ["TX102"]
