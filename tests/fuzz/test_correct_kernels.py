"""Kernels that are correct by the way they are made: no error and no warning in any of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tirx_lens.analysis import analyse
from tirx_lens.model.finding import Severity
from tirx_lens.model.source import SourceText

from .gemms import Clearing, Gemm
from .profiles import examples
from .rings import Barriers, Release, Ring, Rounds, Stores
from .spelling import SPELLINGS
from .style import Counter, Guards, Ids, Style

LOUD = (Severity.ERROR, Severity.WARNING)


def enums(kind):
    return st.sampled_from(list(kind))


def styles(*roles: str):
    return st.builds(
        Style,
        spelling=st.sampled_from(SPELLINGS),
        ids=enums(Ids),
        guards=enums(Guards),
        counter=enums(Counter),
        elects=st.booleans(),
        swapped=st.booleans(),
        helpers=st.frozensets(st.sampled_from(roles)),
        reversed_roles=st.booleans(),
    )


RINGS = st.builds(
    Ring,
    style=styles("produce", "consume_0", "consume_1", "store_0", "store_1"),
    warpgroups=st.integers(2, 4),
    producer=st.integers(0, 3),
    producer_warp=st.integers(0, 3),
    depth=st.integers(1, 6),
    loads=st.sampled_from([1, 2, 4]),
    arms_each=st.booleans(),
    barriers=enums(Barriers),
    release=enums(Release),
    rounds=enums(Rounds),
    tiles=st.integers(1, 9),
    stores=enums(Stores),
    out_slots=st.sampled_from([1, 2]),
    prefills=st.booleans(),
    drains=st.booleans(),
    cluster_publish=st.booleans(),
    init_after_commit=st.booleans(),
    by_name=st.booleans(),
    elects_inside=st.booleans(),
)


GEMMS = st.builds(
    Gemm,
    style=styles("produce", "multiply", "write_back"),
    load=st.tuples(st.integers(0, 2), st.integers(0, 3)),
    mma=st.tuples(st.integers(0, 2), st.integers(0, 3)),
    writer=st.integers(0, 2),
    idle=st.integers(0, 1),
    owner=st.tuples(st.integers(0, 2), st.integers(0, 3)),
    depth=st.integers(2, 5),
    acc_slots=st.sampled_from([1, 1, 2]),
    columns=st.sampled_from([64, 128]),
    k=st.integers(1, 8),
    known=st.booleans(),
    persistent=st.booleans(),
    arms_each=st.booleans(),
    clearing=enums(Clearing),
    frees_early=st.booleans(),
    release=enums(Release),
    stores=st.booleans(),
    waits_late=st.booleans(),
    elects_inside=st.booleans(),
    alloc_first=st.booleans(),
    drains=st.booleans(),
    pair=st.booleans(),
)


def assert_quiet(text: str) -> None:
    analysis = analyse(SourceText(text))
    assert not analysis.failures, text
    loud = [f for f in analysis.findings if f.severity in LOUD]
    assert not loud, f"{loud[0].code} {loud[0].message}\n{text}"


@examples(40, 3000)
@given(RINGS)
def test_ring_copies_are_quiet(ring: Ring) -> None:
    assert_quiet(ring.text())


@examples(30, 2000)
@given(GEMMS)
def test_gemms_are_quiet(gemm: Gemm) -> None:
    assert_quiet(gemm.text())


@examples(15, 500)
@given(RINGS.filter(lambda ring: not ring.drains and ring.rounds is not Rounds.CONSTANT))
def test_a_wrong_count_in_them_is_found(ring: Ring) -> None:
    """The silence above is understanding: with one arrival too few it is an error.

    Of a ring whose producer waits for the last stages, or goes round once, TX104 says nothing yet.
    """
    text = ring.text().replace("empty.init(READERS)", "empty.init(READERS + 1)")
    text = text.replace("init_empty=READERS", "init_empty=READERS + 1")
    assert "TX104" in {finding.code for finding in analyse(SourceText(text)).findings}, text
