"""The Python around kernels: what its statements leave known, and what they do not."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.expr import constant_int
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.syntax.read import read_kernels

HEAD = "from tvm.script import tirx as T\nimport os\nMODE = 'wide'\nCOUNT = 3\n"
KERNEL = """

@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    bx = T.cta_id([X])
"""

MATCHES = {
    "a literal": (
        "match MODE:\n    case 'thin':\n        X = 1\n    case 'wide':\n        X = 2",
        2,
    ),
    "the rest": ("match MODE:\n    case 'thin':\n        X = 1\n    case _:\n        X = 2", 2),
    "one of": ("match COUNT:\n    case 1 | 3:\n        X = 2\n    case _:\n        X = 5", 2),
    "captured": ("match COUNT:\n    case 1:\n        X = 1\n    case n:\n        X = n - 1", 2),
    "a guard": ("match COUNT:\n    case n if n > 9:\n        X = 1\n    case n:\n        X = 2", 2),
    "negative": ("match -COUNT:\n    case -3:\n        X = 2\n    case _:\n        X = 1", 2),
    "none": ("match None:\n    case None:\n        X = 2\n    case _:\n        X = 1", 2),
    "true is not 1": ("match 1:\n    case True:\n        X = 1\n    case 1:\n        X = 2", 2),
    "a tuple": ("match (MODE, COUNT):\n    case ('wide', k):\n        X = k - 1", 2),
    "two": (
        "match MODE, COUNT:\n    case ['wide', 3]:\n        X = 2\n    case _:\n        X = 1",
        2,
    ),
    "a name": (
        "class Modes:\n    WIDE = 'wide'\nmatch MODE:\n    case Modes.WIDE:\n        X = 2\n"
        "    case _:\n        X = 1",
        2,
    ),
    "no case": ("X = 2\nmatch MODE:\n    case 'thin':\n        X = 1", 2),
    "not known": ("X = 1\nmatch os.name:\n    case 'nt':\n        X = 2", None),
    "a class": ("X = 1\nmatch MODE:\n    case str():\n        X = 2", None),
    "a mapping": ("X = 1\nmatch MODE:\n    case {'a': X}:\n        pass", None),
    "a capture not known": ("X = 1\nmatch os.name:\n    case ('a', X):\n        pass", None),
    "a guard not known": ("X = 1\nmatch MODE:\n    case _ if os.name:\n        X = 2", None),
}

STATEMENTS = {
    "with": ("X = 1\nwith open(os.devnull) as f:\n    X = 2", 2),
    "with takes a name": ("X = 1\nwith open(os.devnull) as X:\n    pass", None),
    "with takes names": ("X = 1\nwith f() as (a, X):\n    pass", None),
    "except takes a name": ("X = 1\ntry:\n    f()\nexcept OSError as X:\n    pass", None),
    "a loop": ("X = 1\nfor i in range(3):\n    X += 1", None),
    "a loop that leaves it": ("X = 2\nfor i in range(3):\n    Y = i", 2),
    "while": ("X = 1\nwhile X < 4:\n    X = X + 1", None),
}


def extent_of(statements: str) -> int | None:
    (found,) = read_kernels(SourceText(HEAD + statements + KERNEL)).kernels
    return constant_int(found.scope_ids[0].extents[0])


@pytest.mark.parametrize(("statements", "value"), MATCHES.values(), ids=MATCHES.keys())
def test_match(statements: str, value: int | None) -> None:
    assert extent_of(statements) == value


@pytest.mark.parametrize(("statements", "value"), STATEMENTS.values(), ids=STATEMENTS.keys())
def test_statements(statements: str, value: int | None) -> None:
    assert extent_of(statements) == value


def test_a_kernel_in_a_loop_does_not_see_its_first_round_only() -> None:
    kernel = "".join(f"    {line}\n" for line in KERNEL.splitlines())
    text = HEAD + "X = 1\nfor i in range(3):\n    X += 1\n" + kernel
    (found,) = read_kernels(SourceText(text)).kernels
    assert constant_int(found.scope_ids[0].extents[0]) is None


# Each raises in the parser of TVM 0.26 and 0.27: what such a kernel does is nobody's question.
REFUSED = [
    "match 1:\n    case 1:\n        pass",
    "try:\n    pass\nfinally:\n    pass",
    "import math",
    "from math import pi",
    "for x in (1, 2):\n    pass",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_of_a_kernel_that_the_parser_refuses_nothing_is_said(statement: str) -> None:
    text = in_kernel("if wg_id == 0:\n    T.cuda.cta_sync()\n" + statement)
    (found,) = read_kernels(SourceText(text)).kernels
    assert not found.is_whole
    assert not analyse(SourceText(text)).findings


@pytest.mark.parametrize("decorator", ["T.inline", "T.inline()", "T.macro", "T.macro()"])
def test_the_body_of_a_macro_stands_at_its_calls(decorator: str) -> None:
    macro = f"@{decorator}\ndef sync():\n    T.cuda.cta_sync()\n\n\n"
    text = in_kernel("if wg_id == 0:\n    sync()").replace("@T.prim_func", macro + "@T.prim_func")
    (found,) = analyse(SourceText(text)).findings
    assert found.code == "TX102"


def test_a_macro_that_is_not_hygienic_finds_names_where_it_is_called() -> None:
    macro = (
        "@T.macro(hygienic=False)\ndef sync():\n    if wg_id == 0:\n        T.cuda.cta_sync()\n\n\n"
    )
    text = in_kernel("sync()").replace("@T.prim_func", macro + "@T.prim_func")
    assert [one.code for one in analyse(SourceText(text)).findings] == ["TX102"]
