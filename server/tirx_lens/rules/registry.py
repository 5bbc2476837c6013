"""All rules, by code. A new rule is one more module here and one more line below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.rules.tx101_barrier_init_unreachable import BarrierInitUnreachable
from tirx_lens.rules.tx102_cta_sync_divergent import CtaSyncDivergent
from tirx_lens.rules.tx201_alloc_after_commit import AllocAfterCommit

if TYPE_CHECKING:
    from tirx_lens.rules.rule import Rule

RULES: tuple[type[Rule], ...] = (
    BarrierInitUnreachable,
    CtaSyncDivergent,
    AllocAfterCommit,
)


def rule_by_code(code: str) -> type[Rule] | None:
    """Return a rule by its code or its name, in any case."""
    wanted = code.lower()
    return next((r for r in RULES if wanted in (r.code.lower(), r.name)), None)
