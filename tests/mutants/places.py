"""The statements and guards of a kernel, as a tree of lines with labels that tables can name.

Structure and spans come from the model; who runs a statement does not: it is worked out here from
the text of the guards, so that the measured code does not judge itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Block, Branch, Inlined, Loop, Op, Operation
from tirx_lens.model.queries import statement_span
from tirx_lens.syntax.read import read_kernels

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Statement
    from tirx_lens.model.source import SourceText

SETUP = ("publish", "written", "teardown")
WITH_STORE = ("publish", "written", "read", "teardown")
TILE_ROLES = {
    1: ("all",),
    3: ("producer", "mma", "writeback"),
    6: ("loads", "qk", "pv", "softmax", "correction", "epilogue"),
}


@dataclass(frozen=True)
class Facts:
    """What the tables need to know of a kernel: its meetings in program order, its warpgroups."""

    meetings: tuple[str, ...]
    warpgroups: int


KERNELS = {
    "step1": Facts(SETUP, 1),
    "step2": Facts(SETUP, 1),
    "step3": Facts(SETUP, 1),
    "step4": Facts(WITH_STORE, 1),
    "step5": Facts(WITH_STORE, 1),
    "step6": Facts(WITH_STORE, 1),
    "step7": Facts(WITH_STORE, 2),
    "step8": Facts(WITH_STORE, 2),
    "step9": Facts(WITH_STORE, 3),
    "ring": Facts(("publish", "written", "read"), 2),
    "attention": Facts(WITH_STORE, 4),
}
"""By the short name of a kernel; those of `v0_26` are the same kernels in another spelling."""

_MEETINGS = frozenset({Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.NAMED_BARRIER})
_PLAIN = {
    Op.POOL_COMMIT: "pool.commit",
    Op.FENCE_MBARRIER_INIT: "fence init",
    Op.FENCE_PROXY_ASYNC: "fence proxy",
    Op.FENCE_BEFORE_THREAD_SYNC: "fence before",
    Op.TMEM_ALLOC: "tcgen05.alloc",
    Op.TMEM_DEALLOC: "tcgen05.dealloc",
    Op.TMEM_RELINQUISH: "tcgen05.relinquish",
    Op.TMEM_WAIT_LOAD: "wait.ld",
    Op.TMEM_WAIT_STORE: "wait.st",
    Op.BULK_COMMIT: "commit_group",
    Op.BULK_WAIT: "wait_group",
    Op.GEMM_ASYNC: "gemm",
}
_OF_ROLES = (Op.FENCE_BEFORE_THREAD_SYNC, Op.TMEM_WAIT_LOAD, Op.TMEM_WAIT_STORE)
_WITH_RECEIVER = {
    Op.BARRIER_INIT: "init",
    Op.BARRIER_WAIT: "wait",
    Op.BARRIER_ARRIVE: "arrive",
    Op.STATE_ADVANCE: "advance",
}
_COPY = re.compile(r"copy(?:_async)?\(\s*(\w+)\[")
_LOADED = ("As", "Bs", "stages", "Qs", "Ks", "Vs")
_STORED = ("D", "Y", "O")
_COPIES = dict.fromkeys(_LOADED, "load") | dict.fromkeys(_STORED, "store")
BUILDS = ("alloc ", "make ", "state ", "pool.commit")
"""What is done while the kernel is built: no thread of it runs these."""


@dataclass(frozen=True)
class Threads:
    """Warps as (CTA of the cluster, warpgroup, warp), and whether one elected lane of each."""

    warps: frozenset[tuple[int, int, int]]
    elected: bool

    def narrowed(self, warpgroup: int | None = None, warp: int | None = None) -> Threads:
        kept = frozenset(
            (rank, wg, w)
            for rank, wg, w in self.warps
            if warpgroup in (None, wg) and warp in (None, w)
        )
        return Threads(kept, self.elected)


@dataclass
class Arm:
    """One `if`, `elif` or loop header, on `header` lines, and what stands under it."""

    condition: str
    header: tuple[int, int]
    body: list[Node] = field(default_factory=list)


@dataclass
class Node:
    """A statement on whole lines `[first, last]`, from 0. `label` is empty where nothing is said.

    `arms` are those of an `if` chain or the one of a loop. `sync` says that this simple statement
    synchronises. `siblings` is the block it stands in, `parent` the statement around that block.
    """

    label: str
    first: int
    last: int
    threads: Threads
    sync: bool = False
    is_loop: bool = False
    arms: list[Arm] = field(default_factory=list)
    siblings: list[Node] = field(default_factory=list)
    parent: Node | None = None

    @property
    def is_drain(self) -> bool:
        """Whether this is a loop once round a ring, at the end of a role."""
        return self.is_loop and "range(DEPTH)" in self.arms[0].condition


def read(source: SourceText, name: str) -> list[Node]:
    """Return every statement of the one kernel of a text, in the order of the text."""
    (kernel,) = read_kernels(source).kernels
    reader = _Reader(source, KERNELS[name])
    reader.block(kernel.body, [], None)
    reader.tell_apart()
    return sorted(reader.nodes, key=lambda node: (node.first, -node.last))


class _Reader:
    def __init__(self, source: SourceText, facts: Facts) -> None:
        self.nodes: list[Node] = []
        self._source = source
        self._facts = facts
        self._bodies: set[int] = set()
        self._meetings = 0
        self._last_wait = ""
        self._next_tiles: list[Node] = []
        self._plain: dict[str, list[tuple[Node, str]]] = {}

    def tell_apart(self) -> None:
        """Name those of one label by the wait before them, where several roles do the same."""
        for label, nodes in self._plain.items():
            if len({wait for _, wait in nodes}) > 1:
                for node, wait in nodes:
                    node.label = f"{label} {wait}"

    def block(self, block: Block, guards: list[str], parent: Node | None) -> list[Node]:
        """Add the statements of a block; operations of one statement are one node."""
        nodes: list[Node] = []
        groups: dict[tuple[int, int], list[Statement]] = {}
        for statement in block.statements:
            span = statement_span(statement)
            assert span is not None
            groups.setdefault((span.start, span.end), []).append(statement)
        for (start, end), statements in groups.items():
            first, last = self._source.line_of(start), self._source.line_of(end - 1)
            node = Node("", first, last, self._threads(guards), siblings=nodes, parent=parent)
            self._fill(node, statements, guards)
            nodes.append(node)
        self.nodes += nodes
        return nodes

    def _fill(self, node: Node, statements: list[Statement], guards: list[str]) -> None:
        main = statements[-1]
        match main:
            case Branch():
                self._branch(node, main, guards)
                node.label = f"if {_inner(node)}"
            case Loop():
                lines = self._lines(main.header.start, main.header.end)
                arm = Arm(self._source.slice(main.header), lines)
                node.arms, node.is_loop = [arm], True
                arm.body = self.block(main.body, guards, node)
                node.label = f"loop {_inner(node)}"
            case Inlined(body=body):
                node.label = f"call {main.name}"
                key = statement_span(body.statements[0])
                if key is not None and key.start not in self._bodies:
                    self._bodies.add(key.start)
                    self.block(body, guards, node)
            case _:
                done = [each for each in statements if isinstance(each, Operation)]
                self._simple(node, done)

    def _branch(self, node: Node, branch: Branch, guards: list[str]) -> None:
        seen: list[str] = []
        while True:
            condition = self._source.slice(branch.condition_span)
            lines = self._lines(branch.condition_span.start, branch.condition_span.end)
            arm = Arm(condition, lines)
            node.arms.append(arm)
            inside = [*guards, *(f"not ({other})" for other in seen), condition]
            arm.body = self.block(branch.then, inside, node)
            seen.append(condition)
            (*_, other) = branch.orelse.statements or (None,)
            if not isinstance(other, Branch):
                assert other is None, "a plain else: no kernel has one yet"
                return
            branch = other

    def _simple(self, node: Node, done: list[Operation]) -> None:
        text = self.text(node)
        if not done:
            node.label = text.split("=")[0].split(":")[0].strip()
            return
        main = done[-1]
        made = next((each.created for each in done if each.created is not None), None)
        name = main.receiver.name if main.receiver is not None else ""
        if main.op in _MEETINGS:
            node.label = f"sync {self._facts.meetings[self._meetings]}"
            self._meetings += 1
        elif main.op in _WITH_RECEIVER:
            node.label = f"{_WITH_RECEIVER[main.op]} {name}"
            if main.op is Op.BARRIER_WAIT:
                self._last_wait = name
            if node.parent is not None and node.parent.is_drain:
                node.label += " (drain)"
        elif main.op is Op.NEXT_TILE:
            self._next_tiles.append(node)
            roles = TILE_ROLES.get(len(self._next_tiles), ())
            for each, role in zip(self._next_tiles, roles, strict=False):
                each.label = f"next_tile {role}"
        elif main.op is Op.FENCE_AFTER_THREAD_SYNC:
            node.label = f"fence after {self._last_wait}"
        elif main.op in _PLAIN:
            node.label = _PLAIN[main.op]
            if main.op in _OF_ROLES:
                self._plain.setdefault(node.label, []).append((node, self._last_wait))
        elif main.op in (Op.COPY, Op.COPY_ASYNC):
            found = _COPY.search(text)
            target = found[1] if found else ""
            kind = _COPIES.get(target, "") if main.op is Op.COPY_ASYNC else "copy"
            node.label = {"load": f"load {target}", "store": "store", "copy": f"copy {target}"}.get(
                kind, f"read {target}"
            )
        elif made is not None:
            node.label = f"{_made(main)} {made.name}"
        else:
            node.label = text.split("=")[0].split(":")[0].split("(")[0].strip()
        node.sync = (
            main.op in _MEETINGS
            or main.op in _WITH_RECEIVER
            or (main.op in _PLAIN and main.op is not Op.GEMM_ASYNC)
            or main.op in (Op.NEXT_TILE, Op.FENCE_AFTER_THREAD_SYNC)
            or node.label.startswith(("load ", "store", *BUILDS))
        )

    def text(self, node: Node) -> str:
        lines = self._source.text.split("\n")
        return "\n".join(lines[node.first : node.last + 1]).strip()

    def _lines(self, start: int, end: int) -> tuple[int, int]:
        return self._source.line_of(start), self._source.line_of(end - 1)

    def _threads(self, guards: list[str]) -> Threads:
        warps = frozenset(
            (rank, wg, warp)
            for rank in range(2)
            for wg in range(self._facts.warpgroups)
            for warp in range(4)
            if all(_passes(guard, rank, wg, warp) for guard in guards)
        )
        return Threads(warps, any("elect_sync" in guard for guard in guards))


def _passes(guard: str, rank: int, wg: int, warp: int) -> bool:
    """Evaluate a guard for one warp; what is no question of threads lets them all through."""
    if not any(word in guard for word in ("rank", "wg_id", "warp_id")):
        return True
    names = {"rank": rank, "wg_id": wg, "warp_id": warp, "CONSUMERS": 2}
    return bool(eval(guard, {"__builtins__": {}}, names))  # our own kernels' guards


def _made(operation: Operation) -> str:
    if operation.op is Op.POOL_ALLOC:
        return "alloc"
    return {"PipelineState": "state"}.get(operation.name.split(".")[-1], "make")


def _inner(node: Node) -> str:
    """Return the label of the first statement below that is no guard itself."""
    first = node.arms[0].body[0]
    return _inner(first) if first.arms else first.label
