"""The setting in which the short examples of rules stand: a kernel of two warpgroups."""

from __future__ import annotations

from textwrap import dedent, indent

_HEAD = """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D


@T.prim_func
def kernel(A: T.Buffer((4096,), "float16")):
    T.device_entry()
    bx = T.cta_id([4])
    wg_id = T.warpgroup_id([2])
    warp_id = T.warp_id_in_wg([4])
    lane_id = T.lane_id([32])
"""


def in_kernel(body: str) -> str:
    """Put statements at the end of a kernel of 256 threads: `wg_id`, `warp_id` and `lane_id`."""
    return _HEAD + indent(dedent(body).strip("\n") + "\n", "    ")
