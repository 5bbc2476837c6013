"""The kernels of this repository as TVM 0.26 spells them, by plain replacement of text."""

from __future__ import annotations

import re

_SAME = {
    "T.ptx.fence.mbarrier_init.release.cluster()": "T.ptx.fence.mbarrier_init()",
    "T.ptx.fence.proxy.async_.shared__cta()": 'T.ptx.fence.proxy_async("shared::cta")',
    "T.ptx.cp.async_.bulk.commit_group()": "T.ptx.cp_async.bulk.commit_group()",
    "T.ptx.cp.async_.bulk.wait_group.read(": "T.ptx.cp_async.bulk.wait_group(",
    "T.ptx.tcgen05.fence__": "T.ptx.tcgen05.fence.",
    "T.ptx.tcgen05.wait__ld.sync.aligned()": "T.ptx.tcgen05.wait.ld()",
    "T.ptx.tcgen05.wait__st.sync.aligned()": "T.ptx.tcgen05.wait.st()",
    "T.cuda.elect_sync()": "T.ptx.elect_sync()",
}
_ALLOC = re.compile(
    r'T\.ptx\["tcgen05\.(?P<what>alloc|dealloc)\.cta_group::(?P<group>\d)[^"]*"\]\('
    r"(?P<first>\s*[^,]+), T\.uint32\((?P<columns>\w+)\)"
)
_PERMIT = re.compile(r'T\.ptx\["tcgen05\.relinquish_alloc_permit\.cta_group::(\d)[^"]*"\]\(\)')
_REGISTERS = re.compile(r"T\.ptx\.setmaxnreg\.(inc|dec)\.sync\.aligned\.u32\((\d+)\)")


def as_0_26(text: str) -> str:
    """Spell a kernel as 0.26 does. What is left of 0.27 shows when it is built."""
    for new, old in _SAME.items():
        text = text.replace(new, old)
    text = _ALLOC.sub(
        r"T.ptx.tcgen05.\g<what>(\g<first>, n_cols=\g<columns>, cta_group=\g<group>", text
    )
    text = _REGISTERS.sub(lambda m: f"T.ptx.setmaxnreg({m[1] == 'inc'}, {m[2]})", text)
    return _PERMIT.sub(r"T.ptx.tcgen05.relinquish_alloc_permit(cta_group=\1)", text)


def as_0_25(text: str) -> str:
    """Spell a kernel as 0.25 does, with an import that 0.26 moved. No such TVM builds it here."""
    old = as_0_26(text)
    old = old.replace("alloc_tcgen05_mma_AB(", "alloc_mma(").replace('"tma_auto"', '"tma"')
    head = "from tvm.script import tirx as T\n"
    moved = "from tvm.backend.cuda.operator.tile_primitive.tma_utils import tma_shared_layout\n"
    assert head in old
    return old.replace(head, f"{moved}{head}", 1) + "\n\nLAYOUT = tma_shared_layout  # used\n"
