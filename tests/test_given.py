"""What is given for a text from outside: arguments of its builders, and the TVM it is for."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.incremental import Analyser
from tirx_lens.model.given import Argument, BuilderArguments, Given, TvmVersion
from tirx_lens.model.source import SourceText

# A mistake where SIDE is 1: then one of two warpgroups passes the barrier alone.
BUILDER = """\
from tvm.script import tirx as T


{above}def build({parameters}):
    @T.prim_func
    def kernel():
        T.device_entry()
        wg_id = T.warpgroup_id([2])
        if wg_id < {value}:
            T.cuda.cta_sync()

    return kernel
{below}"""
JIT = """\
from tvm.script import tirx as T


{above}@T.jit
def kernel(SIDE: T.constexpr{default}):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    if wg_id < SIDE:
        T.cuda.cta_sync()
"""


def given(builder: str = "build", **values: Argument) -> Given:
    return Given((BuilderArguments(builder, tuple(values.items())),))


def is_found(text: str, given: Given) -> bool:
    """Tell whether the mistake is found, by every road to findings."""
    source = SourceText(text)
    findings = analyse(source, given=given).findings
    assert Analyser().analyse(source, given=given).findings == findings
    return "TX102" in [finding.code for finding in findings]


def builder(parameters: str = "SIDE", above: str = "", below: str = "", value: str = "SIDE") -> str:
    return BUILDER.format(parameters=parameters, above=above, below=below, value=value)


@pytest.mark.parametrize(
    ("text", "outside", "expected"),
    [
        (builder(), Given(), False),  # nothing is known
        (builder(), given(SIDE=1), True),
        (builder(), given(SIDE=2), False),
        (builder(), given("other", SIDE=1), False),
        (builder(), given(SIZE=1), False),
        # Before the default,
        (builder("SIDE=1"), given(SIDE=2), False),
        (builder("SIDE=2"), given(SIDE=1), True),
        (builder("SIDE=1"), given("other", SIDE=2), True),
        # before a call, which counts again where no parameter is given,
        (builder(below="\nbuild(1)\n"), given(SIDE=2), False),
        (builder(below="\nbuild(1)\n"), given(SIZE=2), True),
        (builder(below="\nbuild(SIDE=2)\n"), given(SIDE=1), True),
        # but after the comment above the builder, name by name.
        (builder(above="# tirx-lens: args SIDE=2\n"), given(SIDE=1), False),
        (builder(above="# tirx-lens: args SIDE=1\n"), given(SIDE=2), True),
        (builder("SIDE, M", "# tirx-lens: args M=2\n"), given(SIDE=1, M=3), True),
        # The arguments of one builder are of one source: no mixture with those of a call.
        (builder("SIDE, M", below="\nbuild(1, 2)\n"), given(M=3), False),
        # A kernel that is its own builder.
        (JIT.format(above="", default=""), given("kernel", SIDE=1), True),
        (JIT.format(above="", default=" = 1"), given("kernel", SIDE=2), False),
        (
            JIT.format(above="# tirx-lens: args SIDE=2\n", default=""),
            given("kernel", SIDE=1),
            False,
        ),
        (JIT.format(above="# tirx-lens: args SIDE=1\n", default=""), Given(), True),
        # Values of other types.
        (builder("KIND", value="(1 if KIND == 'narrow' else 2)"), given(KIND="narrow"), True),
        (builder("KIND", value="(1 if KIND == 'narrow' else 2)"), given(KIND="wide"), False),
    ],
)
def test_arguments(text: str, outside: Given, expected: bool) -> None:
    assert is_found(text, outside) == expected


def test_an_analyser_gives_nothing_of_what_was_given_before() -> None:
    analyser = Analyser()
    source = SourceText(builder("SIDE", value="(1 if SIDE is True else 2)"))
    for side in (1, 2, 1, True, 1.0, 1, True):
        outside = given(SIDE=side)
        assert analyser.analyse(source, given=outside) == analyse(source, given=outside)


# The first warpgroup writes shared memory and stores it by TMA with no proxy fence between.
NO_FENCE = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx


@T.prim_func
def kernel(A: T.Buffer((128, 64), "float16"), B: T.Buffer((128, 64), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([1])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
    pool = T.SMEMPool()
    smem = pool.alloc((128, 64), "float16")
    pool.commit()
    Tx.wg.copy(smem, A[0:128, 0:64])
    T.cuda.cta_sync()
    if warp_id == 0 and lane_id == 0:
        Tx.copy_async(B[0:128, 0:64], smem, dispatch="tma")
        T.ptx.cp_async.bulk.commit_group()
        T.ptx.cp_async.bulk.wait_group(0)
"""
OLDER = "ptx.fence.proxy_async("
NEWER = "ptx.fence.proxy.async_.shared__cta()"


@pytest.mark.parametrize(
    ("text", "version", "spelling"),
    [
        (NO_FENCE, None, OLDER),
        (NO_FENCE, TvmVersion.V0_25, OLDER),
        (NO_FENCE, TvmVersion.V0_26, OLDER),
        (NO_FENCE, TvmVersion.V0_27, NEWER),
    ],
)
def test_fixes_are_spelled_for_the_version(
    text: str, version: TvmVersion | None, spelling: str
) -> None:
    findings = analyse(SourceText(text), given=Given(tvm_version=version)).findings
    fixes = [f.fix for f in findings if f.code == "TX302" and f.fix is not None]
    assert [edit.text for fix in fixes for edit in fix.edits if spelling in edit.text], findings


def test_versions_are_in_order() -> None:
    versions = list(TvmVersion)
    assert versions == [TvmVersion.V0_25, TvmVersion.V0_26, TvmVersion.V0_27]
    for index, one in enumerate(versions):
        assert [one.is_before(other) for other in versions] == [i > index for i in range(3)]
