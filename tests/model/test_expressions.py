"""What an expression is made of, and which objects it names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirx_lens.model.buffers import buffers_in
from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Item,
    Member,
    Operator,
    Path,
    Ref,
    Select,
    Sequence,
    Slice,
    Variable,
    objects_in,
    parts_of,
)
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.model.span import Span

ONE, TWO = Const(1), Const(2)
K = Variable("k")


def _object(serial: int, kind: ObjectKind = ObjectKind.BUFFER) -> KernelObject:
    return KernelObject(serial, kind, f"o{serial}", Span(serial, serial + 1))


A, B, C = (Ref(_object(n)) for n in range(3))
BARRIER = Ref(_object(3, ObjectKind.MBARRIER))


@pytest.mark.parametrize(
    ("expr", "parts"),
    [
        (ONE, ()),
        (K, ()),
        (A, ()),
        (Path("T.cuda.cta_sync"), ()),
        (Apply(Operator.ADD, (K, ONE)), (K, ONE)),
        (Sequence((ONE, K)), (ONE, K)),
        (Item(A, K), (A, K)),
        (Member(A, "data"), (A,)),
        (Slice(None, K), (K,)),
        (Slice(ONE, K, TWO), (ONE, K, TWO)),
        (Select(K, ONE, TWO), (K, ONE, TWO)),
        (Call(Path("f"), (ONE,), (("n", K),)), (Path("f"), ONE, K)),
    ],
)
def test_parts(expr: Expr, parts: tuple[Expr, ...]):
    assert parts_of(expr) == parts
    assert expr.weight == 1 + sum(part.weight for part in parts)


def test_objects_come_in_the_order_of_the_text():
    call = Call(Member(BARRIER, "ptr_to"), (Item(A, Slice(B, ONE)),), (("to", Select(K, C, ONE)),))
    expr = Sequence((call, ONE, A))
    assert list(objects_in(expr)) == [BARRIER.target, A.target, B.target, C.target, A.target]
    assert list(objects_in(A)) == [A.target]
    assert list(objects_in(K)) == []


def test_bounds_conditions_and_keywords_name_no_buffer_that_is_meant():
    call = Call(Path("f"), (Item(A, B),), (("to", C),))
    assert buffers_in(Sequence((call, BARRIER, Apply(Operator.ADD, (B, ONE))))) == [
        *(A.target, B.target),
        B.target,
    ]
    assert buffers_in(Item(A, Slice(B, C))) == [A.target]
    assert buffers_in(Select(A, B, C)) == []
    assert buffers_in(C) == [C.target]


def test_a_view_of_an_object_is_that_object():
    one = _object(5)
    view = replace(one, cta=ONE, name="far")
    assert view == one
    assert len({view, one}) == 1
    assert one != _object(6)
    assert one != 5
