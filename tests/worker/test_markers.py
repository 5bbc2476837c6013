"""Reading a marked text against the compiled one: every way in which it can be another."""

import pytest

from tirx_lens.worker.markers import MarkError, Node, statements_of_lines

CALL = Node("Evaluate", (), 0)
FUNCTIONS = [
    [Node("IfThenElse", (), None, children=[1, 2], then=1), CALL, CALL],
    [Node("Bind", (), None, "v")],
]
COMPILED = (
    "// helpers\nvoid k() {\n  if (x) {\n    f();\n  } else {\n    g();\n  }\n}\nint v = 1;\n"
)
MARKED = """\
// helpers
void k() {
  tirx_lens_mark_begin(0);
  if (x) {
    tirx_lens_mark_begin(0);
    f();
    tirx_lens_mark_end(0);
  } else {
    tirx_lens_mark_begin(0);
    g();
    tirx_lens_mark_end(0);
  }
  tirx_lens_mark_end(0);
}
tirx_lens_mark_begin(1);
int v = 1;
tirx_lens_mark_end(1);
"""


def test_each_line_has_the_innermost_statement_around_it() -> None:
    outer, first, second, other = (0, 0), (0, 1), (0, 2), (1, 0)
    assert statements_of_lines(MARKED, COMPILED, FUNCTIONS) == [
        *(None, None, outer, first, outer, second, outer, None, other, None)
    ]


def test_the_functions_may_be_printed_in_any_order() -> None:
    lines = MARKED.split("\n")
    text = "\n".join(lines[14:17] + lines[:14]) + "\n"
    compiled = "\n".join(line for line in text.split("\n") if "tirx_lens_mark" not in line)
    found = statements_of_lines(text, compiled, FUNCTIONS)
    assert found[0] == (1, 0)
    assert found[3] == (0, 0)


@pytest.mark.parametrize("line", range(len(MARKED.split("\n")) - 1))
def test_no_line_can_be_missing_or_twice_or_changed(line: int) -> None:
    lines = MARKED.split("\n")
    for changed in (
        lines[:line] + lines[line + 1 :],
        [*lines[: line + 1], *lines[line:]],
        [*lines[:line], f"{lines[line]} ", *lines[line + 1 :]],
    ):
        with pytest.raises(MarkError):
            statements_of_lines("\n".join(changed), COMPILED, FUNCTIONS)


def test_marks_of_another_shape_of_tree_are_refused() -> None:
    flat = [[Node("Evaluate", (), None) for _ in range(3)], FUNCTIONS[1]]
    with pytest.raises(MarkError, match="another place"):
        statements_of_lines(MARKED, COMPILED, flat)
    more = [[*FUNCTIONS[0], Node("Evaluate", (), None)], FUNCTIONS[1]]
    with pytest.raises(MarkError, match="not every statement"):
        statements_of_lines(MARKED, COMPILED, more)
