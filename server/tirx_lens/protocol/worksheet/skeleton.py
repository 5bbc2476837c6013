"""The kernel's top-level shape beside that of the reference kernel, step by step.

The reference is a warp-specialized kernel as the field writes it: declarations, initialisation and
allocation for all threads, one meeting that publishes them, branches of the roles, clean-up. A step
that deviates need not be wrong: that is for the rules to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Branch, Op
from tirx_lens.protocol.worksheet import deviations
from tirx_lens.protocol.worksheet.accesses import declared_buffer
from tirx_lens.protocol.worksheet.cells import Said, in_order, names, who, written
from tirx_lens.protocol.worksheet.landmarks import Landmarks, landmarks
from tirx_lens.protocol.worksheet.meetings import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


class Step(Enum):
    """The seven steps of the reference, in order; the value is what each is."""

    IDS = "scope ids"
    STORAGE = "SMEM pool and barriers, then commit"
    INIT = "barrier inits at top level"
    TMEM = "TMEM allocated by one whole warp"
    PUBLISH = "fences, then a sync of all threads"
    ROLES = "role branches: producers start at phase 1, consumers at 0"
    CLEAN_UP = "a sync, then TMEM freed by a whole warp"


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step: what of the kernel is in it, and in what it is not as in the reference.

    `absent` says why a step has nothing: a kernel without TMEM allocates none.
    """

    step: Step
    found: tuple[Said, ...]
    deviations: tuple[Said, ...]
    absent: str | None = None


def skeleton(view: KernelView) -> tuple[StepRow, ...]:
    """Return the seven steps; none where the kernel's threads are not known."""
    marks = landmarks(view)
    if marks is None:
        return ()
    has_tmem = bool(marks.taken or marks.tmem_uses)
    together = deviations.together
    return (
        StepRow(Step.IDS, _ids(view), (), None if view.kernel.scope_ids else "none declared"),
        StepRow(
            *(Step.STORAGE, _storage(marks, view), together(deviations.of_storage(marks))),
            None if marks.storage else "no SMEM pool",
        ),
        StepRow(
            *(Step.INIT, _inits(marks), together(deviations.of_inits(marks, view))),
            None if marks.inits else "no mbarrier is initialised",
        ),
        StepRow(
            *(Step.TMEM, _lives(marks, view), together(deviations.of_tmem(marks, view))),
            None if has_tmem else "no TMEM in this kernel",
        ),
        StepRow(
            Step.PUBLISH,
            tuple(_publishing(marks, view)),
            together(deviations.of_publishing(marks, view)),
            None if marks.inits or marks.taken else "nothing to publish",
        ),
        StepRow(
            *(Step.ROLES, _roles(marks, view), together(deviations.of_roles(marks, view))),
            None if any(map(_outermost, _working(marks))) else "no branch keeps threads apart",
        ),
        StepRow(
            Step.CLEAN_UP,
            tuple(_clean_up(marks, view)),
            together(deviations.of_clean_up(marks, view)),
            None if has_tmem else "no TMEM to free",
        ),
    )


def _ids(view: KernelView) -> tuple[Said, ...]:
    places = in_order(scope_id.span for scope_id in view.kernel.scope_ids)
    return tuple(Said(f"`{written(place, view)}`", (place,)) for place in places)


def _storage(marks: Landmarks, view: KernelView) -> tuple[Said, ...]:
    made, other = [], []
    for index in marks.storage:
        operation = marks.reached[index].operation
        made_here = operation.created or declared_buffer(view, operation)
        if made_here is not None:
            made.append((made_here.name, operation.span))
        else:
            other.append(Said(f"`{operation.name}`", (operation.span,)))
    found = [Said(names(name for name, _ in made), in_order(s for _, s in made))] if made else []
    return (*found, *other)


def _inits(marks: Landmarks) -> tuple[Said, ...]:
    found = []
    for index in marks.inits:
        operation = marks.reached[index].operation
        about = operation.receiver or operation.created
        name = f"`{about.name}`" if about is not None else "a raw word"
        found.append(Said(name, (operation.span,)))
    return tuple(found)


def _lives(marks: Landmarks, view: KernelView) -> tuple[Said, ...]:
    return tuple(
        Said(
            f"{life.known_columns or '?'} columns by {who(life.reached.participants, view).text}"
            if life.pool is None
            else f"{life.known_columns or '?'} columns by `{life.pool.name}`",
            (life.reached.operation.span,),
        )
        for life in marks.taken
    )


def _publishing(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    first = min([*marks.inits, *(marks.index(life.reached) for life in marks.taken)], default=None)
    if first is None:
        return
    for index in sorted((*marks.fences, *marks.syncs)):
        if first < index < marks.first_use:
            reached = marks.reached[index]
            is_sync = index in marks.syncs
            name = name_of(view, reached) if is_sync else reached.operation.name
            yield Said(f"`{name.removeprefix('T.ptx.')}`", (reached.operation.span,))


def _working(marks: Landmarks) -> list[Reached]:
    return [marks.reached[index] for index in marks.work]


def _outermost(reached: Reached) -> tuple[Span, bool] | None:
    """Return the outermost branch around an operation that keeps threads out, and its side."""
    guards = [g for g in reached.guards if isinstance(g.branch, Branch)]
    for number, guard in enumerate(guards, 1):
        inner = guards[number] if number < len(guards) else None
        assert isinstance(guard.branch, Branch)
        others = guard.branch.orelse.statements
        is_elif = inner is not None and not guard.taken and others == (inner.branch,)
        if guard.selective and not (is_elif and inner is not None and inner.selective):
            return guard.span, guard.taken
    return None


def _roles(marks: Landmarks, view: KernelView) -> tuple[Said, ...]:
    """Return the outermost branches with work in them."""
    found: dict[tuple[Span, bool], None] = {}
    for reached in _working(marks):
        outermost = _outermost(reached)
        if outermost is not None:
            found.setdefault(outermost)
    return tuple(
        Said(f"`{written(span, view)}`" if taken else f"not `{written(span, view)}`", (span,))
        for span, taken in found
    )


def _clean_up(marks: Landmarks, view: KernelView) -> Iterator[Said]:
    ends = sorted((*marks.relinquished, *(marks.index(life.reached) for life in marks.freed)))
    last = max(marks.tmem_uses, default=-1)
    syncs = [index for index in marks.syncs if index > max(last, marks.end)]
    for index in sorted({*syncs, *ends}):
        reached = marks.reached[index]
        if index in marks.syncs:
            yield Said(f"`{name_of(view, reached)}`", (reached.operation.span,))
            continue
        gives_up = reached.operation.op is Op.TMEM_RELINQUISH
        verb = "relinquished" if gives_up else "freed"
        yield Said(f"{verb} by {who(reached.participants, view).text}", (reached.operation.span,))
