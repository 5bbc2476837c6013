"""Kernels whose threads are launched by axis, not declared as scope ids."""

from __future__ import annotations

import pytest

from tirx_lens.analysis import analyse
from tirx_lens.model.source import SourceText
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.shape import shape_of

HEAD = """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
"""
# Each was compiled by TVM 0.27: `__launch_bounds__` says so many threads.
LAUNCHES = {
    "launch": ('tx = T.launch_thread("threadIdx.x", 256)', 256),
    "with": ('with T.launch_thread("threadIdx.x", 256) as tx:', 256),
    "loop": ('for tx in T.thread_binding(256, thread="threadIdx.x"):', 256),
    "loop from 0": ('for tx in T.thread_binding(0, 256, "threadIdx.x"):', 256),
    "environment": ('tx = T.env_thread("threadIdx.x")\nT.launch_thread(tx, 128)', 128),
    "one of y": (
        'tx = T.launch_thread("threadIdx.x", 64)\nty = T.launch_thread("threadIdx.y", 1)',
        64,
    ),
    "blocks": (
        'bx = T.launch_thread("blockIdx.x", 4)\nby = T.launch_thread("blockIdx.y", 4)\n'
        'tx = T.launch_thread("threadIdx.x", 256)',
        256,
    ),
    "several axes": (
        'tx = T.launch_thread("threadIdx.x", 32)\nty = T.launch_thread("threadIdx.y", 8)',
        None,
    ),
    "unknown extent": ('tx = T.launch_thread("threadIdx.x", A[0])', None),
}


def kernel(launch: str, body: str) -> str:
    inner = "    " if launch.endswith(":") else ""
    lines = [*launch.splitlines(), *(inner + line for line in body.splitlines())]
    return HEAD + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(("launch", "threads"), LAUNCHES.values(), ids=LAUNCHES.keys())
def test_a_launch_says_how_many_threads_there_are(launch: str, threads: int | None) -> None:
    (found,) = read_kernels(SourceText(kernel(launch, "A[tx] = 1.0"))).kernels
    shape = shape_of(found.scope_ids)
    assert (shape.threads if shape is not None else None) == threads


@pytest.mark.parametrize("name", LAUNCHES)
@pytest.mark.parametrize("guarded", [True, False])
def test_a_barrier_under_a_guard_on_the_launched_axis(name: str, guarded: bool) -> None:
    launch, threads = LAUNCHES[name]
    body = "if tx < 32:\n    T.cuda.cta_sync()" if guarded else "T.cuda.cta_sync()"
    analysis = analyse(SourceText(kernel(launch, body)))
    expected = ["TX102"] if guarded and threads else []
    assert [one.code for one in analysis.findings] == expected


def test_blocks_of_two_axes_are_not_the_same_number() -> None:
    launch = LAUNCHES["blocks"][0]
    body = "if bx == by:\n    T.cuda.cta_sync()"
    assert not analyse(SourceText(kernel(launch, body))).findings
    body = "if bx == by:\n    if tx < 32:\n        T.cuda.cta_sync()"
    (found,) = analyse(SourceText(kernel(launch, body))).findings
    assert found.code == "TX102"
