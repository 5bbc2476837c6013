"""Texts with a place in them, and what is said of it in short lines that tests compare."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_lens.explain.reading import Reading, read
from tirx_lens.model.source import SourceText

MARK = "§"

RING = """\
    pool = T.SMEMPool()
    full = TMABar(pool, 2)
    empty = MBarrier(pool, 2)
    stages = pool.alloc((2, 64), "float16")
    pool.commit()
    full.init(1)
    empty.init(128)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                load = PipelineState(2, phase=1)
                for k in range(8):
                    empty.wait(load.stage, load.phase)
                    full.arrive(load.stage, 128)
                    Tx.copy_async(
                        stages[load.stage, :],
                        A[k * 64 : k * 64 + 64],
                        dispatch="tma_auto",
                        mbar=full.ptr_to([load.stage]),
                    )
                    load.advance()
    elif wg_id == 0:
        use = PipelineState(2, phase=0)
        for k in range(8):
            full.wait(use.stage, use.phase)
            empty.arrive(use.stage)
            use.advance()
"""
HEAD = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.backend.cuda.lang.warp_role import WarpgroupRole, WarpRole


@T.prim_func
def kernel(A: T.Buffer((512,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
"""
LINES_ABOVE = HEAD.count("\n")
"""A line of a body is one of the text with as many more."""


@dataclass(frozen=True)
class Asked:
    """A text that was read, and the byte offset at which it was marked."""

    reading: Reading
    offset: int

    @property
    def view(self):
        """The one kernel in it."""
        (view,) = self.reading.views
        return view

    def line(self, span) -> int:
        """Return the line of a place in the body, from 1."""
        return self.reading.source.line_of(span.start) + 1 - LINES_ABOVE

    def text(self, span) -> str:
        """Return what stands at a place."""
        return self.reading.source.slice(span)


def ask(body: str, *, whole: bool = False) -> Asked:
    """Read a kernel with this body, or a `whole` text; `§` marks the place that is asked about."""
    text = body if whole else HEAD + body
    offset = len(text.partition(MARK)[0].encode())
    return Asked(read(SourceText(text.replace(MARK, ""))), offset)


def marked(word: str, place: str | None = None, text: str = RING) -> str:
    """Return a text with `§` at a word, in the line that begins with `place` where one is named."""
    lines = text.split("\n")
    index = next(
        i
        for i, line in enumerate(lines)
        if word in line and (place is None or line.strip().startswith(place))
    )
    lines[index] = lines[index].replace(word, MARK + word, 1)
    return "\n".join(lines)
