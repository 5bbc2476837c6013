"""A problem of one kernel as JSON: what its report in Markdown says, for programs.

What the report leaves out is left out here in the same way. Places are those of `json_places` in
the listings, which are named as in the report; where anything may be left out they have no columns,
for names of another length may stand in a line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tirx_lens.problem.scrub import Kind, Language
from tirx_lens.problem.sources import common_folder
from tirx_lens.report.checked import CheckedFile
from tirx_lens.report.json import finding_json
from tirx_lens.report.problem import environment_rows
from tirx_lens.report.worksheet_json import as_value
from tirx_lens.report.worksheet_places import Sheets

if TYPE_CHECKING:
    from tirx_lens.problem.gather import Problem
    from tirx_lens.problem.scrub import Scrubber

_WORDS = ("name", "builder")
"""Members that hold a word of the kernel, as it stands in the listings."""


def as_json(problem: Problem, scrubber: Scrubber | None) -> str:
    """Return the report as one object; without a `scrubber` everything stays as it is."""
    return json.dumps(_Writer(problem, scrubber).value(), indent=2, ensure_ascii=False)


class _Writer:
    def __init__(self, problem: Problem, scrubber: Scrubber | None) -> None:
        self._problem = problem
        self._scrubber = scrubber
        files = problem.sources.files
        folder = common_folder(files)
        self._names = {file.path: file.path.removeprefix(folder).lstrip("/\\") for file in files}

    def value(self) -> dict[str, Any]:
        """Return all of it; what was left out is known last."""
        problem = self._problem
        rows = environment_rows(problem, with_paths=self._scrubber is None)
        result = problem.looked.result
        return {
            "symptom": problem.symptom.value,
            "builder": self._clean(problem.builder, Language.PYTHON),
            "arguments": {
                self._clean(name, Language.PYTHON): self._told(value)
                for name, value in problem.arguments.items()
            },
            "choice": self._clean(problem.choice),
            "environment": [{"name": name, "value": self._clean(value)} for name, value in rows],
            "reason": self._clean(problem.looked.reason),
            "findings": self._findings(),
            "diagnostics": [
                {
                    "stage": item.stage.value,
                    "severity": item.severity.value,
                    "message": self._clean(item.message),
                    "detail": self._clean(item.detail),
                }
                for item in (result.diagnostics if result is not None else ())
            ],
            "listings": self._listings(),
            "calls": [self._clean(one, Language.PYTHON) for one in problem.sources.checks],
            "cuda": [
                {
                    "kernel": self._clean(kernel.name, Language.PYTHON),
                    "text": self._clean(kernel.cuda, Language.CUDA),
                }
                for kernel in (result.kernels if result is not None else ())
            ],
            "worksheet": self._told(as_value(Sheets(self._entry, problem.worksheet))),
            "left_out": self._left_out(),
        }

    @property
    def _entry(self) -> Path:
        return Path(self._problem.sources.entry.path)

    def _findings(self) -> list[Any]:
        found = self._problem.analysis.findings
        file = CheckedFile(self._entry, self._problem.sources.entry.source, found)
        made = []
        for finding in found:
            value = finding_json(file, finding)
            del value["fix"]
            made.append(self._told(value))
        return made

    def _listings(self) -> list[dict[str, object]]:
        return [
            {
                "filename": self._clean(self._names[file.path]),
                "left_out": file.left_out,
                "text": self._clean(file.source.text, Language.PYTHON),
            }
            for file in self._problem.sources.files
        ]

    def _left_out(self) -> dict[str, Any] | None:
        if self._scrubber is None:
            return None
        counts = self._scrubber.counts
        return {
            "counts": {kind.name.lower(): counts[kind] for kind in Kind if counts[kind]},
            "variables": sorted(self._scrubber.variables),
        }

    def _told(self, value: object) -> Any:
        """Return a JSON value scrubbed, files by the names of their listings."""
        if isinstance(value, str):
            return self._clean(value)
        if isinstance(value, list):
            return [self._told(item) for item in value]
        if isinstance(value, dict):
            return {
                key: self._member(key, item)
                for key, item in value.items()
                if key != "column" or self._scrubber is None
            }
        return value

    def _member(self, key: str, value: object) -> Any:
        if isinstance(value, str):
            if key == "filename":
                return self._clean(self._names.get(value, value))
            if key in _WORDS:
                return self._clean(value, Language.PYTHON)
        return self._told(value)

    def _clean(self, text: str, language: Language = Language.PROSE) -> str:
        return text if self._scrubber is None else self._scrubber.scrub(text, language)
