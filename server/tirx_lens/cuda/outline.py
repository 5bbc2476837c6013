"""The landmarks of a kernel's CUDA as a tree: role branches and loops, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.cuda.instructions import INTRINSICS, Landmark, instruction
from tirx_lens.model.kernel import Block, Branch, Loop, LoopKind, Operation
from tirx_lens.model.queries import operations
from tirx_lens.model.span import Span
from tirx_lens.syntax.fold import compute
from tirx_lens.threads.describe import place
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.cuda.read import CudaText
    from tirx_lens.model.kernel import Kernel, Statement
    from tirx_lens.threads.reach import ReachMap

_INTRINSIC = {one.opcode: one for one in INTRINSICS.values()}


class MarkKind(Enum):
    """What an entry of the outline is."""

    KERNEL = "kernel"
    ROLE = "role"
    LOOP = "loop"
    OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class Mark:
    """One entry: its words, a detail in smaller print, its place in the CUDA, what is inside."""

    kind: MarkKind
    title: str
    detail: str
    span: Span
    children: tuple[Mark, ...] = ()


def outline_of(text: CudaText) -> tuple[Mark, ...]:
    """Return one tree for each kernel of a generated text."""
    marks = []
    for kernel in text.kernels:
        children = _Outliner(text, reach(kernel, compute)).marks(kernel.body)
        marks.append(Mark(MarkKind.KERNEL, kernel.name, _threads(kernel), kernel.span, children))
    return tuple(marks)


def landmark_of(operation: Operation) -> Landmark | None:
    """Return what an operation of a kernel's CUDA is in an outline."""
    known = _INTRINSIC.get(operation.name) or instruction(operation.name)
    return known.landmark if known is not None else None


def _threads(kernel: Kernel) -> str:
    placed = reach(kernel, compute)
    return f"{placed.shape.threads} threads" if placed is not None else ""


class _Outliner:
    def __init__(self, text: CudaText, placed: ReachMap | None) -> None:
        self._source = text.source
        self._shape = placed.shape if placed is not None else None
        self._possible: dict[Span, int] = {}
        for reached in placed.reached if placed is not None else ():
            self._possible[reached.operation.span] = reached.participants.possible

    def marks(self, block: Block) -> tuple[Mark, ...]:
        return _merged([mark for s in block.statements for mark in self._marks_of(s)])

    def _marks_of(self, statement: Statement) -> Iterator[Mark]:
        match statement:
            case Operation():
                landmark = landmark_of(statement)
                if landmark is not None:
                    yield Mark(
                        MarkKind.OPERATION, landmark.value, statement.name, statement.statement
                    )
            case Branch():
                yield from self._sides(statement)
            case Loop():
                inside = self.marks(statement.body)
                if inside:
                    title = "while" if statement.kind is LoopKind.WHILE else "for"
                    header = _short(self._source.slice(statement.header).removeprefix("for "))
                    detail = "" if header == "1" else header  # TVM leaves a `while` by a break
                    yield Mark(MarkKind.LOOP, title, detail, statement.span, inside)
            case Block():
                yield from self.marks(statement)

    def _sides(self, branch: Branch) -> Iterator[Mark]:
        condition = self._source.slice(branch.condition_span)
        for side, written in ((branch.then, condition), (branch.orelse, "else")):
            inside = self.marks(side)
            if not inside:
                continue
            if len(inside) == 1 and inside[0].kind is MarkKind.ROLE:
                yield inside[0]  # `if` in `if`, with nothing else: the inner one says more
                continue
            span = Span(
                branch.span.start if side is branch.then else inside[0].span.start,
                inside[-1].span.end,
            )
            title = self._threads_of(side) or f"if {_short(condition)}"
            yield Mark(MarkKind.ROLE, title, _short(written), span, inside)

    def _threads_of(self, side: Block) -> str:
        """Say which threads execute anything in a block; empty when that is not known."""
        threads = 0
        for operation in operations(side):
            threads |= self._possible.get(operation.span, 0)
        return place(threads, self._shape) if self._shape is not None else ""


def _merged(marks: list[Mark]) -> tuple[Mark, ...]:
    """Make one entry of neighbours that are the same: "TMA load ×2"."""
    runs: list[list[Mark]] = []
    for mark in marks:
        alike = runs and mark.kind is MarkKind.OPERATION
        if alike and (runs[-1][0].title, runs[-1][0].detail) == (mark.title, mark.detail):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return tuple(
        run[0]
        if len(run) == 1
        else Mark(
            run[0].kind,
            f"{run[0].title} ×{len(run)}",
            run[0].detail,
            Span(run[0].span.start, run[-1].span.end),
        )
        for run in runs
    )


def _short(text: str, most: int = 60) -> str:
    flat = " ".join(text.split())
    if flat.startswith("(") and flat.endswith(")"):
        flat = flat[1:-1]
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
