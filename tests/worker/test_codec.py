"""Wire dataclasses to JSON and back."""

import json

import pytest

from tirx_lens.worker.codec import decode, encode
from tirx_lens.worker.messages import (
    BuildDiagnostic,
    BuildRequest,
    BuildResult,
    Frame,
    Gpu,
    KernelResult,
    Launch,
    Limits,
    MapEntry,
    Resources,
    Severity,
    SourceFile,
    Stage,
    Via,
)

REQUEST = BuildRequest(
    "/w/k.py",
    (SourceFile("/w/k.py", "x = '量'\n"),),
    ("/w",),
    builder="build",
    args={"M": 1024, "scale": 0.5, "fast": True, "mode": "wide", "extra": None},
    config="wide",
    source_map=False,
    limits=Limits(2.5, 1 << 30),
)
RESULT = BuildResult(
    (
        KernelResult(
            "k",
            None,
            {"M": 1},
            "// 量",
            "0.27.0",
            "sm_100a",
            (MapEntry(3, (Frame("/w/k.py", 7, 9),), Via.STATEMENT),),
            Launch((None, 2, 1), (128, 1, 1), (1, 1, 1)),
            Resources(1024, None),
            "wide",
        ),
    ),
    (BuildDiagnostic(Severity.WARNING, Stage.PARSE, "m", "d", "/w/k.py", 1, 2),),
    "printed",
)


@pytest.mark.parametrize("value", [REQUEST, RESULT, Gpu("NVIDIA B200", (10, 0))])
def test_round_trip(value: BuildRequest | BuildResult | Gpu) -> None:
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


def test_kinds_of_numbers_survive() -> None:
    args = decode(BuildRequest, json.loads(json.dumps(encode(REQUEST)))).args
    assert [type(item) for item in args.values()] == [int, float, bool, str, type(None)]


def test_a_whole_number_is_a_fine_time_limit() -> None:
    assert decode(Limits, {"time_seconds": 3}) == Limits(3.0)


def test_fields_of_a_later_release_are_ignored_and_missing_ones_take_their_default() -> None:
    assert decode(Frame, {"file": "f", "line": 1, "end_line": 2, "later": []}) == Frame("f", 1, 2)
    assert decode(Resources, {}) == Resources(None, None)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Frame, {"file": "f", "line": "1", "end_line": 2}),
        (Frame, {"file": "f", "line": True, "end_line": 2}),
        (Frame, {"file": "f"}),
        (Frame, []),
        (Gpu, {"name": "NVIDIA B200", "capability": [10]}),
        (Gpu, {"name": "NVIDIA B200", "capability": [10, 0, 0]}),
        (BuildResult, {"kernels": {}}),
        (BuildRequest, {"entry": "e", "files": [], "args": {"M": []}}),
        (BuildDiagnostic, {"severity": "loud", "stage": "parse", "message": ""}),
    ],
)
def test_what_is_not_such_a_value_is_refused(kind: type, data: object) -> None:
    with pytest.raises(ValueError):
        decode(kind, data)
