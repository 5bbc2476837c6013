"""The report of a problem: what it holds, and that no name is in it, wherever one came in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tirx_lens.compile.builders import ArgumentSet, Builder, find_builders
from tirx_lens.compile.result import (
    BuildDiagnostic,
    BuildResult,
    Environment,
    Gpu,
    HostReport,
    KernelResult,
    Severity,
    Stage,
)
from tirx_lens.model.given import Given
from tirx_lens.model.source import SourceText
from tirx_lens.model.symptom import Symptom
from tirx_lens.problem.gather import Looked, Problem, chosen_arguments, gather
from tirx_lens.problem.scrub import Scrubber
from tirx_lens.problem.secrets import Secrets
from tirx_lens.report.problem import as_markdown
from tirx_lens.report.problem_json import as_json
from tirx_lens.worker.messages import MachineCode
from tirx_lens.workspace import SourceCache, WorkspaceModules

RING = (Path(__file__).parents[2] / "kernels" / "tma_ring_copy.py").read_text("utf-8")
HOME, USER, HOST = "/home/ada.lovelace", "lovelace", "babbage-7"
FOLDER = f"{HOME}/engines"
NAMES = f"{FOLDER}/x.py by {USER} on {HOST}.corp.example, {HOME}/key file://{FOLDER}/y.py"
SECRETS = Secrets((FOLDER,), (HOME,), (HOST,), (USER, "ada.lovelace"), (("K", "s3cret-value"),))


def builder_of(text: str) -> Builder:
    return find_builders(text)[0].with_given(Given())


def problem_of(text: str, looked: Looked, folder: Path, **more: object) -> Problem:
    path = folder / "ring.py"
    path.write_text(text, "utf-8")
    return gather(
        *(str(path), SourceText(text), builder_of(text), Symptom.DEADLOCK, Given()),
        *(WorkspaceModules(path, SourceCache()), looked),
        **more,  # type: ignore[arg-type]
    )


def built(cuda: str = "// cuda") -> Looked:
    environment = Environment("3.12.1", f"{HOME}/bin/python", "0.27.0", f"{HOME}/tvm/__init__.py")
    host = HostReport(
        environment, f"{HOST}.corp.example", 0.0, gpus=(Gpu("NVIDIA B200", (10, 0), "580.65.06"),),
        torch_version="2.11", nvcc=f"nvcc 13.0 at {HOME}/cuda/bin/nvcc",
    )  # fmt: skip
    kernel = KernelResult(
        "kernel", "ring_copy", {}, cuda, "0.27.0", "sm_100a",
        machine=MachineCode(compiler="NVRTC 13.5"),
    )  # fmt: skip
    said = BuildDiagnostic(Severity.WARNING, Stage.COMPILE, f"a warning of {NAMES}", NAMES)
    return Looked(host, BuildResult((kernel,), (said,)))


def test_a_report_holds_what_the_guide_asks_for(tmp_path: Path) -> None:
    broken = RING.replace("empty.init(CONSUMER)", "empty.init(64)")
    problem = problem_of(broken, built("__global__ void kernel() {}"), tmp_path, editor="Code 1.9")
    text = as_markdown(problem, None)
    for heading in (
        "# Deadlock in TIRx kernel `ring_copy`", "## What happens", "## Environment",
        "## What TIRx Lens finds", "## Kernel", "## How it is called", "## Generated CUDA",
        "## Worksheet", "## Left out",
    ):  # fmt: skip
        assert f"{heading}\n" in text, heading
    for row in (
        "| TVM | 0.27.0 at", "| Python | 3.12.1",
        "| GPU | NVIDIA B200, compute capability 10.0 (sm_100a) |",
        "| driver | 580.65.06 |", "| CUDA compiler | nvcc 13.0 at", "| compiled by | NVRTC 13.5 |",
        "| torch | 2.11 |", "| editor | Code 1.9 |", "| built for | sm_100a |",
    ):  # fmt: skip
        assert row in text, row
    assert "Class of failure: deadlock." in text
    assert "TX104 error" in text
    assert "__global__ void kernel() {}" in text
    assert "def run_correctness" in text.partition("## How it is called")[2]
    assert "def run_correctness" not in text.partition("## How it is called")[0]
    assert "#### Handoff" in text
    # Lines are those of the listing.
    listing = text.partition("```python\n")[2].partition("```")[0].splitlines()
    line = next(n for n, words in enumerate(listing, 1) if "empty.arrive(" in words)
    assert f"- line {line}: TX104" in text


def test_no_name_is_in_it_wherever_one_came_in(tmp_path: Path) -> None:
    source = RING.replace("    TILES = COLS // BN\n", f"    TILES = COLS // BN  # {NAMES}\n")
    source = source.replace("DEPTH = 4 ", f'NOTE = "{NAMES} s3cret-value"\nDEPTH = 4 ')
    source = source.replace("T.device_entry()", "T.device_entry()\n        NOTE")
    source = source.replace("def run_correctness(", f"# {NAMES}\ndef run_correctness(")
    source = source.replace("ROWS=1024", f'lovelace="{FOLDER}/z" ROWS=1024')
    assert source.count(HOST) == 3
    cuda = f"// {NAMES}\nint lovelace_tile; /* s3cret-value {NAMES} */\n"
    problem = problem_of(source, built(cuda), tmp_path, insisted={"note": f"{FOLDER}/n"})
    scrubber = Scrubber(SECRETS, problem.calls)
    clean = as_markdown(problem, scrubber).lower()
    for name in ("lovelace", "babbage", "corp.example", "engines", "/home/", "s3cret"):
        assert name not in clean, clean[max(0, clean.index(name) - 200) : clean.index(name) + 60]
    assert str(tmp_path) not in clean
    left = clean.partition("## left out")[2]
    for kind in ("path of the workspace", "host name", "user name", "value of an environment"):
        assert kind in left
    kept = as_markdown(problem, None)
    assert HOST in kept
    assert "are kept, as you chose" in kept
    plain = as_json(problem, Scrubber(SECRETS, problem.calls)).lower()
    for name in ("lovelace", "babbage", "corp.example", "engines", "/home/", "s3cret"):
        assert name not in plain, plain[max(0, plain.index(name) - 200) : plain.index(name) + 60]
    assert str(tmp_path) not in plain
    told = json.loads(plain)
    assert {"workspace", "host", "user", "value"} <= told["left_out"]["counts"].keys()
    assert told["left_out"]["variables"] == ["k"]
    assert HOST in as_json(problem, None)


def test_a_name_of_the_user_in_the_kernel_is_another_name_everywhere(tmp_path: Path) -> None:
    text = RING.replace("ring_copy", "lovelace_copy")
    looked = built()
    assert looked.result is not None
    kernel = replace(looked.result.kernels[0], name="lovelace_kernel")
    looked = replace(looked, result=replace(looked.result, kernels=(kernel,)))
    problem = problem_of(text, looked, tmp_path)
    written = as_markdown(problem, Scrubber(SECRETS, problem.calls))
    assert "# Deadlock in TIRx kernel `user_copy`" in written
    assert "`user_copy(ROWS=1024, COLS=512)`" in written
    assert "def user_copy(" in written
    assert "<summary>user_kernel</summary>" in written
    told = json.loads(as_json(problem, Scrubber(SECRETS, problem.calls)))
    assert told["builder"] == told["worksheet"]["kernels"][0]["builder"] == "user_copy"
    assert "def user_copy(" in told["listings"][0]["text"]
    assert told["cuda"][0]["kernel"] == "user_kernel"


def test_the_json_says_what_the_report_does(tmp_path: Path) -> None:
    broken = RING.replace("empty.init(CONSUMER)", "empty.init(64)")
    problem = problem_of(broken, built("__global__ void kernel() {}"), tmp_path, editor="Code 1.9")
    told = json.loads(as_json(problem, Scrubber(SECRETS, problem.calls)))
    rows = {row["name"]: row["value"] for row in told["environment"]}
    assert rows["TVM"] == "0.27.0"
    assert rows["driver"] == "580.65.06"
    assert rows["editor"] == "Code 1.9"
    assert (told["symptom"], told["arguments"]) == ("deadlock", {"ROWS": 1024, "COLS": 512})
    (listing,) = told["listings"]
    assert listing["filename"] == "ring.py"
    lines = listing["text"].splitlines()
    found = {one["code"]: one for one in told["findings"]}
    arrive = found["TX104"]
    assert "empty.arrive(" in lines[arrive["location"]["row"] - 1]
    assert arrive["location"].keys() == {"row"}  # the line may have changed its length
    assert arrive["filename"] == "ring.py"
    assert told["worksheet"]["kernels"][0]["place"]["filename"] == "ring.py"
    assert told["cuda"] == [{"kernel": "kernel", "text": "__global__ void kernel() {}"}]
    assert [one["stage"] for one in told["diagnostics"]] == ["compile"]
    assert "def run_correctness" in told["calls"][0]
    kept = json.loads(as_json(problem, None))
    assert kept["left_out"] is None
    place = next(one for one in kept["findings"] if one["code"] == "TX104")["location"]
    assert lines[place["row"] - 1][place["column"] - 1 :].startswith("empty.arrive(")


def test_the_names_of_tvm_stay_whatever_the_user_is_called(tmp_path: Path) -> None:
    problem = problem_of(RING, built(), tmp_path)
    assert {"ptx", "elect_sync", "copy_async"} <= problem.calls
    text = as_markdown(problem, Scrubber(Secrets(users=("elect_sync", "ptx")), problem.calls))
    assert "T.cuda.elect_sync()" in text
    assert "T.ptx.fence" in text


def test_what_was_not_run_is_said(tmp_path: Path) -> None:
    text = as_markdown(problem_of(RING, Looked(reason="It was not built: X."), tmp_path), None)
    assert "| GPU | not asked |" in text
    assert "None: it was not built: X." in text


def test_fences_are_longer_than_those_in_the_text(tmp_path: Path) -> None:
    text = RING.replace('"""Build the kernel', '"""````python Build the kernel')
    assert "`````python" in as_markdown(problem_of(text, built(), tmp_path), None)


def test_the_smallest_known_arguments_are_taken_unless_the_user_says() -> None:
    builder = builder_of(RING)
    assert chosen_arguments(builder, None, {})[0] == {"ROWS": 1024, "COLS": 512}
    sets = tuple(
        ArgumentSet(label, {"M": m, "N": n, "fast": True})
        for label, m, n in (
            ("comment", 512, 512),
            ("comment 2", 128, 256),
            ("configuration", 8192, 1024),
        )
    )
    many = replace(builder, sets=sets, arguments=sets[0].arguments)
    arguments, said = chosen_arguments(many, None, {})
    assert arguments["M"] == 128
    assert said == "the smallest of 3 sets that are known (comment 2)"
    assert chosen_arguments(many, "configuration", {})[0]["M"] == 8192
    assert chosen_arguments(many, None, {"M": 64}) == (
        {"M": 64, "N": 256, "fast": True},
        "given for this report",
    )
    bare = replace(builder, sets=(), arguments={})
    assert "not known: ROWS, COLS" in chosen_arguments(bare, None, {})[1]
