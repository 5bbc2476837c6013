"""What every kernel file promises its readers and the tools that open it."""

import ast
import re

import pytest
from building import KERNELS

FILES = sorted([*KERNELS.glob("*.py"), *KERNELS.glob("v0_26/*.py")])
NAMES = [str(path.relative_to(KERNELS)) for path in FILES]


@pytest.fixture(params=FILES, ids=NAMES)
def tree(request):
    return ast.parse(request.param.read_text(encoding="utf-8"))


def _functions(tree):
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def test_the_ladder_is_complete():
    steps = [int(match[1]) for name in NAMES if (match := re.match(r"gemm_step(\d+)_", name))]
    assert steps == list(range(1, 10))


def test_docstring_names_roles_handoffs_and_lifetime(tree):
    text = ast.get_docstring(tree)
    assert all(f"\n{word}" in text for word in ("Roles", "Storage", "Handoffs"))


def test_importing_does_nothing_but_import_and_define(tree):
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign)
    docstring, *rest, last = tree.body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(node, kinds) for node in rest)
    assert isinstance(last, ast.If)
    assert ast.unparse(last) == "if __name__ == '__main__':\n    run_correctness()"
    for node in rest:
        if isinstance(node, ast.Assign):
            assert not any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def test_torch_is_imported_by_run_correctness_alone(tree):
    assert set(_imported(tree.body)) == {"tvm"}
    functions = _functions(tree)
    assert "torch" in _imported(ast.walk(functions.pop("run_correctness")))
    for function in functions.values():
        assert "torch" not in _imported(ast.walk(function))


def test_run_correctness_needs_no_arguments_and_asserts(tree):
    function = _functions(tree)["run_correctness"]
    assert len(function.args.args) == len(function.args.defaults)
    text = ast.unparse(function)
    assert "assert" in text


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_args_comment_names_the_builder_s_parameters(path):
    source = path.read_text(encoding="utf-8")
    match = re.search(r"^# tirx-lens: args (.+)\ndef (\w+)\((.+)\):", source, re.MULTILINE)
    pairs = [pair.split("=") for pair in match[1].split(" ")]
    assert [name for name, _ in pairs] == match[3].split(", ")
    assert all(value.isdigit() for _, value in pairs)
    assert match[2] in path.stem
