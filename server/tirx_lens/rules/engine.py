"""Runs rules over kernels. A rule that breaks costs its own findings and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.rules.rule import KernelView

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.rule import Rule
    from tirx_lens.threads.reach import ReachMap


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that raised, and what it said."""

    code: str
    kernel: str
    reason: str


def run_rules(
    source: SourceText,
    kernels: Iterable[tuple[Kernel, ReachMap | None]],
    rules: Sequence[type[Rule]],
) -> tuple[list[Finding], list[RuleFailure]]:
    """Return the findings of `rules` on `kernels`, as they come, and the rules that broke."""
    findings: list[Finding] = []
    failures: list[RuleFailure] = []
    for kernel, reach in kernels:
        view = KernelView(source, kernel, reach)
        for rule in rules:
            try:
                findings.extend(rule().check(view))  # what came before it broke stays
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                failures.append(RuleFailure(rule.code, kernel.name, reason))
    return findings, failures


def settle(source: SourceText, findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by place, each once, with the lines of `source` in their messages.

    The body of a `T.inline` function is met once for each call: what is wrong with it in the same
    words at the same place is one finding.
    """
    once: dict[tuple[str, int, int, str], Finding] = {}
    for unsettled in findings:
        finding = unsettled.with_lines(source)
        key = (finding.code, finding.span.start, finding.span.end, finding.message)
        once.setdefault(key, finding)
    return sorted(once.values(), key=lambda found: (found.span.start, found.code))
