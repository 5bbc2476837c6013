"""Breaks a kernel in every way the tables know: one mutant for each statement and each way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.files import read_source
from tirx_lens.model.source import SourceText

from . import judge, text
from .constants import HOST_CONSTANTS, STATEMENT_CONSTANTS
from .places import BUILDS, Node, read
from .verdict import Row, Verdict, first

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parents[2] / "kernels"
ATTENTION = "attention"
FILES = {
    **{f"step{n}": next(FOLDER.glob(f"gemm_step{n}_*.py")) for n in range(1, 10)},
    "ring": FOLDER / "tma_ring_copy.py",
    ATTENTION: FOLDER / "flash_attention.py",
    "step7 v0_26": FOLDER / "v0_26" / "gemm_step7_warp_specialized.py",
    "ring v0_26": FOLDER / "v0_26" / "tma_ring_copy.py",
}
_NARROW = {
    "lane_id == 0": "lane",
    "warp_id == 0": "warp",
    "wg_id == 1": "warpgroup",
}


@dataclass(frozen=True)
class Mutant:
    """One mutant. `operator` is the way it was broken, `place` where, `change` what of it."""

    kernel: str
    operator: str
    place: str
    change: str
    line: int
    text: str
    verdict: Verdict | None

    @property
    def name(self) -> str:
        """A name that survives edits of the kernels."""
        change = f" ({self.change})" if self.change else ""
        return f"{self.kernel}: {self.operator} {self.place}{change}"


def mutants() -> list[Mutant]:
    """Return the mutants of every kernel, each text once for a kernel."""
    made: list[Mutant] = []
    for kernel, path in FILES.items():
        source = read_source(path)
        assert isinstance(source, SourceText)
        seen = {source.text}
        for mutant in _mutants_of(kernel, source):
            if mutant.text not in seen:
                seen.add(mutant.text)
                made.append(mutant)
    return made


def all_mutants_of(kernel: str) -> Iterator[Mutant]:
    """Yield the mutants of one kernel in each way, in whatever spelling it is written."""
    source = read_source(FILES[kernel])
    assert isinstance(source, SourceText)
    maker = _Maker(kernel, source)
    for made in (maker.statements(), maker.threads(), maker.order(), maker.constants()):
        yield from made


def _mutants_of(kernel: str, source: SourceText) -> Iterator[Mutant]:
    maker = _Maker(kernel, source)
    yield from maker.statements()
    if "v0_26" in kernel:  # elsewhere the older spelling changes nothing
        return
    if kernel == ATTENTION:  # its threads and constants would double it, and are those of a GEMM
        yield from maker.order()
        return
    yield from maker.threads()
    yield from maker.order()
    yield from maker.constants()


class _Maker:
    def __init__(self, kernel: str, source: SourceText) -> None:
        self._kernel = kernel
        self._short = kernel.split()[0]
        self._lines = source.text.split("\n")
        self._nodes = read(source, self._short)
        self._sites = [node for node in self._nodes if node.sync]

    def statements(self) -> Iterator[Mutant]:
        for node in self._sites:
            lines = text.without(self._lines, node.first, node.last)
            yield self._mutant("drop", node, lines, judge.DROP)
        for node in self._sites:
            lines = text.twice(self._lines, node.first, node.last)
            yield self._mutant("duplicate", node, lines, judge.DUPLICATE)

    def threads(self) -> Iterator[Mutant]:
        for node in self._sites:
            if not node.label.startswith(BUILDS):
                for condition in _NARROW:
                    yield self._narrow(node, condition)
        for node in self._nodes:
            if node.arms and not node.is_loop:
                yield from self._widen(node)

    def _narrow(self, node: Node, condition: str) -> Mutant:
        lines = text.guarded(self._lines, node.first, node.last, condition)
        effect = _NARROW[condition]
        if effect == "lane":
            left = "elected" if node.threads.elected else "lane"
        else:
            inside = node.threads.narrowed(
                warpgroup=1 if effect == "warpgroup" else None,
                warp=0 if effect == "warp" else None,
            )
            left = effect
            if not inside.warps:
                left = "nobody"
            elif inside == node.threads:
                left = "same"
        rows = judge.DROP if left == "nobody" else judge.NARROW
        verdict = first(rows, node.label, self._short, left)
        return self._make("narrow", node, f"if {condition}", lines, verdict)

    def _widen(self, node: Node) -> Iterator[Mutant]:
        arm, *others = node.arms
        if not others:
            lines = text.unguarded(self._lines, arm.header, node.last)
            yield self._make(
                "widen", node, _guard(arm.condition), lines, self._judged(judge.WIDEN, node, arm)
            )
            return
        last = node.arms[-1]
        lines = list(self._lines)
        start = last.header[0]
        lines[start] = " " * text.indent_of(lines[start]) + "else:"
        yield self._make(
            "widen", node, f"elif {last.condition}", lines, self._judged(judge.WIDEN, node, last)
        )

    def _judged(self, rows: list[Row], node: Node, arm: object) -> Verdict | None:
        condition = getattr(arm, "condition", "")
        kind = "elif " if len(node.arms) > 1 else ""
        return first(rows, node.label, self._short, kind + _guard(condition))

    def order(self) -> Iterator[Mutant]:
        for node in self._nodes:
            yield from self._swap(node)
        for node in self._sites:
            if node.label.startswith(BUILDS) and node.label != "pool.commit":
                continue
            yield from self._out(node)
            yield from self._into(node)
            yield from self._far(node)

    def _swap(self, node: Node) -> Iterator[Mutant]:
        index = node.siblings.index(node)
        for other in node.siblings[index + 1 : index + 2]:
            pair = (node, other)
            if not any(_orders(each) for each in pair) or any(_binds(each) for each in pair):
                continue
            lines = text.swapped(self._lines, (node.first, node.last), (other.first, other.last))
            place = f"{node.label} / {other.label}"
            verdict = first(judge.SWAP, place, self._short)
            yield Mutant(self._kernel, "swap", place, "", node.first + 1, "\n".join(lines), verdict)

    def _out(self, node: Node) -> Iterator[Mutant]:
        """Move a statement below the loop or the guard it stands in."""
        around = node.parent
        if around is None or not around.arms or len(around.arms) > 1:
            return
        if len(node.siblings) == 1 or node.label.startswith("load "):
            return
        indent = text.indent_of(self._lines[around.first])
        lines = text.moved(self._lines, (node.first, node.last), around.last, indent)
        what = "loop" if around.is_loop else "guard"
        rows = judge.OUT_OF_LOOP if around.is_loop else judge.OUT_OF_GUARD
        yield self._mutant("move out of", node, lines, rows, what)

    def _into(self, node: Node) -> Iterator[Mutant]:
        """Move a statement to the end of the loop or the guard above it."""
        index = node.siblings.index(node)
        above = node.siblings[index - 1] if index else None
        if above is None or not above.arms:
            return
        indent = text.indent_of(self._lines[above.arms[-1].header[0]]) + text.STEP
        lines = text.moved(self._lines, (node.first, node.last), above.last, indent)
        yield self._mutant("move into", node, lines, judge.INTO, f"the {above.label}")

    def _far(self, node: Node) -> Iterator[Mutant]:
        """Move a wait behind its use, set-up behind the meeting, the commit before everything."""
        indent = text.indent_of(self._lines[node.first])
        place = (node.first, node.last)
        if node.label.startswith("wait "):
            later = node.siblings[node.siblings.index(node) + 1 :]
            use = next((each for each in later if _uses(each)), None)
            if use is not None:
                lines = text.moved(self._lines, place, use.last, indent)
                yield self._mutant("move behind", node, lines, judge.FAR, use.label)
        if node.label.startswith("init ") or node.label == "tcgen05.alloc":
            top = node
            while top.parent is not None:
                top = top.parent
            meeting = next(each for each in self._nodes if each.label == "sync publish")
            indent = text.indent_of(self._lines[top.first])
            lines = text.moved(self._lines, (top.first, top.last), meeting.last, indent)
            yield self._mutant("move behind", node, lines, judge.FAR, meeting.label)
        if node.label == "pool.commit":
            pool = next(each for each in self._nodes if each.label == "make pool")
            lines = text.moved(self._lines, place, pool.last, indent)
            yield self._mutant("move behind", node, lines, judge.FAR, pool.label)

    def constants(self) -> Iterator[Mutant]:
        for node in self._nodes:
            written = "\n".join(self._lines[node.first : node.last + 1])
            if node.arms:
                if not node.is_loop:
                    continue
                start, end = node.arms[0].header
                written = "\n".join(self._lines[start : end + 1])
            for constant in STATEMENT_CONSTANTS:
                changed = constant.applied(node.label, written)
                if changed is not None:
                    rest = node.first + written.count("\n") + 1
                    lines = [*self._lines[: node.first], changed, *self._lines[rest:]]
                    yield self._mutant("constant", node, lines, judge.CONSTANT, constant.name)
        for host in HOST_CONSTANTS:
            whole = "\n".join(self._lines)
            changed, count = re.subn(
                rf"(?m)^{host.name} = [^#\n]+?(?=  #|$)", f"{host.name} = {host.value}", whole
            )
            if count:
                line = 1 + next(
                    i for i, each in enumerate(self._lines) if each.startswith(f"{host.name} = ")
                )
                verdict = first(judge.HOST, host.name, self._short, host.value)
                yield Mutant(
                    self._kernel, "constant", host.name, f"= {host.value}", line, changed, verdict
                )

    def _mutant(
        self, operator: str, node: Node, lines: list[str], rows: list[Row], change: str = ""
    ) -> Mutant:
        verdict = first(rows, node.label, self._short, change)
        return self._make(operator, node, change, lines, verdict)

    def _make(
        self, operator: str, node: Node, change: str, lines: list[str], verdict: Verdict | None
    ) -> Mutant:
        return Mutant(
            self._kernel, operator, node.label, change, node.first + 1, "\n".join(lines), verdict
        )


def _guard(condition: str) -> str:
    """Return a guard in words that do not depend on TVM's version."""
    return "elect" if "elect_sync" in condition else condition


def _orders(node: Node) -> bool:
    """Tell whether the place of a statement among its neighbours matters to synchronisation."""
    return node.sync and (node.label == "pool.commit" or not node.label.startswith(BUILDS))


def _binds(node: Node) -> bool:
    """Tell whether later statements need a name that this one binds."""
    return node.label.startswith(("leader_full", "state ", "make tiles", "row", "col", "tmem_col"))


def _uses(node: Node) -> bool:
    starts = ("gemm", "copy ", "read ", "load ")
    return node.label.startswith(starts) or any(
        _uses(each) for arm in node.arms for each in arm.body
    )
