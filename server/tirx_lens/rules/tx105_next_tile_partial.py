"""TX105: threads ask a tile scheduler for a tile and never move on to the next."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import Call, Member, Ref
from tirx_lens.model.finding import Applicability, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Block, Branch, Exit, ExitKind, Loop, LoopKind, Op
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.model.queries import blocks_of, statement_span
from tirx_lens.rules.changes.edits import insertion, removal, whole_lines
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.related import calls_around, guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.coverage import left_out
from tirx_lens.threads.describe import describe
from tirx_lens.threads.participants import Participants

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Operation, Statement
    from tirx_lens.threads.reach import Reached, ReachMap

_POSITION_STORED = re.compile(rb"\.(?:linear_idx|tile_count|work_idx)\s*(?:[-+*/]|//)?=(?!=)")


class NextTilePartial(Rule):
    """Threads walk over a scheduler's tiles and some of them never move on.

    ## What it does
    Finds `while tiles.valid():` loops that some threads run without ever executing
    `tiles.next_tile()`: it stands behind a narrower guard than the loop, or nowhere in it.

    ## Why it is bad
    A tile scheduler is a few registers of each thread, not an object that threads share. One
    thread's `next_tile()` moves that thread alone. A thread that skips it finds the same tile valid
    for ever: its loop never ends, and the threads that did move on wait for it at the next barrier.
    The kernel hangs. TVM compiles it without a word.

    ## Example
    ```python
    while tiles.valid():
        if warp_id == 0:
            load(tiles.m_idx)
            tiles.next_tile()  # warps 1 to 3 stay at their first tile
    ```

    ## Use instead
    ```python
    while tiles.valid():
        if warp_id == 0:
            load(tiles.m_idx)
        tiles.next_tile()
    ```

    ## Fix
    Moves `next_tile()` behind the guard, to the end of the tile loop, where it is the only one in
    the loop and the last thing that its branch does.

    ## When not to
    A role that owns its loop moves on inside it, whatever others do; a loop left by `break` or
    `return` need not move on; a scheduler whose position is stored to, or that a function with an
    unknown body may move, is not judged.

    ## References
    - TVM, `python/tvm/backend/cuda/lang/tile_scheduler.py`, class `BaseTileScheduler`
    - CUDA C++ Programming Guide, *Thread Hierarchy*: local variables are per thread
    """

    code: ClassVar[str] = "TX105"
    name: ClassVar[str] = "next-tile-partial"
    levels: ClassVar[str] = "error"
    fix_title: ClassVar[str | None] = "Move next_tile() out of the narrower guard"

    VALID = (
        # Each role has a loop of its own and moves on in it.
        in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            tiles.init(bx)
            if wg_id == 1:
                if warp_id == 3:
                    if T.cuda.elect_sync():
                        while tiles.valid():
                            tiles.next_tile()
                elif T.filter(lane_id, warp_id == 0 and T.cuda.elect_sync()):
                    while tiles.valid():
                        tiles.next_tile_stride(4)
            else:
                while tiles.valid():
                    T.cuda.warpgroup_sync(1)
                    tiles.next_tile()
        """),
        # One loop around all roles; both sides of a branch move on.
        in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            tiles.init(bx)
            while tiles.valid():
                if wg_id == 1:
                    T.cuda.warpgroup_sync(1)
                    tiles.next_tile()
                else:
                    tiles.next_tile()
        """),
        # A guard that all threads answer alike, and one that is none.
        in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            tiles.init(bx)
            while tiles.valid():
                if tiles.m_idx > 2:
                    T.cuda.cta_sync()
                if wg_id < 2:
                    tiles.next_tile()
        """),
        # Left by `break`; stepped by hand; moved by something else.
        in_kernel("""
            once = ClusterPersistentScheduler2D("once", 8, 8, num_clusters=4)
            once.init(bx)
            while once.valid():
                T.cuda.cta_sync()
                break
            reset = ClusterPersistentScheduler2D("reset", 8, 8, num_clusters=4)
            while reset.valid():
                T.cuda.cta_sync()
                reset.init(bx + 64)
        """),
        in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            while tiles.valid():
                T.cuda.cta_sync()
                tiles.linear_idx += 4
        """),
        "def move(scheduler):\n    scheduler.next_tile()\n\n\n"
        + in_kernel("""
            tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
            while tiles.valid():
                T.cuda.cta_sync()
                move(tiles)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                if wg_id == 0:
                    while tiles.valid():
                        T.cuda.warpgroup_sync(1)
                        if warp_id == 0:
                            if T.cuda.elect_sync():
                                T.ptx.cp.async_.bulk.commit_group()
                                tiles.next_tile()  # <-
            """),
            replacement=in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                if wg_id == 0:
                    while tiles.valid():
                        T.cuda.warpgroup_sync(1)
                        if warp_id == 0:
                            if T.cuda.elect_sync():
                                T.ptx.cp.async_.bulk.commit_group()
                        tiles.next_tile()
            """),
        ),
        # The election of one thread, under `and`; the older spelling.
        Invalid(
            in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                while tiles.valid():
                    T.cuda.cta_sync()
                    if wg_id == 0 and T.ptx.elect_sync():
                        tiles.next_tile()  # <-
                    T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                tiles.init(bx)
                while tiles.valid():
                    T.cuda.cta_sync()
                    tiles.next_tile()
                    T.cuda.cta_sync()
            """),
        ),
        # Two roles move on, the third has been forgotten.
        Invalid(
            in_kernel("""
                group = T.meta_var(wg_id)
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
                while tiles.valid():  # <-
                    if group == 0:
                        tiles.next_tile()
                    elif warp_id == 0:
                        T.cuda.warp_sync()
                        tiles.next_tile()
                    elif warp_id == 1:
                        T.cuda.warp_sync()
            """)
        ),
        # Nowhere in the loop; and inside a T.inline function.
        Invalid(
            in_finished_kernel("""
                tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)

                @T.inline
                def step(scheduler):
                    if lane_id == 0:
                        scheduler.next_tile()  # <-

                if wg_id == 1:
                    while tiles.valid():  # <-
                        T.cuda.warpgroup_sync(1)
                else:
                    while tiles.valid():
                        T.cuda.warpgroup_sync(2)
                        step(tiles)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare who enters each tile loop with who moves on in it."""
        reach = view.reach
        if reach is None or view.mentions(_POSITION_STORED):
            return
        for walk in _walks(reach):
            missing = left_out(walk.entered, walk.steps)
            typed = walk.steps or is_finished(view)  # else its author may be on the way there
            if missing and typed and not walk.opaque and not _is_left(walk.loop.body):
                yield self._finding(view, reach, walk, missing)

    def _finding(self, view: KernelView, reach: ReachMap, walk: _Walk, missing: int) -> Finding:
        shape, name = reach.shape, walk.scheduler.name
        comers = describe(walk.entered.participants, shape)
        number = max((missing & shape.cta(rank)).bit_count() for rank in range(shape.ctas))
        advice = "Move on where every thread of the loop passes, at its end"
        entered = Related(walk.loop.header, f"`{name}.valid()` is tested here by {comers}")
        if len(walk.steps) == 1:
            (step,) = walk.steps
            message = (
                f"`{name}.next_tile` moves only the threads that execute it: "
                f"{describe(step.participants, shape)} do; {comers} test `{name}.valid()` on line "
                f"{view.line(walk.loop.header)}, and the other {number} stay at their tile for "
                f"ever. {advice}"
            )
            return self.finding(
                Severity.ERROR,
                message,
                step.operation.span,
                fix=_move_out(view, walk, step.operation),
                related=[entered, *guards_and_calls(step)],
            )
        if walk.steps:
            those = f"{describe(Participants(missing, missing), shape)} execute no `next_tile`"
        else:
            those = f"no `{name}.next_tile` is in the loop"
        message = (
            f"{comers} test `{name}.valid()` here, but {those}: they stay at their tile for ever. "
            f"{advice}"
        )
        related = [Related(step.operation.span, "others move on here") for step in walk.steps]
        return self.finding(
            Severity.ERROR,
            message,
            walk.loop.header,
            related=related + calls_around(walk.entered.operation),
        )


@dataclass(slots=True)
class _Walk:
    """A loop over a scheduler's tiles, who enters it, and where the scheduler is moved in it."""

    loop: Loop
    scheduler: KernelObject
    entered: Reached
    steps: list[Reached] = field(default_factory=list)
    opaque: bool = False


def _walks(reach: ReachMap) -> list[_Walk]:
    tested: dict[KernelObject, Reached] = {}
    walks: dict[int, _Walk] = {}
    for reached in reach.reached:
        operation = reached.operation
        for loop in reached.loops:
            scheduler = _scheduler_of(loop)
            entered = tested.get(scheduler) if scheduler is not None else None
            if scheduler is None or entered is None:
                continue
            walk = walks.setdefault(id(loop), _Walk(loop, scheduler, entered))
            if operation.op is Op.OPAQUE:
                walk.opaque = True
            elif operation.receiver == scheduler and operation.name != "valid":
                walk.steps.append(reached)
        if operation.receiver is not None and operation.name == "valid":
            tested[operation.receiver] = reached
    return list(walks.values())


def _scheduler_of(loop: Loop) -> KernelObject | None:
    """Return the scheduler over whose tiles a loop walks."""
    if loop.kind is not LoopKind.WHILE:
        return None
    match loop.control:
        case Call(callee=Member(base=Ref(target=target), name="valid")):
            return target if target.kind is ObjectKind.SCHEDULER else None
    return None


def _is_left(body: Block) -> bool:
    """Tell whether a `break` or `return` may end the loop."""
    for statement in body.statements:
        if isinstance(statement, Exit) and statement.kind is not ExitKind.CONTINUE:
            return True
        if any(map(_is_left, blocks_of(statement))):
            return True
    return False


def _move_out(view: KernelView, walk: _Walk, step: Operation) -> Fix | None:
    """Move the step behind the statement of the loop that holds it, if nothing follows it there."""
    lines = whole_lines(view.source, step.statement)
    outer = _last_of(walk.loop.body.statements, step)
    alone = step.op is Op.NEXT_TILE and step.span == step.statement and not step.stack
    anchor = statement_span(outer) if outer is not None else None
    if lines is None or anchor is None or not alone or step.arguments or step.keywords:
        return None
    written = insertion(view.source, lines, anchor, after=True)
    removed = removal(view, step.statement)
    if written is None or removed is None:
        return None
    return Fix(
        f"Move `{walk.scheduler.name}.next_tile()` out of the guard",
        Applicability.SAFE,
        (removed, written),
    )


def _last_of(statements: tuple[Statement, ...], step: Operation) -> Statement | None:
    """Return the branch among statements whose last act, on one of its sides, is the step."""
    for statement in statements:
        if isinstance(statement, Branch) and any(
            _ends_with(block, step) for block in blocks_of(statement)
        ):
            return statement
    return None


def _ends_with(block: Block, step: Operation) -> bool:
    last = block.statements[-1] if block.statements else None
    if isinstance(last, Branch):
        return any(_ends_with(inner, step) for inner in blocks_of(last))
    return last is step
