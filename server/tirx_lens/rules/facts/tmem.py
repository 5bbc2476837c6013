"""The life of tensor memory in a kernel: who allocates it, who uses it, who frees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.buffers import Memory, Region, buffers_in, memory_of, region_of
from tirx_lens.model.expr import Const, Ref, constant_int
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.threads.reach import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached, ReachMap

LARGEST = 512
"""The columns that one SM has."""
SMALLEST = 32
"""The columns of the smallest allocation."""

_USES = ("T.ptx.tcgen05.mma", "T.ptx.tcgen05.ld", "T.ptx.tcgen05.st", "T.ptx.tcgen05.cp")


@dataclass(frozen=True, slots=True)
class Life:
    """An end of an allocation's life: where it is taken or given back, and its columns.

    `pool` is the `TMEMPool` that does it, None for an instruction.
    """

    reached: Reached
    columns: Expr
    pool: KernelObject | None = None

    @property
    def known_columns(self) -> int | None:
        """The number of columns, where the text tells it."""
        return constant_int(self.columns)


def allocations(reach: ReachMap) -> list[Life]:
    """Return where TMEM is allocated by some thread."""
    return list(_ends(reach, Op.TMEM_ALLOC, "commit"))


def deallocations(reach: ReachMap) -> list[Life]:
    """Return where TMEM is freed by some thread."""
    return list(_ends(reach, Op.TMEM_DEALLOC, "dealloc"))


def uses_tmem(operation: Operation, named: Iterable[KernelObject] | None = None) -> bool:
    """Tell whether an operation reads or writes TMEM; `named` are the buffers that it names."""
    if operation.op is Op.GEMM_ASYNC:
        return True
    if operation.op is Op.OTHER:
        return operation.name.startswith(_USES)
    if operation.op not in (Op.COPY, Op.COPY_ASYNC, Op.TILE_OP):
        return False
    buffers = named_by(operation) if named is None else named
    return any(memory_of(buffer) is Memory.TENSOR for buffer in buffers)


@dataclass(frozen=True, slots=True)
class TmemLoad:
    """A load from TMEM: the registers it fills, and the TMEM buffer where that is named."""

    registers: tuple[Region, ...]
    source: KernelObject | None


def tmem_load(operation: Operation) -> TmemLoad | None:
    """Return what an operation loads from TMEM, if it does."""
    if operation.op is Op.OTHER and operation.name.startswith("T.ptx.tcgen05.ld."):
        return TmemLoad(_registers(operation.arguments), None)
    if operation.op is not Op.COPY_ASYNC:
        return None
    source = region_of(operation.argument(1, "src"))
    to = operation.argument(0, "dst")
    if source is None or to is None or memory_of(source.buffer) is not Memory.TENSOR:
        return None
    return TmemLoad(_registers((to,)), source.buffer)


def tmem_loads(reach: ReachMap) -> dict[int, TmemLoad]:
    """Return the loads from TMEM, by the operation's identity, in program order."""
    found: dict[int, TmemLoad] = {}
    for reached in reach.of(Op.COPY_ASYNC, Op.OTHER):
        load = tmem_load(reached.operation)
        if load is not None:
            found[id(reached.operation)] = load
    return found


def written_tmem(operation: Operation) -> KernelObject | None:
    """Return the TMEM buffer that a multiplication accumulates into."""
    written = region_of(operation.argument(0, "C"))
    return written.buffer if written is not None else None


def issuers_of(view: KernelView) -> dict[KernelObject, list[Reached]]:
    """Return the multiplications into each TMEM buffer, in program order."""
    found: dict[KernelObject, list[Reached]] = {}
    for reached in view.reach.of(Op.GEMM_ASYNC) if view.reach is not None else ():
        written = written_tmem(reached.operation)
        if written is not None:
            found.setdefault(written, []).append(reached)
    return found


def _registers(values: tuple[Expr, ...]) -> tuple[Region, ...]:
    regions = map(region_of, values)
    return tuple(r for r in regions if r is not None and memory_of(r.buffer) is Memory.LOCAL)


def named_by(operation: Operation) -> list[KernelObject]:
    """Return the buffers that the operands of an operation name."""
    found: list[KernelObject] = []
    for value in (*operation.arguments, *[value for _, value in operation.keywords]):
        if value.weight > 1 or isinstance(value, Ref):  # as few are
            found += buffers_in(value)
    return found


def _ends(reach: ReachMap, op: Op, method: str) -> Iterator[Life]:
    ends = list(reach.of(op))
    for owner, calls in reach.by_receiver.items():
        if owner.kind is ObjectKind.TMEM_POOL:
            ends += [c for c in calls if c.operation.name == method and c.operation.op is not op]
    for reached in in_order(ends):
        operation, pool = reached.operation, reached.operation.receiver
        if not reached.participants.possible:
            continue
        if operation.op is op:
            columns = operation.argument(1, "n_cols")
            if columns is not None:
                yield Life(reached, columns)
        elif pool is not None:
            yield Life(reached, pool.argument(1, "total_cols") or Const(LARGEST), pool)
