"""From a text to its findings: the one road that the command line and the language server take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tirx_lens.model.given import Given
from tirx_lens.model.span import Span
from tirx_lens.protocol.wanted import always
from tirx_lens.rules.engine import run_rules, settle
from tirx_lens.rules.registry import RULES
from tirx_lens.suppressing import hold_against_comments
from tirx_lens.syntax.body import DAMAGED
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels, reading_anew
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.model.finding import Finding
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.wanted import RunWhile
    from tirx_lens.rules.engine import Asked
    from tirx_lens.rules.rule import ReadAnew
    from tirx_lens.syntax.library import Answered, Library
    from tirx_lens.threads.reach import ReachMap


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules report: codes or prefixes ("TX", "TX1", "TX102"). `ignore` wins over `select`.

    With `unused_suppressions`, comments that silence none of the rules that report are findings.
    """

    select: tuple[str, ...] = ("TX",)
    ignore: tuple[str, ...] = ()
    unused_suppressions: bool = False

    def admits(self, code: str) -> bool:
        """Tell whether a rule with this code reports."""
        return code.startswith(self.select) and not (self.ignore and code.startswith(self.ignore))


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one text gave.

    `failures` are the parts that broke and why: a rule by its code, a layer by its name.
    `unread` are the kernels of which nothing is said, and why, syntax errors aside. `imported`
    are the files of the modules that it depends on; `lacks_modules` says that some it asked for are
    none of the workspace, or not yet.
    """

    source: SourceText
    findings: tuple[Finding, ...] = ()
    failures: tuple[tuple[str, str], ...] = field(default=())
    unread: tuple[tuple[str, str], ...] = ()
    imported: frozenset[str] = frozenset()
    lacks_modules: bool = False

    def depending_on(self, asked: Iterable[Answered]) -> Analysis:
        """Return the analysis with what its modules were asked."""
        answers = [one.answer for one in asked]
        found = frozenset(answer.path for answer in answers if answer is not None)
        return replace(self, imported=found, lacks_modules=None in answers)


@dataclass(frozen=True, slots=True)
class Checked:
    """What some kernels of a text gave, not yet put in order nor held against its comments.

    `asked` is what else of the text it depends on. `is_complete` tells whether all that could be
    found was looked for: not in a kernel that was not understood, nor by a rule that broke.
    """

    findings: tuple[Finding, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    asked: tuple[Asked, ...] = ()
    is_complete: bool = True
    unread: tuple[tuple[str, str], ...] = ()

    def apart(self) -> Checked:
        """Return the same with places of its own, none of the kernels'."""
        return replace(self, findings=tuple(one.moved(_copied) for one in self.findings))


def _copied(span: Span) -> Span:
    return Span(span.start, span.end)


def analyse(
    source: SourceText,
    selection: Selection | None = None,
    given: Given | None = None,
    library: Library | None = None,
    *,
    run_while: RunWhile | None = always,
) -> Analysis:
    """Read the text, run the rules that `selection` admits, and drop what comments suppress.

    `given` is what the user says of the text besides: arguments of its builders, its TVM. `library`
    has the modules that it imports; without one they stay unknown. Kernels are also run,
    which may take a hundred milliseconds each, unless `run_while` is None.
    Never raises for any text: what could not be read gives no finding, and what broke on the way is
    among the failures.
    """
    selection, given = selection or Selection(), given or Given()
    try:
        read = read_kernels(source, given, library)
    except Exception as error:
        return unreadable(source, error)
    joined = library.joined(source) if library is not None else source

    checked = check_kernels(
        joined,
        read.kernels,
        selection,
        given,
        run_while=run_while,
        read_anew=reading_anew(source, given, library),
    )
    analysis = conclude(source, [checked], selection, is_whole=not read.has_errors)
    return analysis.depending_on(library.asked) if library is not None else analysis


def check_kernels(
    source: SourceText,
    kernels: Iterable[Kernel],
    selection: Selection,
    given: Given,
    *,
    run_while: RunWhile | None = always,
    read_anew: ReadAnew | None = None,
) -> Checked:
    """Follow the threads through kernels and run the rules that `selection` admits on them.

    `source` is the text joined with those that it imports: `Library.joined`. Raise
    `NoLongerWantedError` where `run_while` says no before all kernels are run. `read_anew` reads
    one with other arguments.
    """
    failures: list[tuple[str, str]] = []
    is_complete = True
    unread: list[tuple[str, str]] = []
    placed: list[tuple[Kernel, ReachMap | None]] = []
    for kernel in kernels:
        if not kernel.is_whole:
            is_complete = False
            reasons = (one.reason for one in kernel.problems if one.cuts and one.reason != DAMAGED)
            unread += [(kernel.name, reason) for reason in dict.fromkeys(reasons)]
            continue
        try:
            placed.append((kernel, reach(kernel, compute)))
        except Exception as error:
            failures.append(("threads", _reason(error)))
            placed.append((kernel, None))
    rules = [rule for rule in RULES if selection.admits(rule.code)]
    ran = run_rules(source, placed, rules, given, run_while=run_while, read_anew=read_anew)
    failures += [(failure.code, failure.reason) for failure in ran.failures]
    is_complete &= not failures
    return Checked(ran.findings, tuple(failures), ran.asked, is_complete, tuple(unread))


def conclude(
    source: SourceText, checked: Iterable[Checked], selection: Selection, *, is_whole: bool
) -> Analysis:
    """Put together what the kernels of a text gave, and drop what its comments suppress.

    `is_whole` is false where syntax errors may have cost kernels.
    """
    findings: list[Finding] = []
    failures: list[tuple[str, str]] = []
    unread: list[tuple[str, str]] = []
    is_complete = is_whole
    for one in checked:
        findings += one.findings
        failures += one.failures
        unread += one.unread
        is_complete &= one.is_complete
    wanted = selection.admits if selection.unused_suppressions and is_complete else None
    left = hold_against_comments(source, settle(source, findings), wanted)
    return Analysis(source, left, tuple(failures), tuple(unread))


def unreadable(source: SourceText, error: Exception) -> Analysis:
    """Return the analysis of a text on which the front end itself broke."""
    return Analysis(source, failures=(("syntax", _reason(error)),))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
