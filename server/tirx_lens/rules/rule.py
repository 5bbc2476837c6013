"""What a rule is: a class whose docstring is its page and whose examples are its tests."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast

from tirx_lens.model.finding import Finding, Fix, Related, Severity, line_mark
from tirx_lens.model.imported import TextWithImports
from tirx_lens.model.listing import Listing
from tirx_lens.model.outline import Outline
from tirx_lens.model.queries import statement_span
from tirx_lens.protocol.wanted import always
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tirx_lens.model.given import TvmVersion
    from tirx_lens.model.imported import ModuleText
    from tirx_lens.model.installed import Installed
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.model.symptom import Symptom
    from tirx_lens.protocol.wanted import RunWhile
    from tirx_lens.threads.reach import ReachMap

T = TypeVar("T")
A = TypeVar("A")
P = TypeVar("P")

ReadAnew: TypeAlias = "Callable[[Kernel, Mapping[str, int]], Kernel | None]"
"""Reads a kernel with other arguments of its builder."""

Question: TypeAlias = "Callable[[SourceText, Any], object]"
"""Asks something of a whole text."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """A text in which the rule finds something: on each line that ends in `# <-`, and no other.

    `replacement` is the text after the fixes of the rule, without the marks; None when it offers
    no fix here.
    """

    code: str
    severity: Severity = Severity.ERROR
    replacement: str | None = None


@dataclass(frozen=True)
class KernelView:
    """What a rule looks at: one kernel, the text around it, and which thread gets where.

    `reach` is None when the text does not say how many threads the kernel has: rules about
    participants then have nothing to say. `tvm_version` is the TVM that the user says the text is
    written for, and `installed` what there is to build it; `facts.releases` makes of them what the
    kernel is held against. A run of the kernel is given up when `run_while` says no. `read_anew`
    reads the kernel with other arguments.
    """

    source: SourceText
    kernel: Kernel
    reach: ReachMap | None
    tvm_version: TvmVersion | None = None
    run_while: RunWhile = field(default=always, compare=False, repr=False)
    read_anew: ReadAnew | None = field(default=None, compare=False, repr=False)
    installed: tuple[Installed, ...] = ()
    asked: dict[tuple[Question, Any], object] = field(
        default_factory=dict, compare=False, repr=False
    )
    _answers: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def outline(self) -> Outline:
        """The kernel's statements by their places."""
        return Outline(self.kernel.body)

    @cached_property
    def listing(self) -> Listing:
        """The kernel's statements in program order."""
        return Listing(self.kernel.body)

    def once(self, question: Callable[[KernelView], T]) -> T:
        """Return the answer to a question about the kernel; each is worked out once for all rules.

        `question` is a function of the view alone: its identity is what is remembered.
        """
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: T = self._answers[question]
        return answer

    def at(self, arguments: Mapping[str, int]) -> KernelView | None:
        """Return the view of the same kernel with other arguments; None where it has none."""
        kernel = self.read_anew(self.kernel, arguments) if self.read_anew is not None else None
        if kernel is None or self.reach is None or not kernel.is_whole:
            return None
        there = reach(kernel, self.reach.compute)
        return replace(self, kernel=kernel, reach=there, asked={}, _answers={})

    def of_text(self, question: Callable[[SourceText, P], A], about: P) -> A:
        """Return the answer to a question about the whole text, `question(source, about)`.

        While a text is edited, findings are kept as long as the kernel and what it names are as
        they were. What a rule wants of the rest it must ask here, so that the answer can be held
        against the next version. `about` and the answer are plain values; a span in the place of
        `about` moves with the kernel.
        """
        known = self.source.answers
        if (question, about) not in known:
            known[question, about] = question(self.source, about)
        self.asked[question, about] = known[question, about]
        return cast("A", known[question, about])

    def mentions(self, pattern: re.Pattern[bytes]) -> bool:
        """Tell whether a pattern matches in the text, or in one of which code is in the kernel."""
        return self.of_text(_mentions, pattern) or any(
            pattern.search(module.source.data) for module in self.modules
        )

    @cached_property
    def modules(self) -> tuple[ModuleText, ...]:
        """The imported modules of which code stands in the kernel."""
        source = self.source
        if not isinstance(source, TextWithImports):
            return ()
        spans = (statement_span(statement) for statement in self.listing.statements)
        texts = [source.text_of(span) for span in spans if span is not None]
        return tuple(dict.fromkeys(text.module for text in texts if text is not None))

    @property
    def texts(self) -> tuple[str, ...]:
        """The text of the kernel, and those of the modules of which code stands in it."""
        own = self.source.slice(self.kernel.span)
        return (own, *(module.source.text for module in self.modules))

    def line(self, span: Span) -> str:
        """Return what messages say for the line on which a span starts: a mark, later a number."""
        return line_mark(span.start)


class Page:
    """What is written about a rule.

    The docstring of a subclass is its documentation: a first line that says what is wrong, then
    sections `What it does`, `Why it is bad`, `Example`, `Use instead`, `When not to`, `References`.
    `symptoms` are what its author sees of it, the likeliest first.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    levels: ClassVar[str]
    symptoms: ClassVar[tuple[Symptom, ...]]
    fix_title: ClassVar[str | None] = None

    @classmethod
    def documentation(cls) -> str:
        """Return the rule's page, as Markdown without its heading."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def summary(cls) -> str:
        """Return the first line of the page."""
        return cls.documentation().partition("\n")[0]


class Rule(Page, ABC):
    """One rule that is asked of kernels; its page is its docstring."""

    VALID: ClassVar[Sequence[str]]
    INVALID: ClassVar[Sequence[Invalid]]

    @abstractmethod
    def check(self, view: KernelView) -> Iterator[Finding]:
        """Yield what is wrong with a kernel, in any order; the same thing twice is shown once."""

    def check_run(self, view: KernelView) -> Iterator[Finding]:  # noqa: ARG002
        """Yield what only a run of every role shows, from the first round to the last.

        Asked after all rules, and only of a kernel in whose handoffs (TX1xx) no rule found an
        error: one mistake upsets many counts, and the rule that reads its statement says it best.
        """
        yield from ()

    def check_history(self, view: KernelView) -> Iterator[Finding]:  # noqa: ARG002
        """Yield what only the kernel's handoffs, run together, show.

        Asked last, and only of a kernel in which no rule about barriers, storage or fences found
        an error. It may take a hundred milliseconds, so an editor asks when typing pauses.
        """
        yield from ()

    def finding(
        self,
        severity: Severity,
        message: str,
        span: Span,
        *,
        fix: Fix | None = None,
        related: Sequence[Related] = (),
    ) -> Finding:
        """Make a finding of this rule."""
        return Finding(self.code, self.name, severity, message, span, fix, tuple(related))


def _mentions(source: SourceText, pattern: re.Pattern[bytes]) -> bool:
    return pattern.search(source.data) is not None
