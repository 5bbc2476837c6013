"""When to analyse: at once when idle, the newest text next when busy, never a stale one.

Kernels are run when typing pauses; a run is given up when its author types on.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.protocol.wanted import NoLongerWantedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.analysis import Analysis
    from tirx_lens.lsp.background import Background
    from tirx_lens.lsp.documents import Document
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.source import SourceText
    from tirx_lens.protocol.wanted import RunWhile

    Analyse = Callable[[SourceText, RunWhile | None], Analysis]

_log = logging.getLogger(__name__)

WORDS = ("tirx", "prim_func")
"""One of these is in each text that can hold a TIRx kernel."""
PAUSE = 0.3
"""Seconds without an edit after which kernels are run."""


@dataclass(frozen=True)
class Analysed:
    """A version of a document and what was found in it."""

    document: Document
    findings: tuple[Finding, ...]


class Schedule:
    """Analyses documents in the background, one version of a document at a time.

    A version submitted while another of its document is under way waits; of several, only the
    newest is analysed, with no delay by the clock. Its kernels are run after a `pause` in seconds.
    """

    def __init__(
        self,
        new_analyser: Callable[[str], Analyse],
        background: Background,
        deliver: Callable[[Analysed], None],
        pause: float = PAUSE,
    ) -> None:
        """Each document gets an analyser of its own, by its URI, and that its versions in order.

        An analyser is given a text and what says how long a run of its kernels is wanted, or None
        where they are not to be run.

        `deliver` is called on the message loop, for the newest version of a document only.
        """
        self._new_analyser = new_analyser
        self._analysers: dict[str, Analyse] = {}
        self._background = background
        self._deliver = deliver
        self._newest: dict[str, Document] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._done: dict[str, Analysed] = {}
        self._depends: dict[str, Analysis] = {}
        self._pause = pause
        self._pausing: dict[str, asyncio.Task[None]] = {}
        self._runs: dict[str, asyncio.Task[None]] = {}

    def submit(self, document: Document) -> None:
        """Have this version analysed, in place of any version not yet begun.

        One that is submitted again is analysed again: what it is analysed with may have changed.
        """
        self._newest[document.uri] = replace(document)
        self._done.pop(document.uri, None)
        self._run_no_more(document.uri)
        if document.uri not in self._running:
            self._running[document.uri] = asyncio.create_task(self._follow(document.uri))

    def forget(self, uri: str) -> None:
        """Deliver nothing more for a document, and drop what its analyser remembers."""
        self._newest.pop(uri, None)
        self._run_no_more(uri)
        self._analysers.pop(uri, None)
        self._done.pop(uri, None)
        self._depends.pop(uri, None)

    def users_of(self, path: str) -> list[str]:
        """Return the URIs of the documents whose last analysis depends on a file's text."""
        return [uri for uri, analysis in self._depends.items() if path in analysis.imported]

    def importing(self) -> list[str]:
        """Return the URIs of the documents that depend on which modules there are, and where."""
        return [
            uri
            for uri, analysis in self._depends.items()
            if analysis.imported or analysis.lacks_modules
        ]

    async def newest(self, uri: str) -> Analysed | None:
        """Return the analysis of the newest version, waiting for it; None if there will be none."""
        while (task := self._running.get(uri)) is not None:
            # Shielded: the editor may cancel whoever waits, which must not stop the analysis.
            await asyncio.shield(task)
        return self._done.get(uri)

    def done(self, uri: str) -> Analysed | None:
        """Return the analysis of the newest version if there is one already."""
        return self._done.get(uri)

    def close(self) -> None:
        """Stop following documents. A running analysis ends by itself, undelivered."""
        self._newest.clear()
        for task in (*self._running.values(), *self._pausing.values()):
            task.cancel()

    async def _follow(self, uri: str) -> None:
        try:
            while (document := self._newest.get(uri)) is not None:
                if (run := self._runs.get(uri)) is not None:
                    await asyncio.shield(run)  # an analyser does one thing at a time
                findings = await self._findings_in(document, None)
                if self._newest.get(uri) is document:
                    self._done[uri] = Analysed(document, findings)
                    self._deliver(self._done[uri])
                    if uri in self._analysers:
                        self._pausing[uri] = asyncio.create_task(self._run_later(document))
                    return
        except Exception as error:  # one that could not be delivered must not stop the next
            _log.exception("could not report on %s: %s: %s", uri, type(error).__name__, error)
        finally:
            self._running.pop(uri, None)

    def _run_no_more(self, uri: str) -> None:
        """Let no run begin for a version that is not the newest; one under way ends by itself."""
        if (task := self._pausing.pop(uri, None)) is not None:
            task.cancel()

    async def _run_later(self, document: Document) -> None:
        """Run the kernels of a version once no other has come for a while."""
        await asyncio.sleep(self._pause)
        uri = document.uri
        self._runs[uri] = self._pausing.pop(uri)
        try:
            findings = await self._findings_in(document, lambda: self._newest.get(uri) is document)
            if self._newest.get(uri) is document and findings != self._done[uri].findings:
                self._done[uri] = Analysed(document, findings)
                self._deliver(self._done[uri])
        except NoLongerWantedError:
            _log.debug("%s was edited while its kernels ran", uri)
        except Exception as error:
            _log.exception("could not report on %s: %s: %s", uri, type(error).__name__, error)
        finally:
            self._runs.pop(uri, None)

    async def _findings_in(
        self, document: Document, run_while: RunWhile | None
    ) -> tuple[Finding, ...]:
        if not mentions_tirx(document.source):
            return ()
        if document.uri not in self._analysers:
            self._analysers[document.uri] = self._new_analyser(document.uri)
        analyse = self._analysers[document.uri]
        try:
            analysis = await self._background.run(lambda: analyse(document.source, run_while))
        except NoLongerWantedError:
            raise
        except Exception as error:
            _log.exception(
                "could not analyse %s: %s: %s", document.uri, type(error).__name__, error
            )
            return ()
        before = self._depends.get(document.uri)
        if document.uri in self._newest:  # it may have been closed meanwhile
            self._depends[document.uri] = analysis
        if before is None or before.unread != analysis.unread:
            for kernel, reason in analysis.unread:
                _log.info("kernel %s of %s is not checked: %s", kernel, document.uri, reason)
        for code, reason in analysis.failures:
            _log.error("%s failed on %s: %s", code, document.uri, reason)
        return analysis.findings


def mentions_tirx(source: SourceText) -> bool:
    """Tell whether a text can hold a TIRx kernel at all: most Python files never say the word."""
    return any(word in source.text for word in WORDS)
