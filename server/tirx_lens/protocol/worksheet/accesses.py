"""Who reads and writes each buffer of SMEM and TMEM, and which engine does it for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, buffers_in, memory_of, region_of
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.protocol.worksheet.cells import values_of
from tirx_lens.rules.facts.bulk import Direction, bulk_copy
from tirx_lens.rules.facts.copies import given, leaves_dispatch_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached

KEPT = (Memory.SHARED, Memory.TENSOR)
"""The memories whose use the worksheet follows."""

_DISPATCH = 2  # where a copy takes `dispatch` without its keyword
_POINTERS = ("ptr_to", "access_ptr", "T.address_of", "T.decl_buffer", "T.alloc_shared")
_DECLARING = ("T.alloc_shared", "T.alloc_buffer", "T.decl_buffer", "T.shared_scalar")
_BOUND = re.compile(r"(\w+)\s*(?::[^=]*)?=\s*$")
_READS = ("T.ptx.ldmatrix", "T.ptx.ld.", "T.cuda.ldg")
_WRITES = ("T.ptx.stmatrix", "T.ptx.st.", "T.ptx.cp.async.ca", "T.ptx.cp.async.cg")
_WORDS = (Op.MBARRIER_INIT, Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT)


class Engine(Enum):
    """What moves the bytes; the value is what a cell calls it."""

    THREADS = "threads"
    TMA = "TMA"
    TENSOR_CORE = "tensor core"
    OPEN = "threads or TMA, as TVM chooses"


class Via(Enum):
    """The way an access takes to memory: two ways to SMEM are ordered by a proxy fence alone."""

    GENERIC = "generic proxy"
    ASYNC = "async proxy"
    TENSOR_MEMORY = "tcgen05"


@dataclass(frozen=True, slots=True)
class Access:
    """One access to a buffer; `index` is its place among all that is reached.

    `writes` is None where the operation does not tell whether it reads or writes.
    """

    buffer: KernelObject
    index: int
    reached: Reached
    writes: bool | None
    engine: Engine
    via: Via


def accesses(view: KernelView) -> tuple[Access, ...]:
    """Return the accesses of a kernel in program order; none where its threads are not known.

    Loads and stores of single elements (`out[i] = x`) are no operations of the model: they are not
    among them.
    """
    return view.once(_accesses)


def accesses_of(view: KernelView, buffer: KernelObject) -> tuple[Access, ...]:
    """Return the accesses to one buffer."""
    return view.once(_by_buffer).get(buffer, ())


def storage_of(view: KernelView) -> tuple[KernelObject, ...]:
    """Return the buffers in SMEM and TMEM that are made in a kernel, in program order."""
    return view.once(_storage_of)


def declared_buffer(view: KernelView, operation: Operation) -> KernelObject | None:
    """Return the buffer in SMEM or TMEM that a call of TVM's declares: `T.alloc_shared`."""
    if not operation.name.startswith(_DECLARING):
        return None
    known = view.once(_named).get(operation.span)
    if known is not None:
        return known
    # Nothing names it but loads and stores of its elements: the model has no object for it.
    bound = _BOUND.search(view.source.line_before(operation.span.start))
    made = KernelObject(
        -1 - operation.span.start,
        ObjectKind.BUFFER,
        bound[1] if bound is not None else "buffer",
        operation.span,
        "T.alloc_shared" if operation.name == "T.shared_scalar" else operation.name,
        operation.arguments,
        operation.keywords,
    )
    return made if memory_of(made) in KEPT else None


def _storage_of(view: KernelView) -> tuple[KernelObject, ...]:
    found: dict[KernelObject, None] = {}
    for reached in view.reach.reached if view.reach is not None else ():
        operation = reached.operation
        made = operation.created or declared_buffer(view, operation)
        if made is not None and memory_of(made) in KEPT:
            found.setdefault(made)
        for value in values_of(operation):
            for buffer in buffers_in(value):
                if memory_of(buffer) in KEPT:
                    found.setdefault(buffer)
    return tuple(found)


def _named(view: KernelView) -> dict[Span, KernelObject]:
    """Return the buffers in SMEM and TMEM that operations name, by where each is made."""
    found: dict[Span, KernelObject] = {}
    for reached in view.reach.reached if view.reach is not None else ():
        for value in values_of(reached.operation):
            for buffer in buffers_in(value):
                if memory_of(buffer) in KEPT:
                    found.setdefault(buffer.span, buffer)
    return found


def _by_buffer(view: KernelView) -> dict[KernelObject, tuple[Access, ...]]:
    found: dict[KernelObject, list[Access]] = {}
    for access in accesses(view):
        found.setdefault(access.buffer, []).append(access)
    return {buffer: tuple(these) for buffer, these in found.items()}


def _accesses(view: KernelView) -> tuple[Access, ...]:
    reached = view.reach.reached if view.reach is not None else ()
    return tuple(
        access
        for index, one in enumerate(reached)
        if one.participants.possible
        for access in _of(index, one)
    )


def _of(index: int, reached: Reached) -> Iterator[Access]:
    operation = reached.operation
    bulk = bulk_copy(operation)
    if operation.op is Op.GEMM_ASYNC:
        yield from _multiplication(index, reached)
    elif bulk is not None:
        load = bulk.direction is Direction.LOAD
        told = bulk.shared.buffer if bulk.shared is not None else None
        for buffer in [told] if told else _kept(_target(operation, load=load)):
            yield Access(buffer, index, reached, load, Engine.TMA, Via.ASYNC)
    elif operation.op in (Op.COPY, Op.COPY_ASYNC, Op.TILE_OP):
        yield from _tile_operation(index, reached)
    elif operation.op in (Op.TMEM_ALLOC, Op.TMEM_DEALLOC):  # the address, which lies in SMEM
        writes = operation.op is Op.TMEM_ALLOC
        for buffer in _kept(operation.arguments[:1]):
            yield Access(buffer, index, reached, writes, Engine.THREADS, Via.GENERIC)
    elif operation.op not in _WORDS and operation.name not in _POINTERS:
        yield from _other(index, reached)


def _multiplication(index: int, reached: Reached) -> Iterator[Access]:
    operation = reached.operation
    written = region_of(operation.argument(0, "C"))
    for buffer in dict.fromkeys(b for value in values_of(operation) for b in buffers_in(value)):
        memory = memory_of(buffer)
        if memory in KEPT:
            writes = written is not None and buffer == written.buffer
            via = Via.TENSOR_MEMORY if memory is Memory.TENSOR else Via.ASYNC
            yield Access(buffer, index, reached, writes, Engine.TENSOR_CORE, via)


def _tile_operation(index: int, reached: Reached) -> Iterator[Access]:
    """Yield the accesses of an operation whose first operand is what it writes."""
    operation = reached.operation
    first = region_of(operation.argument(0, "dst"))
    named = list(dict.fromkeys(b for value in values_of(operation) for b in buffers_in(value)))
    memories = {memory_of(buffer) for buffer in named}
    by_tensor_core = operation.op is Op.COPY_ASYNC and memories >= set(KEPT)  # tcgen05.cp
    open_ = (
        operation.op is Op.COPY_ASYNC
        and operation.name == "Tx.copy_async"
        and leaves_dispatch_open(operation, _DISPATCH)
        and memories >= {Memory.SHARED, Memory.GLOBAL}
    )
    by_tma = given(operation, "mbar") is not None  # which alone tells a barrier of its bytes
    engine = Engine.TMA if by_tma else Engine.OPEN if open_ else Engine.THREADS
    for buffer in named:
        memory = memory_of(buffer)
        if memory not in KEPT:
            continue
        via = Via.TENSOR_MEMORY if memory is Memory.TENSOR else Via.GENERIC
        if by_tma:
            via = Via.ASYNC
        if by_tensor_core:
            engine, via = Engine.TENSOR_CORE, (Via.ASYNC if via is Via.GENERIC else via)
        writes = first is not None and buffer == first.buffer
        yield Access(buffer, index, reached, writes, engine, via)


def _other(index: int, reached: Reached) -> Iterator[Access]:
    """Yield the accesses of an instruction; most do not tell which way they go."""
    operation = reached.operation
    writes: bool | None = None
    engine, given = Engine.THREADS, tuple(values_of(operation))
    if operation.name.startswith(_READS):
        writes = False
    elif operation.name.startswith(_WRITES):
        writes, given = True, operation.arguments[:1]
    elif operation.name.startswith("T.ptx.tcgen05.cp"):
        engine, writes = Engine.TENSOR_CORE, False
    elif operation.op is not Op.OPAQUE and not operation.name.startswith(("T.ptx.", "Tx.")):
        return
    for buffer in _kept(given):
        memory = memory_of(buffer)
        via = Via.TENSOR_MEMORY if memory is Memory.TENSOR else Via.GENERIC
        if engine is Engine.TENSOR_CORE and memory is Memory.SHARED:
            via = Via.ASYNC
        yield Access(buffer, index, reached, writes, engine, via)


def _target(operation: Operation, *, load: bool) -> tuple[Expr, ...]:
    """Return the operands of a raw bulk copy that may name its part of SMEM."""
    return operation.arguments[:1] if load else tuple(values_of(operation))


def _kept(values: tuple[Expr, ...]) -> list[KernelObject]:
    found = dict.fromkeys(buffer for value in values for buffer in buffers_in(value))
    return [buffer for buffer in found if memory_of(buffer) in KEPT]
