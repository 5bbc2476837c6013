"""Any text, and kernels broken in any way: the analysis is sound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from .profiles import examples
from .sound import mends, sound
from .texts import CORPUS, EXAMPLES, KERNELS, PYTHON_LIKE, damaged, disordered


@examples(60, 3000)
@given(st.one_of(st.text(), PYTHON_LIKE))
def test_any_text(text: str) -> None:
    sound("from tvm.script import tirx as T\n@T.prim_func\n" + text)


@examples(60, 4000)
@given(damaged(EXAMPLES + KERNELS))
def test_kernels_with_damaged_tokens(text: str) -> None:
    sound(text)


@examples(10, 400)
@given(damaged(CORPUS) if CORPUS else damaged(KERNELS))
def test_real_kernels_with_damaged_tokens(text: str) -> None:
    sound(text)


@examples(60, 4000)
@given(disordered(EXAMPLES + KERNELS))
def test_kernels_with_disordered_lines(text: str) -> None:
    if sound(text).findings:
        mends(text)
