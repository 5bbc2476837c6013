"""What the debugging guide tells authors to look for in generated CUDA, looked for by machine.

The guards in the text are computed thread by thread, as the static rules compute those of the
source: what is found here is found there as well (`tests/kernels/test_cuda_agrees.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.cuda.rounds import unequal_rounds
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.model.queries import uses
from tirx_lens.syntax.fold import compute
from tirx_lens.threads.alignment import unmatched
from tirx_lens.threads.contracts import Demand
from tirx_lens.threads.describe import describe, place
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.reach import Reached, ReachMap, reach
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.cuda.read import CudaText

_WHOLE_WARPS = {
    Op.TMEM_ALLOC: "tcgen05.alloc",
    Op.TMEM_DEALLOC: "tcgen05.dealloc",
    Op.TMEM_RELINQUISH: "tcgen05.relinquish_alloc_permit",
}


def check_cuda(text: CudaText) -> tuple[Finding, ...]:
    """Return what is wrong with the kernels of a generated text; spans are places in it.

    Silent about a kernel with statements that could not be read, or whose threads are not known.
    """
    findings: list[Finding] = []
    for kernel in text.kernels:
        placed = reach(kernel, compute) if kernel.is_whole else None
        if placed is None:
            continue
        findings += _inits(placed)
        findings += _cta_barriers(placed)
        findings += _whole_warps(placed)
        findings += unequal_rounds(placed)
    return tuple(sorted(findings, key=lambda finding: finding.span.start))


def _inits(placed: ReachMap) -> Iterator[Finding]:
    for reached in placed.reached:
        if reached.operation.op is not Op.MBARRIER_INIT:
            continue
        if not reached.participants.possible:
            yield Finding(
                "TX101",
                "barrier-init-unreachable",
                Severity.ERROR,
                "No thread executes this `mbarrier.init`: the guards around it exclude each other. "
                "The barrier is never initialised, and the first wait on it never returns.",
                reached.operation.span,
                related=_guards(reached, placed),
            )
        elif _in_role_branch(reached):
            yield Finding(
                "TX101",
                "barrier-init-unreachable",
                Severity.INFORMATION,
                "This `mbarrier.init` stands inside a role branch, with waits beside it: other "
                "roles may reach the barrier before it is initialised. Initialise barriers before "
                "the first role branch.",
                reached.operation.span,
                related=_guards(reached, placed),
            )


def _in_role_branch(reached: Reached) -> bool:
    return any(
        guard.selective and isinstance(guard.branch, Branch) and _waits(guard.branch)
        for guard in reached.guards
    )


def _waits(branch: Branch) -> bool:
    return any(uses(side, Op.BARRIER_WAIT) for side in (branch.then, branch.orelse))


def _cta_barriers(placed: ReachMap) -> Iterator[Finding]:
    for demand, unit in ((Demand.WHOLE_CTA, "CTA"), (Demand.WHOLE_CLUSTER, "cluster")):
        for reached in unmatched(placed, demand):
            total = placed.shape.threads if unit == "CTA" else placed.shape.total
            yield Finding(
                "TX102",
                "cta-sync-divergent",
                Severity.ERROR,
                f"This {unit} barrier waits for all {total} threads and only "
                f"{describe(reached.participants, placed.shape)} can get here: the kernel hangs.",
                reached.operation.span,
                related=_guards(reached, placed),
            )


def _whole_warps(placed: ReachMap) -> Iterator[Finding]:
    for reached in placed.reached:
        name, who = _WHOLE_WARPS.get(reached.operation.op), reached.participants
        if name is None or who.pick is Pick.SOME or not who.possible:
            continue
        whole = warps_touched(who.possible, placed.shape) == who.possible
        if who.pick is not Pick.ALL or not whole:
            yield Finding(
                "TX202",
                "tcgen05-alloc-divergent",
                Severity.ERROR,
                f"`{name}` is executed by {describe(who, placed.shape)}, and it wants all 32 lanes "
                "of a warp: what it does otherwise is undefined, in practice a hang.",
                reached.operation.span,
                related=_guards(reached, placed),
            )


def _guards(reached: Reached, placed: ReachMap) -> tuple[Related, ...]:
    """Return the guards that keep threads out, with whom they let through."""
    related = []
    for guard in reached.guards:
        if guard.selective and isinstance(guard.branch, Branch):
            condition = placed.condition(guard.branch.condition)
            passing = condition.yes | condition.maybe if guard.taken else condition.no
            words = f"This guard lets {place(passing, placed.shape)} through."
            related.append(Related(guard.span, words))
    return tuple(related)
