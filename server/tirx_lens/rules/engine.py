"""Runs rules over kernels. A rule that breaks costs its own findings and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tirx_lens.model.finding import Severity
from tirx_lens.protocol.wanted import NoLongerWantedError, always
from tirx_lens.rules.placing import placed_in_text
from tirx_lens.rules.rule import KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.given import Given
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.wanted import RunWhile
    from tirx_lens.rules.rule import Question, ReadAnew
    from tirx_lens.threads.reach import ReachMap

_HANDOFFS = ("TX1",)
"""The rules about barriers, phases, pipelines and schedulers."""

_RUN = ("TX1", "TX2", "TX3", "TX401")
"""The rules whose errors upset a run of the kernel."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that a rule asked of the whole text, and the answer."""

    question: Question
    about: Any
    answer: object


@dataclass(frozen=True, slots=True)
class Ran:
    """What rules found, as it came; which of them broke; what they asked of the whole text."""

    findings: tuple[Finding, ...]
    failures: tuple[RuleFailure, ...]
    asked: tuple[Asked, ...]


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
    given: Given | None = None,
    *,
    run_while: RunWhile | None = always,
    read_anew: ReadAnew | None = None,
) -> Ran:
    """Run `rules` on `kernels`.

    `source` is the text joined with those that it imports; of what is `given` for it, the TVM
    counts. Kernels are also run unless `run_while` is None; where it says no meanwhile,
    raise `NoLongerWantedError`. `read_anew` reads them with other arguments.
    """
    findings: list[Finding] = []
    failures: list[RuleFailure] = []
    asked: list[Asked] = []
    for kernel, reach in kernels:
        view = KernelView(
            source,
            kernel,
            reach,
            given.tvm_version if given is not None else None,
            run_while or always,
            read_anew,
            given.installed if given is not None else (),
        )
        found: list[Finding] = []
        for rule in rules:
            _ask(rule, rule.check, view, found, failures)
        if not _has_error(found, _HANDOFFS):
            for rule in rules:
                if rule.check_run is not Rule.check_run:  # as few have
                    _ask(rule, rule.check_run, view, found, failures)
        if (
            run_while is not None
            and not _has_error(found, _RUN)
            and not _has_alarm(found, _HANDOFFS)
        ):
            for rule in rules:
                _ask(rule, rule.check_history, view, found, failures)
        findings += placed_in_text(source, kernel, found)
        asked += [Asked(*key, answer) for key, answer in view.asked.items()]
    return Ran(tuple(findings), tuple(failures), tuple(asked))


def _ask(
    rule: type[Rule],
    check: Callable[[Rule, KernelView], Iterable[Finding]],
    view: KernelView,
    found: list[Finding],
    failures: list[RuleFailure],
) -> None:
    try:
        found.extend(check(rule(), view))  # what came before it broke stays
    except NoLongerWantedError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        failures.append(RuleFailure(rule.code, view.kernel.name, reason))


def _has_alarm(found: Iterable[Finding], codes: tuple[str, ...]) -> bool:
    loud = (Severity.ERROR, Severity.WARNING)
    return any(one.severity in loud and one.code.startswith(codes) for one in found)


def _has_error(found: Iterable[Finding], codes: tuple[str, ...]) -> bool:
    return any(one.severity is Severity.ERROR and one.code.startswith(codes) for one in found)


def settle(source: SourceText, findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by place, each once, with the lines of `source` in their messages.

    The body of a `T.inline` function is met once for each call: what is wrong with it in the same
    words at the same place is one finding. One of another text is as many as it has calls here.
    """
    once: dict[tuple[object, ...], Finding] = {}
    for unsettled in findings:
        finding = unsettled.fitted(source)
        elsewhere = [
            (one.module.path, one.span.start, one.span.end)
            for one in finding.related[:1]
            if one.module is not None
        ]
        place = (finding.span.start, finding.span.end)
        key = (finding.code, *place, finding.message, *elsewhere)
        once.setdefault(key, finding)
    return sorted(once.values(), key=lambda found: (found.span.start, found.code))
