"""Where NaN may come from: accumulators, storage never written, layouts, masks and scales."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, memory_of, region_of
from tirx_lens.model.expr import Const
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.protocol.worksheet.cells import written
from tirx_lens.rules.facts.first_round import first_value
from tirx_lens.suspects import topics
from tirx_lens.suspects.suspect import Case, Standing, Suspect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.objects import KernelObject

_ACCUM = 7  # gemm_async(C, A, B, SFA, SFB, transA, transB, accum)
_NARROW = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
_DOMAIN = re.compile(
    rb"\b(?:exp2?|log2?|log10|rsqrt|sqrt|rcp|reciprocal|div|fdividef?|tanh|pow)\w*\s*\("
    rb"|\binf\b|\binfinity\b|\bmin_value\b|\bnan\b|(?<![/\w])/(?![/=])"
    rb"|\b(?:if_then_else|Select|select|where)\s*\("
)
_MOST = 12  # lines that are listed; a longer list tells nobody more


def accumulators(case: Case) -> Iterator[Suspect]:
    """Yield what each MMA does with its accumulator the first time it is executed."""
    reach = case.view.reach
    cleared: set[KernelObject] = set()
    for one in reach.reached if reach is not None else ():
        if one.operation.op is not Op.GEMM_ASYNC or not one.participants.possible:
            continue
        into = region_of(one.operation.argument(0, "C"))
        buffer = into.buffer if into is not None else None
        accum = one.operation.argument(_ACCUM, "accum")
        if accum is None:
            fact = "this MMA overwrites its accumulator: it has no `accum`"
            standing = Standing.GOOD if one.operation.complete else Standing.OPEN
        else:
            first = first_value(accum, one, reach) if reach is not None else None
            place = accum.span if accum.span.start < accum.span.end else one.operation.span
            said = f"`accum={written(place, case.view)}`" if place == accum.span else "`accum`"
            if first is None:
                standing, fact = Standing.OPEN, f"{said}: what it is the first time is not decided"
            elif first and buffer is not None and buffer in cleared:
                fact = f"{said} is true the first time; an MMA above it overwrites `{buffer.name}`"
                standing = Standing.LOOK
            elif first:
                standing, fact = Standing.ODD, f"{said} is true the first time it is executed"
            else:
                standing, fact = Standing.GOOD, f"{said} is false the first time"
        if standing is Standing.GOOD and buffer is not None:
            cleared.add(buffer)
        yield Suspect(standing, topics.ACCUMULATORS, fact, (one.operation.span,))


def unwritten(case: Case) -> Iterator[Suspect]:
    """Yield storage that is read, and that nothing is seen to write."""
    for row in case.sheet.storage.rows:
        reads = [use for use in row.uses if use.writes is False]
        writes = [use for use in row.uses if use.writes is not False]
        if row.is_words or not reads:
            continue
        places = tuple(place for use in reads for place in use.places)
        name = f"{row.memory.value} `{row.name}`"
        if writes:
            continue
        if row.stray:
            fact = f"{name} is read; it is also named where accesses are not followed"
            yield Suspect(Standing.OPEN, topics.UNWRITTEN, fact, (*row.stray, *places))
        else:
            fact = f"{name} is read, and nothing is seen to write it"
            yield Suspect(Standing.ODD, topics.UNWRITTEN, fact, (*places, row.place))


def operands(case: Case) -> Iterator[Suspect]:
    """Yield how the operands of each MMA are allocated, for a look at their layouts."""
    seen: set[KernelObject] = set()
    for one in case.view.reach.reached if case.view.reach is not None else ():
        if one.operation.op is not Op.GEMM_ASYNC:
            continue
        for position, keyword in ((1, "A"), (2, "B"), (0, "C")):
            region = region_of(one.operation.argument(position, keyword))
            if region is None or region.buffer in seen:
                continue
            buffer = region.buffer
            seen.add(buffer)
            memory = memory_of(buffer)
            where = memory.value if memory is not None else "storage"
            layout = dict(buffer.keywords).get("layout")
            how = (
                f"layout `{written(layout.span, case.view)}`"
                if layout is not None and not isinstance(layout, Const)
                else f"allocated by `{buffer.class_name.rpartition('.')[2] or 'a parameter'}`"
            )
            fact = f"{where} `{buffer.name}` is an operand of this MMA: {how}"
            yield Suspect(
                *(Standing.LOOK, topics.OPERANDS, fact), (one.operation.span, buffer.span)
            )


def accumulator_range(case: Case) -> Iterator[Suspect]:
    """Yield accumulators of a type that overflows early."""
    seen: set[KernelObject] = set()
    for one in case.view.reach.reached if case.view.reach is not None else ():
        region = region_of(one.operation.argument(0, "C"))
        if one.operation.op is not Op.GEMM_ASYNC or region is None or region.buffer in seen:
            continue
        seen.add(region.buffer)
        if memory_of(region.buffer) is not Memory.TENSOR:
            continue
        dtype = region.buffer.argument(1, "dtype")
        name = str(dtype.value) if isinstance(dtype, Const) else None
        places = (one.operation.span, region.buffer.span)
        if name is None:
            fact = f"the type of `{region.buffer.name}` is not known"
            yield Suspect(Standing.OPEN, topics.RANGE, fact, places)
        else:
            fact = f"`{region.buffer.name}` accumulates in {name}"
            standing = Standing.ODD if name in _NARROW else Standing.GOOD
            yield Suspect(standing, topics.RANGE, fact, places)


def domains(case: Case) -> Iterator[Suspect]:
    """Yield the lines of the kernel with masks, divisions, and functions that have a domain.

    Found by their words in the kernel's own text, for a reader to look at.
    """
    source, kernel = case.view.source, case.view.kernel.span
    found: dict[int, Span] = {}
    for match in _DOMAIN.finditer(source.data[kernel.start : kernel.end]):
        place = Span(kernel.start + match.start(), kernel.start + match.end())
        before = source.line_before(place.start)
        if "#" in before or before.count('"') % 2 or before.count("'") % 2:
            continue
        found.setdefault(source.line_of(place.start), place)
    for line, place in list(found.items())[:_MOST]:
        text = " ".join(source.line_bytes(line).decode("utf-8", "replace").split())
        fact = f"`{text[:80].replace('`', chr(39))}`"
        yield Suspect(Standing.LOOK, topics.VALUES, fact, (place,))
