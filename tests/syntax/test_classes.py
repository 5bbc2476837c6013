"""`T.meta_class` classes and plain functions that kernels call, run when a kernel is built."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.kernel import Op
from tirx_lens.model.queries import operations
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.syntax.read import read_kernels

RING = """\
@T.meta_class
class Ring:
    STAGES = 2

    def __init__(self, pool, stages, scale=1, late=None):
        self.full = TMABar(pool, stages)
        self.empty = MBarrier(pool, stages)
        self.pairs = [self.full]
        self.pairs.append(self.empty)
        self.depth = stages * scale
        self.stage = T.local_scalar("int32")
        if late is None:
            self.start(1)

    def start(self, count):
        for bar in self.pairs:
            bar.init(count)

    @T.inline
    def step(self):
        self.stage = self.stage + 1
        if self.stage == self.depth:
            self.stage = 0

    @T.inline
    def sync(self, group):
        if group == self.group():
            T.cuda.cta_sync()

    def group(self):
        return self.depth - 2

    def bare(self):
        T.cuda.cta_sync()


class Deeper(Ring):
    def group(self):
        return 7


"""


def text_of(body: str, before: str = RING) -> str:
    return in_kernel(body).replace("@T.prim_func", before + "@T.prim_func")


def operations_of(body: str, before: str = RING):
    (kernel,) = read_kernels(SourceText(text_of(body, before))).kernels
    assert kernel.is_whole
    return list(operations(kernel.body))


def codes(body: str, before: str = RING) -> list[str]:
    analysis = analyse(SourceText(text_of(body, before)))
    assert not analysis.failures
    return [finding.code for finding in analysis.findings]


MADE = "pool = T.SMEMPool()\nring = Ring(pool, Ring.STAGES)\npool.commit()\n"


def test_a_constructor_allocates_and_initialises() -> None:
    found = operations_of(MADE)
    assert [one.created.name for one in found if one.op is Op.CONSTRUCT and one.created] == [
        "pool",
        "ring.full",
        "ring.empty",
    ]
    inits = [one for one in found if one.op is Op.BARRIER_INIT]
    assert [one.receiver.name for one in inits if one.receiver] == ["ring.full", "ring.empty"]
    assert not [one for one in found if one.op is Op.OPAQUE]
    source = SourceText(text_of(MADE))
    outer, inner = inits[0].stack
    assert source.slice(outer) == "Ring(pool, Ring.STAGES)"
    assert source.slice(inner) == "self.start(1)"
    assert source.slice(inits[0].span) == "bar.init(count)"


def test_a_mistake_in_a_method_is_found_with_the_calls_that_lead_there() -> None:
    text = text_of(MADE + "ring.sync(wg_id)")
    (found,) = analyse(SourceText(text)).findings
    assert found.code == "TX102"
    assert SourceText(text).slice(found.span) == "T.cuda.cta_sync()"
    assert "ring.sync(wg_id)" in [SourceText(text).slice(one.span) for one in found.related]


def test_a_constructor_after_the_commit_is_too_late() -> None:
    assert "TX201" in codes("pool = T.SMEMPool()\npool.commit()\nring = Ring(pool, 2)")


def test_a_constructor_under_a_guard_leaves_its_barriers_without_init() -> None:
    late = "pool = T.SMEMPool()\nring = Ring(pool, 2, late=1)\npool.commit()\n"
    assert "TX101" in codes(late + "if wg_id == 1:\n    ring.start(1)")
    assert "TX101" not in codes(late + "ring.start(1)")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("Ring(pool, 2).sync(wg_id)", ["TX102"]),
        ("Ring(pool, 2, scale=2).sync(wg_id)", []),  # of a group that does not exist
        ("Ring(pool, 2, 1, None).sync(wg_id)", ["TX102"]),
        ("Deeper(pool, 2).sync(wg_id)", []),
        ("Ring(pool, A[0]).sync(wg_id)", []),  # of a group that is not known
    ],
)
def test_fields_follow_the_arguments(call: str, expected: list[str]) -> None:
    body = f"pool = T.SMEMPool()\n{call}\npool.commit()"
    assert [code for code in codes(body) if code == "TX102"] == expected


def test_a_class_with_inline_methods_needs_no_mark() -> None:
    unmarked = RING.replace("@T.meta_class\n", "")
    body = MADE.replace("Ring(pool, Ring.STAGES)", "T.meta_var(Ring(pool, 2))") + "ring.step()\n"
    assert not [one for one in operations_of(body, unmarked) if one.op is Op.OPAQUE]
    assert codes(body + "ring.sync(wg_id)", unmarked) == ["TX102"]
    assert codes(body + "ring.sync(wg_id)", unmarked.replace("== self", ">= self")) == []


def test_a_class_may_come_from_another_file(tmp_path) -> None:
    from tirx_lens.syntax.read import open_library
    from tirx_lens.workspace import SourceCache, WorkspaceModules

    head = in_kernel("").split("@T.prim_func", maxsplit=1)[0]
    (tmp_path / "rings.py").write_text(head + RING, "utf-8")
    text = "from rings import Ring\n" + text_of(MADE + "ring.sync(wg_id)", "")
    path = tmp_path / "main.py"
    library = open_library(WorkspaceModules(path, SourceCache()), str(path))
    (found,) = analyse(SourceText(text), library=library).findings
    assert found.code == "TX102"
    assert SourceText(text).slice(found.span) == "ring.sync(wg_id)"


def test_a_scalar_field_changes() -> None:
    """What is stored to a scalar is not what the field was made with."""
    body = MADE + "ring.step()\nif ring.stage == 0:\n    T.cuda.cta_sync()"
    assert not [one for one in operations_of(body) if one.op is Op.OPAQUE]
    assert "TX102" not in codes(MADE + "ring.depth = 3\nring.sync(wg_id)")


def test_fields_that_differ_between_host_branches_are_not_known() -> None:
    before = RING + "import os\nFLAG = len(os.name)\n\n"
    body = MADE + "if FLAG > 3:\n    ring.depth = 2\nelse:\n    ring.depth = 5\nring.sync(wg_id)"
    assert codes(body, before) == []


OPAQUE = {
    "an instruction that is not handed on": "ring.bare()",
    "a method that is not there": "ring.nothing()",
    "a field that is not there": "ring.nothing.wait(0, 0)",
    "a function that is not there": "helper(ring)",
}


@pytest.mark.parametrize("call", OPAQUE.values(), ids=OPAQUE.keys())
def test_what_is_not_followed_may_be_anything(call: str) -> None:
    found = operations_of(MADE + call)
    assert found[-1].op is Op.OPAQUE


NOT_FOLLOWED = {
    "while": "while True:\n        break",
    "a condition of the kernel": "if x > 3:\n        self.depth = 9",
    "a loop that is not known": "for i in range(x):\n        pass",
    "try": "try:\n        pass\n    finally:\n        pass",
    "a list that is sorted": "self.pairs.sort()",
    "itself": "self.later(x)",
    "an item": "self.pairs[0] = x",
}


@pytest.mark.parametrize("statement", NOT_FOLLOWED.values(), ids=NOT_FOLLOWED.keys())
def test_an_object_on_which_something_not_followed_ran_is_not_known(statement: str) -> None:
    method = f"def later(self, x):\n    {statement}\n"
    inside = "".join(f"    {line}\n" for line in method.splitlines())
    before = RING.replace("    def bare(self):", inside + "\n    def bare(self):")
    body = MADE + "ring.later(lane_id)\nring.sync(wg_id)"
    found = operations_of(body, before) if "later(x)" not in statement else []
    assert not found or [one for one in found if one.op is Op.OPAQUE]
    assert "TX102" not in codes(body, before)


PLAIN = """\
def bars(pool, count, *, init=True, **more):
    made = [MBarrier(pool, 1) for _ in range(count)]
    for bar in made:
        if init:
            bar.init(more.get("threads", 1) if False else 1)
    return tuple(made)


def group(x, *rest, last=1):
    return x + len(rest) + last


"""


def test_a_plain_function_hands_barriers_back() -> None:
    body = "pool = T.SMEMPool()\na, b = bars(pool, 2)\npool.commit()\n"
    inits = [one for one in operations_of(body, PLAIN) if one.op is Op.BARRIER_INIT]
    assert len(inits) == 2
    assert "TX201" in codes("pool = T.SMEMPool()\npool.commit()\na, b = bars(pool, 2)\n", PLAIN)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("group(-1)", ["TX102"]),
        ("group(-2, 5)", ["TX102"]),
        ("group(-3, 5, 6)", ["TX102"]),
        ("group(-3, 5, last=2)", ["TX102"]),
        ("group(-1, 5, 6)", []),
        ("group(*wg_id)", []),
    ],
)
def test_a_plain_function_computes(call: str, expected: list[str]) -> None:
    body = f"mine = T.meta_var({call})\nif wg_id == mine:\n    T.cuda.cta_sync()"
    assert codes(body, PLAIN) == expected
