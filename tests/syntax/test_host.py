"""The Python around kernels: what its statements leave known, and what they do not."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.expr import constant_int
from tirx_lens.model.queries import operations
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.finished import in_finished_kernel
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
    "a loop": ("X = 1\nfor i in range(1):\n    X += 1", 2),
    "a loop of many": ("X = 1\nfor i in range(99):\n    X += 1", None),
    "a loop not known": ("X = 1\nfor i in os.name:\n    X = 2", None),
    "a loop that may end": (
        "X = 1\nfor i in range(3):\n    X = i\n    if os.name:\n        break",
        None,
    ),
    "a loop that leaves it": ("X = 2\nfor i in os.name:\n    Y = i", 2),
    "append": ("xs = []\nxs.append(5)\nxs.append(2)\nX = xs[1]", 2),
    "append counts": ("xs = []\nxs.append(5)\nX = len(xs) + 1", 2),
    "append to another name": ("xs = [1]\nys = xs\nys.append(2)\nX = len(xs)", 2),
    "extend": ("xs = [1]\nxs.extend((3, 2))\nX = xs[-1]", 2),
    "pop": ("xs = [1, 2]\nxs.pop()\nX = len(xs)", None),
    "update": ("xs = dict(a=2)\nxs.update(a=3)\nX = xs['a']", None),
    "a loop that appends": ("xs = []\nfor i in range(3):\n    xs.append(i)\nX = xs[2]", 2),
    "a loop over pairs": ("X = 1\nfor a, b in ((1, 0), (0, 1)):\n    X = X + a * 3 - b * 2", 2),
    "append perhaps": ("xs = [1]\nif os.name:\n    xs.append(2)\nX = len(xs)", None),
    "comprehension": ("xs = [i for i in range(4) if i % 2 == 0]\nX = xs[1]", 2),
    "comprehension of pairs": ("xs = [a * b for a, b in [(1, 1), (1, 2)]]\nX = xs[1]", 2),
    "comprehension of two": ("xs = [a for b in ((1,), (3, 2)) for a in b]\nX = xs[2]", 2),
    "comprehension not known": ("xs = [i for i in range(4) if os.name]\nX = len(xs)", None),
    "long comprehension": ("xs = [i for i in range(60)]\nX = len(xs) - 58", None),
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


BARS = """\
pool = T.SMEMPool()
first = MBarrier(pool, 1)
bars = [MBarrier(pool, 1)]
bars.append(first)
pool.commit()
bars[0].init(1)
bars[1].init(1)
"""


@pytest.mark.parametrize("arrive", ["first.arrive(0)", "bars[1].arrive(0)", "bars.pop().arrive(0)"])
def test_a_list_of_barriers_grows_as_the_kernel_is_built(arrive: str) -> None:
    """A barrier that is signalled through a list is signalled."""
    body = f"{BARS}T.cuda.cta_sync()\n{arrive}\nfirst.wait(0, 0)"
    codes = [one.code for one in analyse(SourceText(in_finished_kernel(body))).findings]
    assert "TX109" not in codes


def test_a_barrier_in_a_list_that_nobody_signals_is_found() -> None:
    body = f"{BARS}T.cuda.cta_sync()\nbars[0].arrive(0)\nbars[1].wait(0, 0)\nTx.copy(A[:], A[:])"
    codes = [one.code for one in analyse(SourceText(in_finished_kernel(body))).findings]
    assert "TX109" in codes


def test_objects_of_one_line_are_not_taken_for_the_same() -> None:
    body = (
        "states = [PipelineState(2, 1) for _ in range(2)]\na = states[0].stage\nb = states[1].stage"
    )
    text = in_kernel(body + "\nif a == b:\n    T.cuda.cta_sync()")
    (kernel,) = read_kernels(SourceText(text)).kernels
    made = [one.created for one in operations(kernel.body) if one.created is not None]
    assert [one.name for one in made] == ["states", "states #2"]
