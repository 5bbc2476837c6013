"""The fix that gives one warpgroup a named barrier which nothing else uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability, Edit, Fix
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span
from tirx_lens.threads.named import NamedBarrierUse, free_ids
from tirx_lens.threads.participants import only_warpgroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import ReachMap

_PLAIN_NUMBER = re.compile(r"(.*\bwarpgroup_sync\s*\(\s*(?:bar_no\s*=\s*)?)(\d+)\s*\)", re.DOTALL)


def free_barrier_fix(
    view: KernelView,
    reach: ReachMap,
    use: NamedBarrierUse,
    uses: Sequence[NamedBarrierUse],
    wrong: Sequence[NamedBarrierUse],
) -> Fix | None:
    """Return the fix for a `warpgroup_sync` with a plain number, or None.

    `wrong` are all places that want another number than they have. Only where one warpgroup comes
    as a whole: then each such place is complete in itself, whatever becomes of the others.
    """
    operation = use.operation
    written = _PLAIN_NUMBER.fullmatch(view.source.slice(operation.span))
    group = only_warpgroup(use.reached.participants, reach.shape)
    if operation.op is not Op.WARPGROUP_SYNC or operation.stack or written is None or group is None:
        return None
    free = free_ids(uses)
    groups = [only_warpgroup(other.reached.participants, reach.shape) for other in wrong]
    wanted = sorted({g for g in groups if g is not None})
    if free is None or group not in wanted or wanted.index(group) >= len(free):
        return None
    number = free[wanted.index(group)]
    start = operation.span.start + len(written.group(1).encode())
    known = not reach.is_opaque
    return Fix(
        f"Use named barrier {number}, which nothing else uses",
        Applicability.SAFE if known else Applicability.UNSAFE,
        (Edit(Span(start, start + len(written.group(2))), str(number)),),
    )
