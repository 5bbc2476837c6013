"""The constants that mutants change: counts, phases, bytes, slots, depths, ids and columns."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .verdict import matches


@dataclass(frozen=True)
class StatementConstant:
    """Statements by a pattern of their label, what to replace in them, and a name for that."""

    name: str
    place: str
    old: str
    new: str

    def applied(self, label: str, written: str) -> str | None:
        """Return the changed statement; None where there is nothing of the kind to change."""
        if not matches(self.place, label):
            return None
        changed, count = re.subn(self.old, self.new, written, count=1, flags=re.DOTALL)
        return changed if count and changed != written else None


@dataclass(frozen=True)
class HostConstant:
    """A constant of the module and another value for it."""

    name: str
    value: str


_DEPTH = r"(pool, |\(\()(DEPTH|CONSUMERS)\b"
_WAIT = r"\.wait\((.+), (.+)\)"
_MEETING = r"_sync\((.+)\)"
_TMEM_COLUMNS = r"\bTMEM_COLS\b"
_LOOP = r"(range|unroll)\((K_TILES|TILES|AHEAD|DEPTH|CONSUMERS)\)"
_LOOPS = "loop wait *|loop call *|loop row"

STATEMENT_CONSTANTS = (
    StatementConstant("count + 1", "init *", r"\.init\((.+)\)", r".init(\1 + 1)"),
    StatementConstant("count - 1", "init *", r"\.init\((.+)\)", r".init(\1 - 1)"),
    StatementConstant("count 1", "init *", r"\.init\((.+)\)", r".init(1)"),
    StatementConstant("half the bytes", "arrive full", r"\((.+), (.+)\)", r"(\1, \2 // 2)"),
    StatementConstant("twice the bytes", "arrive full", r"\((.+), (.+)\)", r"(\1, \2 * 2)"),
    StatementConstant("no bytes", "arrive full", r"\((.+), (.+)\)", r"(\1)"),
    StatementConstant("phase flipped", "state *", r"phase=0\)", r"phase=1)"),
    StatementConstant("phase flipped", "state *", r"phase=1\)$", r"phase=0)"),
    StatementConstant("depth - 1", "state *", r"\(DEPTH,", r"(DEPTH - 1,"),
    StatementConstant("depth + 1", "state *", r"\(DEPTH,", r"(DEPTH + 1,"),
    StatementConstant("depth + 1", "state *", r"\(1,", r"(2,"),
    StatementConstant("depth 1", "state *", r"\(DEPTH,", r"(1,"),
    StatementConstant("depth - 1", "make *|alloc *", _DEPTH, r"\1\2 - 1"),
    StatementConstant("depth + 1", "make *|alloc *", _DEPTH, r"\1\2 + 1"),
    StatementConstant("depth + 1", "make *", r"\(pool, 1\)", r"(pool, 2)"),
    StatementConstant("depth 1", "make *", _DEPTH, r"\g<1>1"),
    StatementConstant("slot 0", "wait *", r"\.wait\((?!0,)[^,]+, ", r".wait(0, "),
    StatementConstant("slot 1", "wait *", r"\.wait\(0, ", r".wait(1, "),
    StatementConstant("slot + depth", "wait *", r"(\w+\.stage), ", r"\1 + DEPTH, "),
    StatementConstant("phase flipped", "wait *", _WAIT, r".wait(\1, \2 ^ 1)"),
    StatementConstant("phase 0", "wait *", r", \w+\.phase\)", r", 0)"),
    StatementConstant("phase 1", "wait *", r", \w+\.phase\)", r", 1)"),
    StatementConstant("slot 0", "arrive *", r"\.arrive\((?!0\b)[^,)]+", r".arrive(0"),
    StatementConstant("slot 1", "arrive *", r"\.arrive\(0\b", r".arrive(1"),
    StatementConstant("slot + depth", "arrive *", r"(\w+\.stage)", r"\1 + DEPTH"),
    StatementConstant("no remote", "arrive *", r", remote=0", r""),
    StatementConstant("remote 1", "arrive *", r"remote=0", r"remote=1"),
    StatementConstant("mask of rank 0", "arrive *", r"cta_mask=BOTH", r"cta_mask=0b01"),
    StatementConstant("no mask", "arrive *", r", cta_mask=BOTH", r""),
    StatementConstant("cta_group 1", "arrive *", r"cta_group=2", r"cta_group=1"),
    StatementConstant("id 0", "sync *", _MEETING, r"_sync(0)"),
    StatementConstant("id 16", "sync *", _MEETING, r"_sync(16)"),
    StatementConstant("another id", "sync *", _MEETING, r"_sync(\1 + 5)"),
    StatementConstant("one id for both", "sync *", r" \+ wg_id\)", r")"),
    StatementConstant("half the columns", "tcgen05.*", _TMEM_COLUMNS, r"TMEM_COLS // 2"),
    StatementConstant("twice the columns", "tcgen05.*", _TMEM_COLUMNS, r"TMEM_COLS * 2"),
    StatementConstant("100 columns", "tcgen05.alloc", _TMEM_COLUMNS, r"100"),
    StatementConstant("cta_group 1", "tcgen05.*", r"cta_group::2", r"cta_group::1"),
    StatementConstant("one group left", "wait_group", r"\(0\)", r"(1)"),
    StatementConstant("no mbar", "load *", r",\s+mbar=[^\n]+", r""),
    StatementConstant("mbar of slot 0", "load *", r"ptr_to\(\[\w+\.stage\]\)", r"ptr_to([0])"),
    StatementConstant("own barrier", "load *", r"leader_full\.", r"full."),
    StatementConstant("no cta_group", "load *", r"\s+cta_group=2,", r""),
    StatementConstant("no dispatch", "load *|store|gemm", r"\s+dispatch=\"[^\"]+\",", r""),
    StatementConstant("always accumulates", "gemm", r"accum=(\(k != 0\)|False)", r"accum=True"),
    StatementConstant("cta_group 1", "gemm", r"cta_group=2", r"cta_group=1"),
    StatementConstant("one round fewer", _LOOPS, _LOOP, r"\1(\2 - 1)"),
    StatementConstant("one round more", _LOOPS, _LOOP, r"\1(\2 + 1)"),
)
"""What to change in statements. Each way is tried where its pattern is found."""

HOST_CONSTANTS = (
    HostConstant("DEPTH", "2"),
    HostConstant("DEPTH", "8"),
    HostConstant("TMEM_COLS", "64"),
    HostConstant("TMEM_COLS", "256"),
    HostConstant("TMEM_COLS", "500"),
    HostConstant("TMEM_COLS", "1024"),
    HostConstant("WRITEBACK", "64"),
    HostConstant("CONSUMER", "64"),
    HostConstant("WRITEBACK_BARRIER", "0"),
    HostConstant("WRITEBACK_BARRIER", "15"),
    HostConstant("WRITEBACK_BARRIER", "16"),
    HostConstant("OUT_BARRIER", "0"),
    HostConstant("OUT_BARRIER", "15"),
    HostConstant("OUT_BARRIER", "16"),
)
"""What to change above the kernel, where every use of the name follows."""
