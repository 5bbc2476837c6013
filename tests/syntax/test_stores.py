"""Names that a kernel binds more than once: what each use of them means."""

from __future__ import annotations

import pytest

from tirx_lens.model.expr import constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.queries import operations
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel
from tirx_lens.syntax.read import read_kernels


@pytest.mark.parametrize(
    ("statements", "slots"),
    [
        (
            "if wg_id == 0:\n    slot = T.meta_var(2)\n    bar.arrive(slot)\n"
            "else:\n    slot = T.meta_var(3)\n    bar.arrive(slot)\n",
            [2, 3],
        ),
        ("slot = T.meta_var(2)\nbar.arrive(slot)\nslot = T.meta_var(3)\nbar.arrive(slot)", [2, 3]),
        ("slot = 2\nbar.arrive(slot)\nslot = 3\nbar.arrive(slot)", [None, None]),
        ("slot = T.meta_var(2)\nbar.arrive(slot)\nslot += 1\nbar.arrive(slot)", [None, None]),
        ("slot = 2\nbar.arrive(slot)\nslot = T.meta_var(3)\nbar.arrive(slot)", [None, None]),
        (
            "slot = T.meta_var(2)\n@T.inline\ndef move():\n    slot = 3\nmove()\nbar.arrive(slot)",
            [None],
        ),
    ],
)
def test_a_meta_variable_is_bound_anew_and_others_are_stored_to(
    statements: str, slots: list[int | None]
) -> None:
    source = SourceText(in_kernel(f"bar = MBarrier(pool, 4)\n{statements}\n"))
    (kernel,) = read_kernels(source).kernels
    arrivals = [one for one in operations(kernel.body) if one.op is Op.BARRIER_ARRIVE]
    assert [constant_int(one.argument(0, "stage")) for one in arrivals] == slots
