"""What may make a right kernel slow: paths, ring depth, loops, meetings, resources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Const
from tirx_lens.model.kernel import LoopKind, Op
from tirx_lens.protocol.worksheet.cells import in_order
from tirx_lens.protocol.worksheet.meetings import is_wide
from tirx_lens.rules.facts.bulk import Direction, bulk_copy
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.nesting import repeats, turns
from tirx_lens.rules.facts.pool_layout import LARGEST
from tirx_lens.rules.facts.tmem import LARGEST as TMEM_COLUMNS
from tirx_lens.suspects import topics
from tirx_lens.suspects.suspect import Case, Standing, Suspect
from tirx_lens.threads.issuers import most_in_a_warp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Loop
    from tirx_lens.model.span import Span

_SHORT = 16  # turns that people unroll
_UNROLLED = re.compile(r"\b(unroll|vectorized)\b")
_CHECKED = ("tma", "tcgen05")  # the paths that are looked for in the CUDA
_SPILLS, _NONE = "spills per thread", "none"


def paths(case: Case) -> Iterator[Suspect]:
    """Yield which hardware path each copy and each MMA asks for."""
    asked: dict[str, list[Span]] = {}
    for one in case.view.reach.reached if case.view.reach is not None else ():
        operation = one.operation
        if operation.op not in (Op.COPY_ASYNC, Op.GEMM_ASYNC) or not one.participants.possible:
            continue
        dispatch = operation.argument(99, "dispatch")
        name = str(dispatch.value) if isinstance(dispatch, Const) and dispatch.value else None
        if name is not None and not name.startswith(_CHECKED):
            continue
        what = operation.name.rpartition(".")[2]
        if name is None:
            fact = f"`{what}` leaves its path to TVM"
            yield Suspect(Standing.LOOK, topics.DISPATCH, fact, (operation.span,))
        else:
            asked.setdefault(f'`{what}` asks for "{name}"', []).append(operation.span)
    for fact, places in asked.items():
        built = "" if case.resources is None else ", and its CUDA has it"
        missing = any(one.code in ("TX401", "TX402", "TX502") for one in case.findings)
        standing = Standing.GOOD if built and not missing else Standing.LOOK
        said = fact + (built if standing is Standing.GOOD else "; only its CUDA tells if it got it")
        yield Suspect(standing, topics.DISPATCH, said, tuple(places))


def rings(case: Case) -> Iterator[Suspect]:
    """Yield how many stages each barrier has that loads in a loop come by."""
    for handoff in handoffs(case.view).barriers:
        loads = [one for one in handoff.copies if any(map(repeats, one.loops))]
        if not loads or not handoff.waits:
            continue
        name = handoff.barrier.name
        places = (handoff.barrier.span, *in_order(one.operation.span for one in loads))
        if handoff.depth is None:
            fact = f"`{name}`: its number of stages is not known"
            yield Suspect(Standing.OPEN, topics.RINGS, fact, places)
        elif handoff.depth == 1:
            fact = f"`{name}` has 1 stage: the next load waits for whoever reads this one"
            yield Suspect(Standing.ODD, topics.RINGS, fact, places)
        else:
            fact = f"`{name}` has {handoff.depth} stages"
            yield Suspect(Standing.GOOD, topics.RINGS, fact, places)


def occupancy(case: Case) -> Iterator[Suspect]:
    """Yield what the compiler says that the kernel takes, and what its storage alone allows."""
    place = (case.sheet.place,)
    if case.resources is None:
        fact = "not built: registers, spills and occupancy are not known"
        yield Suspect(Standing.OPEN, topics.OCCUPANCY, fact, place)
    for resources in case.resources or ():
        for one in resources.facts:
            note = f" ({one.note})" if one.note else ""
            spills = one.name == _SPILLS and one.value != _NONE
            standing = Standing.ODD if spills else Standing.GOOD
            if one.name in ("CTAs per SM", "occupancy", "waves"):
                standing = Standing.LOOK
            yield Suspect(standing, topics.OCCUPANCY, f"{one.name}: {one.value}{note}", place)
    for pool in case.sheet.storage.pools:
        if pool.undecided is None and 0 < pool.total <= LARGEST:
            most = LARGEST // pool.total
            fact = f"`{pool.name}` of {pool.total:,} bytes: at most {most} CTAs an SM"
            yield Suspect(Standing.LOOK, topics.OCCUPANCY, fact, (pool.place,))
    for row in case.sheet.storage.tmem:
        if row.takes and row.columns:
            most = TMEM_COLUMNS // row.columns
            fact = f"{row.columns} of {TMEM_COLUMNS} TMEM columns: at most {most} CTAs an SM"
            yield Suspect(Standing.LOOK, topics.OCCUPANCY, fact, row.by.places)


def loops(case: Case) -> Iterator[Suspect]:
    """Yield short loops of known length that are not unrolled, around work on registers."""
    seen: dict[int, Loop] = {}
    inner = {Op.COPY, Op.COPY_ASYNC, Op.TILE_OP}
    for one in case.view.reach.reached if case.view.reach is not None else ():
        if one.loops and one.operation.op in inner and bulk_copy(one.operation) is None:
            seen.setdefault(id(one.loops[-1]), one.loops[-1])
    for loop in seen.values():
        length = turns(loop)
        head = case.view.source.slice(loop.header)
        if loop.kind is not LoopKind.FOR or length is None or len(length) < 2:
            continue
        if _UNROLLED.search(case.view.source.slice(loop.span).partition("\n")[0] + head):
            fact = f"a loop of {len(length)} turns is unrolled"
            yield Suspect(Standing.GOOD, topics.LOOPS, fact, (loop.header,))
        elif len(length) <= _SHORT:
            fact = f"a loop of {len(length)} turns is not unrolled"
            yield Suspect(Standing.LOOK, topics.LOOPS, fact, (loop.header,))


def stalls(case: Case) -> Iterator[Suspect]:
    """Yield the meetings, and the waits for all stores, inside of loops."""
    for one in case.view.reach.reached if case.view.reach is not None else ():
        if not any(map(repeats, one.loops)) or not one.participants.possible:
            continue
        operation, depth = one.operation, len(one.loops)
        if is_wide(one):
            fact = f"a sync of the whole CTA or cluster in a loop, {depth} deep"
            yield Suspect(Standing.LOOK, topics.STALLS, fact, (operation.span,))
        elif operation.op is Op.BULK_WAIT and _waits_for_all(operation.arguments):
            fact = f"a wait for all bulk groups in a loop, {depth} deep"
            yield Suspect(Standing.LOOK, topics.STALLS, fact, (operation.span,))
        else:
            bulk, reach = bulk_copy(operation), case.view.reach
            if bulk is None or bulk.direction is not Direction.STORE or reach is None:
                continue
            count = most_in_a_warp(one.participants, reach.shape)
            if count is not None and count > 1:
                fact = f"{count} lanes of a warp issue this TMA store, one is enough"
                yield Suspect(Standing.ODD, topics.STALLS, fact, (operation.span,))


def _waits_for_all(arguments: tuple[object, ...]) -> bool:
    return bool(arguments) and isinstance(arguments[0], Const) and arguments[0].value == 0
