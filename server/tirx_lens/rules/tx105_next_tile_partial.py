"""TX105: threads ask a tile scheduler for a tile and never move on to the next."""

from __future__ import annotations

import re
from textwrap import indent
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Block, Branch, Op
from tirx_lens.model.queries import blocks_of, statement_span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import insertion, removal, whole_lines
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.finished import in_finished_kernel, is_finished
from tirx_lens.rules.facts.tiles import Walk, first_work, is_left, uneven, walks_of
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


def _roles(
    *,
    above: str = "",
    before: str = "",
    work: str = "Tx.copy(A[row : row + 64], A[64:128])",
    load: str = "tiles.next_tile()",
    other: str = "tiles.next_tile()",
) -> str:
    def at(depth: int, text: str) -> str:
        return indent(text.strip("\n") or "pass", " " * 4 * depth)

    return in_finished_kernel(f"""
tiles = ClusterPersistentScheduler2D("tiles", 8, 8, num_clusters=4)
tiles.init(bx)
row = T.meta_var(tiles.m_idx * 64)
if wg_id == 0:
{at(1, above)}
    while tiles.valid():
{at(2, before)}
{at(2, work)}
{at(2, load)}
else:
    while tiles.valid():
        T.cuda.warpgroup_sync(1)
{at(2, other)}
""")


class NextTilePartial(Rule):
    """Threads walk over a scheduler's tiles and some of them never move on.

    ## What it does
    Finds `while tiles.valid():` loops that some threads run without ever executing
    `tiles.next_tile()`: it stands behind a narrower guard than the loop, or nowhere in it. Also
    the one role that moves on more often in a turn than all others do (twice, or in an inner loop),
    and a `next_tile()` above all the copies of its turn.

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
    unknown body may move, is not judged. Roles that share the tiles among them each skip some:
    where two do, where `next_tile()` is called outside the loops, or where `next_tile_stride` is,
    nobody counts. What is read from the scheduler above `next_tile()` is of the tile before.

    ## References
    - TVM, `python/tvm/backend/cuda/lang/tile_scheduler.py`, class `BaseTileScheduler`
    - CUDA C++ Programming Guide, *Thread Hierarchy*: local variables are per thread
    """

    code: ClassVar[str] = "TX105"
    name: ClassVar[str] = "next-tile-partial"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Move next_tile() out of the narrower guard"

    VALID = (
        _roles(),
        # Two roles share the tiles; one of them starts a tile later.
        _roles(load="tiles.next_tile()\ntiles.next_tile()", other="tiles.next_tile()\n" * 2),
        _roles(above="tiles.next_tile()", load="tiles.next_tile()\ntiles.next_tile()"),
        # The position is taken in time; the next tile is fetched ahead.
        _roles(
            before="m: T.let[T.int32] = tiles.m_idx\ntiles.next_tile()",
            work="Tx.copy(A[m * 64 : m * 64 + 64], A[64:128])",
            load="pass",
        ),
        _roles(
            before="tiles.next_tile()",
            work="if tiles.valid():\n    Tx.copy(A[row : row + 64], A[64:128])",
            load="pass",
        ),
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
        # Twice in one role; in its inner loop; above the work.
        Invalid(_roles(load="tiles.next_tile()\ntiles.next_tile()  # <-")),
        Invalid(_roles(load="for k in range(4):\n    tiles.next_tile()  # <-")),
        Invalid(_roles(before="tiles.next_tile()  # <-", load="pass")),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare who enters each tile loop with who moves on in it."""
        reach = view.reach
        if reach is None or view.mentions(_POSITION_STORED):
            return
        walks = walks_of(reach)
        for walk in walks:
            missing = left_out(walk.entered, walk.steps)
            typed = walk.steps or is_finished(view)  # else its author may be on the way there
            if missing and typed and not walk.opaque and not is_left(walk.loop.body):
                yield self._finding(view, reach, walk, missing)
        odd = uneven(walks, reach) if is_finished(view) else None
        if odd is not None:
            yield self._uneven(view, odd, next(w for w in walks if w is not odd))
        for walk in walks:
            work = first_work(walk, reach, view) if is_finished(view) else None
            if work is not None and not is_left(walk.loop.body):
                yield self._late(view, walk, work)

    def _uneven(self, view: KernelView, walk: Walk, other: Walk) -> Finding:
        name, step = walk.scheduler.name, walk.steps[-1].operation
        message = (
            f"`{name}` moves on {walk.steps_in_a_turn} tiles in each turn of this loop, and one in "
            f"each turn of the loop on line {view.line(other.loop.header)}: the roles work on "
            "different tiles from the second turn on, and wait for data that nobody loads. Move on "
            "once a turn in every role"
        )
        related = [
            Related(other.loop.header, "this role moves on once a turn"),
            *(Related(first.operation.span, "moves on, too") for first in walk.steps[:-1]),
            *calls_around(step),
        ]
        return self.finding(Severity.ERROR, message, step.span, related=related)

    def _late(self, view: KernelView, walk: Walk, work: Reached) -> Finding:
        name, step = walk.scheduler.name, walk.steps[0].operation
        message = (
            f"`{name}.next_tile` stands above the work of the turn, which goes by the tile from "
            f"line {view.line(work.operation.span)} on: the first tile is left out, and the last "
            "turn works on one that `valid()` has not been asked for. Move on at the end of the "
            "turn"
        )
        related = [Related(work.operation.span, "goes by the next tile"), *calls_around(step)]
        return self.finding(Severity.ERROR, message, step.span, related=related)

    def _finding(self, view: KernelView, reach: ReachMap, walk: Walk, missing: int) -> Finding:
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


def _move_out(view: KernelView, walk: Walk, step: Operation) -> Fix | None:
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
