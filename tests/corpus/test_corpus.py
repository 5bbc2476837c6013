"""Real kernels, presumed correct: no error and no warning in any of them.

The sources are those of the wheel `tirx-kernels`, unpacked by `make`; nothing is imported.
"""

from __future__ import annotations

from pathlib import Path

from tirx_lens.analysis import analyse
from tirx_lens.files import find_files, read_source
from tirx_lens.model.finding import Severity
from tirx_lens.model.source import SourceText

CORPUS = Path(__file__).parents[2] / ".build" / "corpus"
LOUD = (Severity.ERROR, Severity.WARNING)


def test_the_corpus_is_quiet() -> None:
    files = [path for path in find_files([CORPUS]) if isinstance(path, Path)]
    assert len(files) == 246, "unpack the corpus with: make corpus"
    for path in files:
        source = read_source(path)
        assert isinstance(source, SourceText), path
        analysis = analyse(source)
        assert not analysis.failures, path
        loud = [finding for finding in analysis.findings if finding.severity in LOUD]
        assert not loud, (path, loud[0].message)
