"""A problem of one kernel as Markdown, for its author to read, edit and give to others."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens import __version__
from tirx_lens.model.symptom import Symptom
from tirx_lens.problem.scrub import Kind, Language
from tirx_lens.problem.sources import common_folder
from tirx_lens.report.worksheet import as_markdown as worksheet_as_markdown
from tirx_lens.report.worksheet_places import Sheets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.result import BuildResult, HostReport
    from tirx_lens.problem.gather import Problem
    from tirx_lens.problem.scrub import Scrubber

_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*#(?:C\d+)?L\d+\)")
_HEADING = re.compile(r"(?m)^#")
_BACKTICKS = re.compile(r"`{3,}")

_ASKED = {
    Symptom.BUILD: "What does TVM or the CUDA compiler say?",
    Symptom.DEADLOCK: "After how long was it killed? Does it hang each time, at each size?",
    Symptom.CRASH: "What does the runtime say? Was it a new process?",
    Symptom.WRONG_ROWS: "Which rows or tiles are wrong, by how much, in which runs?",
    Symptom.NAN: "Where are the first NaN? Do the inputs hold any?",
    Symptom.SLOW: "How fast is it, how fast should it be, and how was it measured?",
}


def as_markdown(problem: Problem, scrubber: Scrubber | None) -> str:
    """Return the report; without a `scrubber` everything stays as it is."""
    return _Writer(problem, scrubber).text()


class _Writer:
    def __init__(self, problem: Problem, scrubber: Scrubber | None) -> None:
        self._problem = problem
        self._scrubber = scrubber

    def text(self) -> str:
        """Write all sections; what was left out is known last, and told at the end."""
        body = "\n".join(
            line
            for section in (
                self._what(),
                self._environment(),
                self._findings(),
                self._kernel(),
                self._checks(),
                self._cuda(),
                self._worksheet(),
            )
            for line in section
        )
        left = "\n".join(self._left_out())
        return f"{body.rstrip()}\n\n{left.rstrip()}\n"

    def _clean(self, text: str, language: Language = Language.PROSE) -> str:
        return text if self._scrubber is None else self._scrubber.scrub(text, language)

    def _code(self, text: str) -> str:
        """Scrub words of the kernel as its listing is, so that they are found there."""
        return self._clean(text, Language.PYTHON)

    def _what(self) -> Iterator[str]:
        problem = self._problem
        yield from (
            f"# {problem.symptom.headline} in TIRx kernel `{self._code(problem.builder)}`",
            "",
        )
        yield from (
            "> Drafted by TIRx Lens. Read and edit it before you give it to anybody; it was sent "
            "nowhere.",
            "",
        )
        yield from ("## What happens", "", f"Class of failure: {problem.symptom.title}.", "")
        yield from (f"<!-- {_ASKED[problem.symptom]} -->", "")
        spelled = ", ".join(f"{name}={value!r}" for name, value in problem.arguments.items())
        call = self._code(f"{problem.builder}({spelled})")
        yield from (f"Smallest arguments that show it: `{call}` ({problem.choice}).", "")

    def _environment(self) -> Iterator[str]:
        looked = self._problem.looked
        yield from ("## Environment", "", "| | |", "|---|---|")
        for name, value in environment_rows(self._problem, with_paths=self._scrubber is None):
            yield f"| {name} | {_cell(self._clean(value))} |"
        yield ""
        if looked.reason:
            yield from (self._clean(looked.reason), "")

    def _findings(self) -> Iterator[str]:
        problem = self._problem
        source = problem.sources.entry.source
        yield from ("## What TIRx Lens finds", "")
        for finding in problem.analysis.findings:
            line = source.line_of(finding.span.start) + 1
            level = finding.severity.value
            yield self._clean(f"- line {line}: {finding.code} {level}: {finding.message}")
        if not problem.analysis.findings:
            yield "Nothing, in the text of the kernel below."
        yield ""
        for diagnostic in problem.looked.result.diagnostics if problem.looked.result else ():
            said = f"- when built ({diagnostic.stage.value}): {diagnostic.message}"
            yield self._clean(said)
            if diagnostic.detail:
                yield from ("", *self._block(diagnostic.detail, "text", Language.PROSE))
            yield ""

    def _kernel(self) -> Iterator[str]:
        files = self._problem.sources.files
        folder = common_folder(files)
        yield from (
            "## Kernel",
            "",
            "The builder and what it needs. Lines are counted within each listing.",
            "",
        )
        for file in files:
            name = file.path.removeprefix(folder).lstrip("/\\")
            some = "1 statement" if file.left_out == 1 else f"{file.left_out} statements"
            left = f" ({some} left out)" if file.left_out else ""
            yield from (f"### {self._clean(name)}{left}", "")
            yield from self._block(file.source.text, "python", Language.PYTHON)
            yield ""

    def _checks(self) -> Iterator[str]:
        yield from ("## How it is called", "")
        checks = self._problem.sources.checks
        if not checks:
            yield from ("<!-- Add the test or script that shows the problem. -->", "")
        for check in checks:
            yield from (*self._block(check, "python", Language.PYTHON), "")

    def _cuda(self) -> Iterator[str]:
        yield from ("## Generated CUDA", "")
        looked = self._problem.looked
        kernels = looked.result.kernels if looked.result is not None else ()
        if not kernels:
            why = self._clean(looked.reason) or "The kernel was not built."
            yield from (f"None: {why[:1].lower()}{why[1:]}", "")
        for kernel in kernels:
            yield from (f"<details><summary>{self._code(kernel.name)}</summary>", "")
            yield from (*self._block(kernel.cuda, "cuda", Language.CUDA), "", "</details>", "")

    def _worksheet(self) -> Iterator[str]:
        path = Path(Path(self._problem.sources.entry.path).name)
        written = worksheet_as_markdown(Sheets(path, self._problem.worksheet))
        plain = _LINK.sub(r"\1", written).split("\n", 1)[-1].strip()
        yield from ("## Worksheet", "", "Numbers are lines of the listing above.", "")
        yield from (_HEADING.sub("##", self._clean(plain)), "")

    def _left_out(self) -> Iterator[str]:
        yield from ("## Left out", "")
        if self._scrubber is None:
            yield "Nothing: paths, host names and user names are kept, as you chose."
            return
        counts = self._scrubber.counts
        if not any(counts.values()):
            yield "No path, host name, user name or value of the environment was in it."
            return
        yield "These were taken out, here and in all listings:"
        yield ""
        for kind in Kind:
            if counts[kind]:
                names = ", ".join(f"`{name}`" for name in sorted(self._scrubber.variables))
                of = f" ({names})" if kind is Kind.VALUE else ""
                yield f"- {kind.value}{of}: {counts[kind]}×"

    def _block(self, text: str, language: str, kind: Language) -> Iterator[str]:
        clean = self._clean(text, kind).rstrip("\n")
        longest = max((len(run) for run in _BACKTICKS.findall(clean)), default=2)
        fence = "`" * (longest + 1)
        yield from (f"{fence}{language}", clean, fence)


def environment_rows(problem: Problem, *, with_paths: bool) -> list[tuple[str, str]]:
    """Return what is known of where the kernel is built: names and values, not scrubbed."""
    looked = problem.looked
    rows = [("TIRx Lens", __version__)]
    if problem.editor:
        rows.append(("editor", problem.editor))
    if looked.host is not None:
        rows += _host_rows(looked.host, with_paths=with_paths)
    else:
        rows += [(name, "not asked") for name in ("Python", "TVM", "GPU", "CUDA compiler")]
    if looked.result is not None:
        rows += _build_rows(looked.result)
    if looked.host is None or not looked.host.hostname:
        rows.append(("system", f"{platform.system()} {platform.machine()}"))
    return rows


def _host_rows(host: HostReport, *, with_paths: bool) -> Iterator[tuple[str, str]]:
    environment = host.environment
    at = f" at {environment.executable}" if with_paths else ""
    yield "Python", f"{environment.python_version}{at}"
    if environment.tvm_version is not None:
        at = f" at {environment.tvm_path}" if with_paths else ""
        yield "TVM", f"{environment.tvm_version}{at}"
    else:
        yield "TVM", f"none: {environment.reason or 'not found'}"
    if host.shadowing:
        yield "TVM shadowed by", f"{len(host.shadowing)} other folders that `import tvm` may find"
    for gpu in host.gpus:
        major, minor = gpu.capability
        yield "GPU", f"{gpu.name}, compute capability {major}.{minor} ({gpu.arch})"
    for driver in dict.fromkeys(gpu.driver for gpu in host.gpus if gpu.driver):
        yield "driver", driver
    if not host.gpus:
        yield "GPU", host.gpu_problem or "none here"
    yield "CUDA compiler", host.nvcc or host.nvrtc or "none"
    if host.torch_version:
        yield "torch", host.torch_version


def _build_rows(result: BuildResult) -> Iterator[tuple[str, str]]:
    for kernel in result.kernels[:1]:
        yield "built for", kernel.target
        if kernel.machine is not None and kernel.machine.compiler:
            yield "compiled by", kernel.machine.compiler


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
