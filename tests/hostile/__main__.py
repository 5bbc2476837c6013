"""Analyse hostile texts in a process of bounded memory: `python -m tests.hostile GROUP SIZE`.

Writes a JSON line for each: its name, its bytes, the seconds of processor time, what failed, and
the findings as [code, severity]. With `calls` at the end, how many functions were called stands in
the place of the seconds: a measure of the work that no other process can change.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from tirx_lens.analysis import Analysis, analyse
from tirx_lens.incremental import Analyser
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel

from . import texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

T = TypeVar("T")
MEMORY = 2 << 30
EDITED = 1 << 17  # texts up to so many characters are analysed as versions of a document, too


def calls_of(work: Callable[[], T]) -> tuple[T, int]:
    """Do some work; return what it gives and how many functions it called, C's among them."""
    count = 0

    def note(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        return work(), count
    finally:
        sys.setprofile(None)


def seconds_of(work: Callable[[], T]) -> tuple[T, float]:
    """Do some work; return what it gives and the seconds of processor time it took."""
    started = time.process_time()
    return work(), time.process_time() - started


def main(group: str, size: int, *, count_calls: bool) -> None:
    """Analyse a group of texts, each of about `size` of what it repeats."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    analyse(SourceText(in_kernel("x = 1\n")))  # what is set up once is not counted
    for name, made in getattr(texts, group).items():
        text = made if isinstance(made, str) else made(size)
        cost_of = calls_of if count_calls else seconds_of
        analysis, cost = cost_of(partial(analysed, name, text))
        found = [[finding.code, finding.severity.value] for finding in analysis.findings]
        row = [name, len(text), cost, list(analysis.failures), found[:20]]
        print(json.dumps(row), flush=True)


def analysed(name: str, text: str) -> Analysis:
    """Analyse a text, if it is not too long as versions of a document, too."""
    source = SourceText(text)
    analysis = analyse(source)
    if len(text) <= EDITED:
        analyser = Analyser()
        for version in (source, SourceText("\n" + text), source):
            remembered = analyser.analyse(version)
        assert remembered == analysis, name
    return analysis


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), count_calls=sys.argv[3:] == ["calls"])
