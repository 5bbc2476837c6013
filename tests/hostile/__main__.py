"""Analyse hostile texts in a process of bounded memory: `python -m tests.hostile GROUP SIZE`.

Writes a JSON line for each: its name, its bytes, the seconds of processor time, what failed, and
the findings as [code, severity].
"""

from __future__ import annotations

import json
import resource
import sys
import time

from tirx_lens.analysis import analyse
from tirx_lens.incremental import Analyser
from tirx_lens.model.source import SourceText
from tirx_lens.rules.examples import in_kernel

from . import texts

MEMORY = 2 << 30
EDITED = 1 << 17  # texts up to so many characters are analysed as versions of a document, too


def main(group: str, size: int) -> None:
    """Analyse a group of texts, each of about `size` of what it repeats."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    analyse(SourceText(in_kernel("x = 1\n")))  # what is set up once is not counted
    for name, made in getattr(texts, group).items():
        text = made if isinstance(made, str) else made(size)
        started = time.process_time()
        source = SourceText(text)
        analysis = analyse(source)
        if len(text) <= EDITED:
            analyser = Analyser()
            for version in (source, SourceText("\n" + text), source):
                remembered = analyser.analyse(version)
            assert remembered == analysis, name
        seconds = time.process_time() - started
        found = [[finding.code, finding.severity.value] for finding in analysis.findings]
        row = [name, len(text), seconds, list(analysis.failures), found[:20]]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
