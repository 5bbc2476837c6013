"""Which lines of cells are IPython's, held against IPython's own rules by example."""

from __future__ import annotations

import ast

import pytest

from tirx_lens.notebook.magics import python_of


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("%matplotlib inline", "#matplotlib inline"),
        ("x = 1\n!ls -l | wc\ny = 2", "x = 1\n#ls -l | wc\ny = 2"),
        ("!ls \\\n  -l\nx = 1", "#ls \\\n  #l\nx = 1"),
        ("if x:\n    !ls", "if x:\n    0#s"),
        ("if x:\n    %run a.py\nelse:\n    !\n", "if x:\n    0#un a.py\nelse:\n    0\n"),
        ("files = !ls", "files = 0#s"),
        ("a, b = %who_ls", "a, b = 0#ho_ls"),
        ("T.cta_id?", "#.cta_id?"),
        ("?T", "#T"),
        ("T.ptx[0]??  ", "#.ptx[0]??  "),
        ("%time y = f(\n    1,\n)", "0    ;y = f(\n    1,\n)"),
        ("%%time\nx = 1", "#%time\nx = 1"),
        ("\n%%capture out\nx = 1", "\n#%capture out\nx = 1"),
        ("from __future__ import annotations\nx = 1", "#rom __future__ import annotations\nx = 1"),
    ],
)
def test_what_is_ipythons_is_put_out_and_keeps_its_length(text: str, python: str) -> None:
    code = python_of(text)
    assert code is not None
    assert code.text == python
    ast.parse(code.text)


@pytest.mark.parametrize(
    "text",
    [
        "x = (a\n     % b)",
        "x = [1,\n!r]",
        'x = """\n%time\n!ls\nwhat?\n"""',
        "x = a \\\n  % b",
        "x = f'{a!r}' % b  # why?",
        "print('%d' % x)  # !ls",
        "'''%\n''' % x",
        "x = a != b",
    ],
)
def test_python_is_left_alone(text: str) -> None:
    code = python_of(text)
    assert code is not None
    assert code.text == text
    assert not code.untouchable


@pytest.mark.parametrize("name", ["bash", "writefile x.py", "html", "python3", "sql", ""])
def test_a_cell_that_is_handed_to_something_else_is_none_of_python(name: str) -> None:
    assert python_of(f"\n%%{name}\nx = 1") is None


def test_a_string_that_is_left_open_is_told() -> None:
    assert _open('x = """a') == '"""'
    assert _open("x = '''a\n# \"\"\"") == "'''"
    assert _open('x = """a"""') == ""
    assert _open("x = 'a") == ""
    assert _open("!echo '''") == ""


def _open(text: str) -> str:
    code = python_of(text)
    assert code is not None
    return code.open_quote


def test_many_lines_take_no_time_that_grows_with_their_square() -> None:
    # Would not end in a day otherwise.
    text = "!ls\n" * 30_000 + "x = '" + "a" * 300_000
    code = python_of(text)
    assert code is not None
    assert len(code.text) == len(text)
