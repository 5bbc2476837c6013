from __future__ import annotations

import pytest

from tirx_lens.build_environment import environment_findings, generation_finding
from tirx_lens.compile.result import BuildDiagnostic, Severity, Stage
from tirx_lens.model import finding as model
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.source import SourceText

HEAD = "import numpy as np\nfrom tvm.script import tirx as T  \nimport tvm\n"
OLDER = SourceText(HEAD + "T.ptx.elect_sync()\n")
NEUTRAL = SourceText(HEAD + "T.cuda.cta_sync()\n")


def text_of(finding: model.Finding, source: SourceText) -> str:
    return source.data[finding.span.start : finding.span.end].decode()


def test_what_the_environment_lacks_stands_at_the_import_of_tvm() -> None:
    said = (
        BuildDiagnostic(Severity.ERROR, Stage.ENVIRONMENT, "There is no TVM.", "at length"),
        BuildDiagnostic(Severity.WARNING, Stage.COMPILE, "The GPU is an H100.", rule="TX507"),
        BuildDiagnostic(Severity.ERROR, Stage.WORKER, "The worker ended."),
        BuildDiagnostic(Severity.NOTE, Stage.ENVIRONMENT, "A note."),
    )
    findings = environment_findings(said, NEUTRAL)
    assert [finding.message for finding in findings] == ["There is no TVM.", "The GPU is an H100."]
    assert findings[0].detail == "at length"
    for finding in findings:
        assert (finding.code, finding.severity) == ("TX507", model.Severity.WARNING)
        assert text_of(finding, NEUTRAL) == "from tvm.script import tirx as T"


@pytest.mark.parametrize("text", ["", "x = 1\n", "import tvmc\n", "# import tvm\r\n"])
def test_without_such_an_import_it_is_at_the_first_line(text: str) -> None:
    source = SourceText(text)
    said = BuildDiagnostic(Severity.ERROR, Stage.ENVIRONMENT, "There is no TVM.")
    (finding,) = environment_findings([said], source)
    assert text_of(finding, source) == text.strip()


@pytest.mark.parametrize(
    ("version", "given", "source", "wanted"),
    [
        ("0.27.0", None, OLDER, "TVM 0.26 or older"),
        ("0.26.1", None, OLDER, None),
        ("0.27.0", None, NEUTRAL, None),
        ("0.26.1", TvmVersion.V0_27, NEUTRAL, "TVM 0.27"),
        ("0.28.dev1", TvmVersion.V0_26, NEUTRAL, "TVM 0.26"),
        ("0.25.0", TvmVersion.V0_26, NEUTRAL, None),
        ("0.27.0", TvmVersion.V0_27, OLDER, None),
        ("unknown", None, OLDER, None),
        (None, None, OLDER, None),
    ],
)
def test_a_text_for_another_generation(version, given, source, wanted) -> None:
    finding = generation_finding(version, given, source)
    if wanted is None:
        assert finding is None
    else:
        assert f"TVM {version} did not build this file" in finding.message
        assert f"written for {wanted}:" in finding.message
