"""Where the parts of a kernel's top-level shape stand, as indices into all that is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import FENCES, Op
from tirx_lens.model.objects import BARRIERS, ObjectKind
from tirx_lens.protocol.worksheet.meetings import is_wide
from tirx_lens.rules.facts.tmem import allocations, deallocations, uses_tmem

if TYPE_CHECKING:
    from tirx_lens.rules.facts.tmem import Life
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached

_MADE = BARRIERS | {ObjectKind.SMEM_POOL, ObjectKind.TMEM_POOL, ObjectKind.PIPELINE}
_POOL = (Op.POOL_ALLOC, Op.POOL_COMMIT, Op.POOL_MOVE)
_USES = frozenset({Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT, Op.GEMM_ASYNC})
_WORK = frozenset(
    {Op.BARRIER_WAIT, Op.BARRIER_ARRIVE, Op.TCGEN05_COMMIT, Op.COPY, Op.COPY_ASYNC}
    | {Op.GEMM_ASYNC, Op.TILE_OP}
)


@dataclass(frozen=True, slots=True)
class Landmarks:
    """The parts of one kernel. `work` are the operations of the roles, in program order."""

    reached: tuple[Reached, ...]
    storage: tuple[int, ...]
    inits: tuple[int, ...]
    fences: tuple[int, ...]
    syncs: tuple[int, ...]
    work: tuple[int, ...]
    tmem_uses: tuple[int, ...]
    taken: tuple[Life, ...]
    freed: tuple[Life, ...]
    relinquished: tuple[int, ...]

    @property
    def start(self) -> int:
        """Where the roles begin to work."""
        return self.work[0] if self.work else len(self.reached)

    @property
    def first_use(self) -> int:
        """Where a barrier, or TMEM, is first used: what is to be published before."""
        uses = [i for i in self.work if self.reached[i].operation.op in _USES]
        return min((*uses, *self.tmem_uses), default=self.start)

    @property
    def end(self) -> int:
        """The last work of a role."""
        return self.work[-1] if self.work else -1

    def index(self, one: Reached) -> int:
        """Return the index of an operation."""
        return next(index for index, other in enumerate(self.reached) if other is one)


def landmarks(view: KernelView) -> Landmarks | None:
    """Return the parts of a kernel; None where its threads are not known."""
    if view.reach is None:
        return None
    reached = view.reach.reached
    here = [(i, one) for i, one in enumerate(reached) if one.participants.possible]
    return Landmarks(
        reached,
        tuple(i for i, one in here if _is_storage(one)),
        tuple(i for i, one in here if _is_init(one)),
        tuple(i for i, one in here if one.operation.op in FENCES),
        tuple(i for i, one in here if is_wide(one)),
        tuple(i for i, one in here if one.operation.op in _WORK),
        tuple(i for i, one in here if uses_tmem(one.operation)),
        tuple(allocations(view.reach)),
        tuple(deallocations(view.reach)),
        tuple(i for i, one in here if one.operation.op is Op.TMEM_RELINQUISH),
    )


def is_selective(reached: Reached) -> bool:
    """Tell whether a guard around an operation keeps some thread of the kernel out."""
    return any(guard.selective for guard in reached.guards)


def _is_storage(reached: Reached) -> bool:
    operation = reached.operation
    made = operation.created
    return (
        operation.op in _POOL
        or operation.name in ("T.alloc_shared", "T.shared_scalar")
        or (operation.op is Op.CONSTRUCT and made is not None and made.kind in _MADE)
    )


def _is_init(reached: Reached) -> bool:
    operation, made = reached.operation, reached.operation.created
    makes = made is not None and made.kind is ObjectKind.PIPELINE
    return operation.op in (Op.BARRIER_INIT, Op.MBARRIER_INIT) or (
        makes and made is not None and made.argument(99, "full") is not None
    )
