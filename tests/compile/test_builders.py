"""Finding builders, their parameters and their arguments in finished and unfinished text."""

import pytest

from tirx_lens.compile.builders import BuilderKind, Parameter, find_builder, find_builders
from tirx_lens.model.given import BuilderArguments, Given

MODULE = '''\
"""A module."""
from tvm.script import tirx as T
import numba


def helper(x):
    return x + 1


# Notes on the tile.
# tirx-lens: args M=1024 name="wide tile" fast=True mode=plain
# More notes.
@decorated
def gemm(M, N: int, K=64, *rest, name, fast: bool = False, **options):
    @T.prim_func
    def kernel(A: T.Buffer((M,), "float16")):
        T.device_entry()

    def variant():
        @T.prim_func(private=True)
        def inner():
            pass

    return kernel


if True:
    @T.prim_func
    def at_module_level(A: T.handle):
        T.device_entry()


@T.jit
def specialized(A: T.Buffer((N,), "float16"), *, N: T.constexpr, K: T.constexpr = 8):
    T.device_entry()


@numba.jit
def not_ours(x):
    return x


class Kernels:
    @T.prim_func
    def method(A: T.handle):
        pass
'''


def test_finds_functions_that_hold_kernels_and_kernels_themselves() -> None:
    builders = {item.name: item for item in find_builders(MODULE)}
    assert list(builders) == ["gemm", "at_module_level", "specialized"]
    assert builders["gemm"].kind is BuilderKind.FUNCTION
    assert builders["gemm"].kernel_names == ("kernel", "inner")
    assert builders["at_module_level"].kind is BuilderKind.PRIM_FUNC
    assert builders["at_module_level"].parameters == ()
    assert builders["specialized"].kind is BuilderKind.JIT


def test_reads_parameters_with_the_text_of_their_defaults() -> None:
    gemm = find_builder(MODULE, "gemm")
    assert gemm is not None
    assert gemm.parameters == (
        Parameter("M"),
        Parameter("N"),
        Parameter("K", "64"),
        Parameter("name"),
        Parameter("fast", "False"),
    )
    specialized = find_builder(MODULE, "specialized")
    assert specialized is not None
    assert specialized.parameters == (Parameter("N"), Parameter("K", "8"))


def test_reads_the_arguments_comment_above_decorators_and_other_comments() -> None:
    gemm = find_builder(MODULE, "gemm")
    assert gemm is not None
    assert gemm.arguments == {"M": 1024, "name": "wide tile", "fast": True, "mode": "plain"}
    assert gemm.missing({}) == ("N",)
    assert gemm.missing({"N": 1}) == ()


def test_a_comment_behind_a_decorator_hides_no_kernel() -> None:
    text = "def f():\n    @T.prim_func  # noqa: E501 (why)\n    def k(): ...\n    return k\n"
    (builder,) = find_builders(text)
    assert builder.kernel_names == ("k",)


def test_lines_are_those_of_the_editor() -> None:
    gemm = find_builder(MODULE, "gemm")
    lines = MODULE.splitlines()
    assert gemm is not None
    assert lines[gemm.line - 1].startswith("def gemm(")
    assert lines[gemm.first_line - 1].startswith("# tirx-lens: args")
    assert lines[gemm.last_line - 1] == "    return kernel"


def test_of_several_comments_the_nearest_counts_and_all_can_be_chosen() -> None:
    text = (
        "# tirx-lens: args M=1\n# words\n# tirx-lens: args M=2 odd=3\n"
        "def f(M, N):\n    @T.prim_func\n    def k(): pass\n"
    )
    (builder,) = find_builders(text)
    assert builder.first_line == 1
    assert builder.arguments == {"M": 2, "odd": 3}
    given = Given((BuilderArguments("f", (("M", 1), ("N", 4), ("K", 5))),))
    known = builder.with_given(given)
    assert known.arguments == {"M": 2, "odd": 3, "N": 4}
    assert [(one.label, dict(one.arguments)) for one in known.sets] == [
        ("comment", {"M": 2, "odd": 3, "N": 4}),
        ("comment 2", {"M": 1, "N": 4}),
        ("configuration", {"M": 1, "N": 4, "odd": 3}),
    ]
    assert known.with_set("comment 2").arguments == {"M": 1, "N": 4}
    assert known.with_set("gone").arguments == known.arguments
    same = find_builders(text.replace(" odd=3", "").replace("M=1", "M=2"))[0].with_given(given)
    # What differs in nothing is no choice.
    assert [one.label for one in same.sets] == ["comment", "configuration"]


def test_a_comment_with_a_blank_line_below_belongs_to_nothing() -> None:
    text = "# tirx-lens: args M=1\n\ndef f(M):\n    @T.prim_func\n    def k(): pass\n"
    (builder,) = find_builders(text)
    assert builder.arguments == {}
    assert builder.missing({}) == ("M",)


def test_a_plain_function_is_found_by_name_alone() -> None:
    helper = find_builder(MODULE, "helper")
    assert helper is not None
    assert helper.kernel_names == ()
    assert find_builder(MODULE, "nothing") is None


@pytest.mark.parametrize(
    "broken",
    [
        MODULE.replace("T.device_entry()\n\n    def variant", "T.device_entry(\n\n    def variant"),
        MODULE.replace('"""A module."""', "x = ("),
        MODULE + "\ndef unfinished(a, b=",
        MODULE + "\x00\x01",
    ],
)
def test_half_typed_text_keeps_its_other_builders(broken: str) -> None:
    assert {"at_module_level", "specialized"} & {item.name for item in find_builders(broken)}


@pytest.mark.parametrize("text", ["", "\x00", "def", "def f(", "@", "@T.prim_func\ndef", "\ud800"])
def test_any_text_is_read(text: str) -> None:
    assert find_builders(text) == ()
