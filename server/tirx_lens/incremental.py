"""The analysis of a text that is being edited: what an edit cannot have changed is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.analysis import (
    Checked,
    Selection,
    check_kernels,
    conclude,
    unreadable,
)
from tirx_lens.model.given import Given
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.span import Span
from tirx_lens.protocol.wanted import NoLongerWantedError, always
from tirx_lens.syntax.memory import Memories, TextMemories
from tirx_lens.syntax.read import mentions_kernels
from tirx_lens.syntax.recent import Recent
from tirx_lens.syntax.statements import VersionReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tirx_lens.analysis import Analysis
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.wanted import RunWhile
    from tirx_lens.rules.rule import Question, ReadAnew
    from tirx_lens.syntax.library import Answered, Library
    from tirx_lens.syntax.reparse import Room
    from tirx_lens.syntax.statements import Unit, Version

_ROOM = 8
"""Texts: what may be remembered of units that are no longer there, or were asked otherwise."""


class Analyser:
    """Analyses the versions of one document: each time what `analyse` gives, mostly sooner.

    Builders, classes and kernels of a module are taken one by one. What one gave is kept with
    everything it depends on, and given again, at its new place, while none of that has changed and
    what its rules asked of the whole text has the same answers.
    What another module held is such a thing: each time the modules are asked for anew.
    An analyser may be dropped at any time and another begun. Not for two threads at once.
    """

    def __init__(
        self,
        library: Library | None = None,
        memories: Memories | None = None,
        room: Room | None = None,
    ) -> None:
        """`library` has the modules around the document; it is this analyser's alone.

        `memories` are those of kernels that are edited, and `room` is for trees: of this document
        and others.
        """
        self._reader = VersionReader(room)
        self._library = library
        self._kept: Recent[tuple[object, ...], _Kept] = Recent()
        self._answers: dict[tuple[Question, object], object] = {}
        self._memories = TextMemories(memories or Memories())

    def analyse(
        self,
        source: SourceText,
        selection: Selection | None = None,
        given: Given | None = None,
        *,
        run_while: RunWhile | None = always,
    ) -> Analysis:
        """Analyse the next version of the text, or the same with another selection or others given.

        What one pair of these gave is never taken for what another gives. Kernels are also run
        unless `run_while` is None: what a run has found in one that has not changed is given even
        then. Raise `NoLongerWantedError` where it says no meanwhile.
        """
        wanted = _Wanted(selection or Selection(), given or Given(), run_while)
        asked: set[Answered] = set()
        try:
            checked, is_whole = self._check(source, wanted, asked)
        except NoLongerWantedError:
            raise
        except Exception as error:
            return unreadable(source, error)
        analysis = conclude(source, checked, wanted.selection, is_whole=is_whole)
        return analysis.depending_on(asked)

    def _check(
        self, source: SourceText, wanted: _Wanted, asked: set[Answered]
    ) -> tuple[list[Checked], bool]:
        """Return what each unit gives, and whether the text is whole.

        Adds to `asked` what that depends on of modules.
        """
        if not mentions_kernels(source):
            return [], True
        version = self._reader.read(source.data)
        units = {unit.start: unit for unit in version.units}
        self._kept.begin_version(_ROOM * len(source.data))
        self._answers.clear()
        if self._library is not None:
            self._library.begin_version()
        joined = self._joined(source)
        known: dict[int, Checked] = {}
        for start, unit in units.items():
            if (kept := self._recall(joined, unit, wanted)) is not None:
                known[start], of_modules = kept
                asked.update(of_modules)
        fresh: dict[int, Checked] = {}
        if len(known) < len(units):
            self._memories.begin_version()
            reading = version.kernels(known, wanted.given, self._library, self._memories)
            for start, kernels in reading:
                if start in units and start not in known:
                    joined = self._joined(source)  # with the modules read for these kernels
                    checked = check_kernels(
                        joined,
                        kernels,
                        wanted.selection,
                        wanted.given,
                        run_while=wanted.run_while,
                        read_anew=self._reading_anew(version, start, units, wanted.given),
                    )
                    fresh[start] = checked.apart()
                    self._keep(units[start], wanted, checked)
        if self._library is not None:
            asked.update(self._library.asked)
        by_start = known | fresh
        return [by_start[start] for start in units if start in by_start], not version.has_errors

    def _reading_anew(
        self, version: Version, start: int, others: Iterable[int], given: Given
    ) -> ReadAnew:
        """Return what reads the kernels of one unit with other arguments."""
        unwanted = frozenset(others) - {start}

        def read_anew(kernel: Kernel, arguments: Mapping[str, int]) -> Kernel | None:
            insisted = given.insisting(kernel.builder or kernel.name, arguments)
            for place, kernels in version.kernels(unwanted, insisted, self._library):
                if place == start:
                    return next((one for one in kernels if one.span == kernel.span), None)
            return None

        return read_anew

    def _joined(self, source: SourceText) -> SourceText:
        return self._library.joined(source) if self._library is not None else source

    def _recall(
        self, source: SourceText, unit: Unit, wanted: _Wanted
    ) -> tuple[Checked, tuple[Answered, ...]] | None:
        """Return what is kept of a unit, and what its modules were asked, if all that holds."""
        key = (unit.key, *wanted.key)
        found = self._kept.get(key) if unit.is_settled else None
        if found is None:
            return None
        if self._library and not self._library.holds(found.of_modules):
            self._kept.forget(key)  # the texts that its places are in are forgotten, too
            return None
        if wanted.run_while is not None and not found.is_run:
            return None
        kept = found.checked
        places = _Places(unit.parts)
        for asked in kept.asked:
            if (
                self._answer(source, asked.question, places.moved_to_text(asked.about))
                != asked.answer
            ):
                return None
        findings = tuple(finding.moved(places.to_text) for finding in kept.findings)
        again = Checked(findings, is_complete=kept.is_complete, unread=kept.unread)
        return again, found.of_modules

    def _answer(self, source: SourceText, question: Question, about: object) -> object:
        """Return an answer about the whole text, which many kernels may have asked for."""
        key = (question, about)
        if key not in self._answers:
            self._answers[key] = question(source, about)
        return self._answers[key]

    def _keep(self, unit: Unit, wanted: _Wanted, checked: Checked) -> None:
        if not unit.is_settled or checked.failures:
            return
        places = _Places(unit.parts)
        try:
            findings = tuple(finding.moved(places.from_text) for finding in checked.findings)
            asked = tuple(
                replace(one, about=places.moved_from_text(one.about)) for one in checked.asked
            )
        except _ElsewhereError:
            return  # it speaks of a place that may move by itself
        of_modules = self._library.asked if self._library is not None else ()
        kept = Checked(findings, (), asked, checked.is_complete, checked.unread)
        one = _Kept(kept, of_modules, wanted.run_while is not None)
        own, *_ = unit.parts
        self._kept.put((unit.key, *wanted.key), one, own.end - own.start)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What one unit gave, its places counted among its parts, and what modules were asked.

    `is_run` says that its kernels have been run.
    """

    checked: Checked
    of_modules: tuple[Answered, ...]
    is_run: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What an analysis depends on besides the text and its modules."""

    selection: Selection
    given: Given
    run_while: RunWhile | None = always

    @property
    def key(self) -> tuple[object, ...]:
        """What two analyses of one text must have in common; spelled, for `1 == True == 1.0`."""
        return self.selection, repr(self.given)


class _ElsewhereError(Exception):
    """A place lies in none of the parts, or in two."""


class _Places:
    """Counts bytes as if the parts of a text stood one after another, a byte between them."""

    def __init__(self, parts: Sequence[Span]) -> None:
        self._shifts: list[tuple[Span, int]] = []
        offset = 0
        for part in parts:
            self._shifts.append((part, offset - part.start))
            offset += part.end - part.start + 1

    def from_text(self, span: Span) -> Span:
        """Return the place of a span of the text among the parts; one in a module stays."""
        if is_elsewhere(span):
            return span
        shifts = {shift for part, shift in self._shifts if part.contains(span)}
        if len(shifts) != 1:
            raise _ElsewhereError
        return span.moved(shifts.pop())

    def to_text(self, span: Span) -> Span:
        """Return where a place among the parts is in the text."""
        if is_elsewhere(span):
            return span
        shift = next(by for part, by in self._shifts if part.moved(by).contains(span))
        return span.moved(-shift)

    def moved_from_text(self, about: object) -> object:
        """Return a value, moved among the parts if it is a place."""
        return self.from_text(about) if isinstance(about, Span) else about

    def moved_to_text(self, about: object) -> object:
        """Return a value, moved into the text if it is a place."""
        return self.to_text(about) if isinstance(about, Span) else about
