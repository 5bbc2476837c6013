"""What is looked up about buffers and copies is what each operation says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tirx_lens.files import read_source
from tirx_lens.model.expr import Expr, Ref, parts_of
from tirx_lens.model.kernel import Loop, Op, Operation
from tirx_lens.model.source import SourceText
from tirx_lens.rules.facts.bulk import bulk_copy
from tirx_lens.rules.facts.engine_copies import engine_copies
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.naming import naming, tmem_users
from tirx_lens.rules.facts.tiles import Walk, scheduler_of, walks_of
from tirx_lens.rules.facts.tmem import named_by, tmem_load, tmem_loads, uses_tmem
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import Reached, ReachMap, reach

if TYPE_CHECKING:
    from tirx_lens.model.objects import KernelObject

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((ROOT / "kernels").rglob("*.py")),
    *sorted((ROOT / "tests" / "corpus" / "shapes").glob("*.py")),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_indices_agree_with_operations(path: Path):
    source = read_source(path)
    assert isinstance(source, SourceText)
    for kernel in read_kernels(source).kernels:
        followed = reach(kernel, compute)
        if followed is None:
            continue
        view = KernelView(source, kernel, followed)
        names, copies = naming(view), engine_copies(followed)
        operations = [reached.operation for reached in followed.reached]
        for operation in operations:
            named = tuple(dict.fromkeys(named_by(operation)))
            assert names.by_operation.get(id(operation), ()) == named
            assert copies.get(id(operation)) == bulk_copy(operation)
            assert followed.once(tmem_loads).get(id(operation)) == tmem_load(operation)
        for buffer, users in names.by_buffer.items():
            assert [one.operation for one in users] == [
                operation for operation in operations if buffer in named_by(operation)
            ]
        assert [one.operation for one in tmem_users(view)] == list(filter(uses_tmem, operations))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_users_of_an_object_are_the_operations_that_name_it(path: Path):
    source = read_source(path)
    assert isinstance(source, SourceText)
    for kernel in read_kernels(source).kernels:
        found = handoffs(KernelView(source, kernel, None))
        named = {
            id(place): (place.operation.receiver, *map(_target, _refs_of(place.operation)))
            for place in found.program
        }
        assert [place.index for place in found.program] == list(range(len(found.program)))
        for place in found.program:
            assert place.loops == tuple(one for one in place.around if isinstance(one, Loop))
        everything = {one for names in named.values() for one in names if one is not None}
        assert found.users.keys() == everything
        for one, users in found.users.items():
            assert users == [place for place in found.program if one in named[id(place)]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_walks_are_what_the_loops_over_tiles_reach(path: Path):
    source = read_source(path)
    assert isinstance(source, SourceText)
    for kernel in read_kernels(source).kernels:
        followed = reach(kernel, compute)
        if followed is not None:
            assert walks_of(followed) == _walks(followed)


_TESTED_AGAIN = """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    bx = T.cta_id([4])
    tid = T.thread_id([128])
    tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
    tiles.init(bx)
    tiles.next_tile()
    while tiles.valid():
        A[0] = T.float16(0)
        while tiles.valid():
            tiles.next_tile()
        if tiles.valid():
            tiles.next_tile()


print(kernel)
"""


def test_walks_of_loops_in_loops():
    (kernel,) = read_kernels(SourceText(_TESTED_AGAIN)).kernels
    followed = reach(kernel, compute)
    assert followed is not None
    found = walks_of(followed)
    assert found == _walks(followed)
    assert [len(walk.steps) for walk in found] == [2, 1]


def _refs_of(operation: Operation) -> list[Ref]:
    pending: list[Expr] = [*operation.arguments, *(value for _, value in operation.keywords)]
    found: list[Ref] = []
    while pending:
        part = pending.pop()
        found += [part] if isinstance(part, Ref) else []
        pending += parts_of(part)
    return found


def _target(ref: Ref) -> KernelObject:
    return ref.target


def _walks(followed: ReachMap) -> list[Walk]:
    """Find the walks operation by operation: each loop, once its scheduler has been tested."""
    tested: dict[KernelObject, Reached] = {}
    walks: dict[int, Walk] = {}
    for reached in followed.reached:
        receiver, name = reached.operation.receiver, reached.operation.name
        for loop in reached.loops:
            scheduler = scheduler_of(loop)
            if scheduler is None or scheduler not in tested:
                continue
            walk = walks.setdefault(id(loop), Walk(loop, scheduler, tested[scheduler]))
            walk.opaque |= reached.operation.op is Op.OPAQUE
            if receiver == scheduler and name != "valid":
                walk.steps.append(reached)
        if receiver is not None and name == "valid":
            tested[receiver] = reached
    return list(walks.values())
