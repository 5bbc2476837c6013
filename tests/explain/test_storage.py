"""Where buffers, pools and columns of TMEM lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_lens.explain.reading import read
from tirx_lens.explain.states import state_note
from tirx_lens.explain.storage import buffer_note, pool_note, storage, tmem_allocations
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.source import SourceText

from .asking import HEAD, RING, ask

KERNELS = Path(__file__).parents[2] / "kernels"
SEVEN = [
    "pool: 148480 bytes",
    "tmem_addr: SMEM 1 uint32, 4 bytes at 0",
    "As: SMEM 4×128×64 float16, 65536 bytes at 1024",
    "Bs: SMEM 4×128×64 float16, 65536 bytes at 66560",
    "Ds: SMEM 128×64 float16, 16384 bytes at 132096",
    "acc: TMEM 128×128 float32, 65536 bytes, columns 0+128",
]
TENSOR = """\
    pool = T.SMEMPool()
    addr = pool.alloc((1,), "uint32")
    if warp_id == 0:
        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
            T.address_of(addr[0]), T.uint32(256)
        )
    T.cuda.cta_sync()
    base: T.let[T.uint32] = addr[0]
    low = T.decl_buffer((128, 128), "float16", scope="tmem", allocated_addr=base)
    high = T.decl_buffer((128, 64), "float32", scope="tmem", allocated_addr=base + 64)
    odd = T.decl_buffer((64, 64), "float32", scope="tmem", allocated_addr=base)
"""


def told(text: str) -> list[str]:
    """Say where the storage of the kernels of a text is."""
    lines = []
    for view in read(SourceText(text)).views:
        for made in storage(view):
            if made.kind is ObjectKind.SMEM_POOL:
                pool = pool_note(view, made)
                lines.append(f"{made.name}: {pool.bytes if pool else 'unknown'} bytes")
                continue
            note = buffer_note(view, made)
            line = f"{made.name}: {note.memory.value} {'×'.join(note.shape)} {note.dtype}".rstrip()
            line += f", {note.bytes} bytes" if note.bytes is not None else ""
            line += f" at {note.slot.start}" if note.slot is not None else ""
            if note.columns is not None:
                line += f", columns {note.columns.first}+{note.columns.count}"
            lines.append(line)
    return lines


@pytest.mark.parametrize("folder", ["", "v0_26/"])
def test_the_example_kernels(folder: str) -> None:
    assert told((KERNELS / f"{folder}gemm_step7_warp_specialized.py").read_text("utf-8")) == SEVEN


CASES = {
    "tensor memory": (
        TENSOR,
        [
            "pool: 4 bytes",
            "addr: SMEM 1 uint32, 4 bytes at 0",
            "low: TMEM 128×128 float16, 32768 bytes, columns 0+64",
            "high: TMEM 128×64 float32, 32768 bytes, columns 64+64",
            "odd: TMEM 64×64 float32, 16384 bytes",
        ],
    ),
    "a size that is not known": (
        RING.replace("(2, 64)", "(2, A[0])"),
        ["pool: unknown bytes", "stages: SMEM 2×? float16"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_storage(name: str) -> None:
    body, expected = CASES[name]
    assert told(HEAD + body) == expected


def test_slots_of_a_pool() -> None:
    view = ask(RING).view
    pool = next(made for made in storage(view) if made.kind is ObjectKind.SMEM_POOL)
    note = pool_note(view, pool)
    assert [(slot.name, slot.start, slot.bytes) for slot in note.slots] == [
        ("full", 0, 16),
        ("empty", 16, 16),
        ("stages", 32, 256),
    ]


def test_who_allocates_tensor_memory() -> None:
    (one,) = tmem_allocations(ask(TENSOR).view)
    assert (one.columns, one.who) == (256, "warp 0 of every warpgroup (64 of 256 threads)")


def test_states() -> None:
    asked = ask(RING)
    targets = {m.target for m in asked.view.kernel.mentions}
    states = sorted(
        (t for t in targets if t.kind is ObjectKind.PIPELINE_STATE), key=lambda t: t.serial
    )
    notes = [state_note(asked.view, state) for state in states]
    assert [(n.state.name, n.depth, n.phase) for n in notes] == [("load", 2, 1), ("use", 2, 0)]
    assert [[asked.line(at) for at in n.advances] for n in notes] == [[23], [29]]
