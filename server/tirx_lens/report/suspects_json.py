"""The guide from a symptom as JSON: the suspects of each kernel in the order in which to look.

Places are those of `json_places`; `fact`, `means` and `check` have names of code in backticks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tirx_lens.report.json_places import place_in
from tirx_lens.report.worksheet_places import Places

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.suspects.guide import Guide
    from tirx_lens.suspects.suspect import KernelSuspects, Suspect


def as_json(path: Path, guide: Guide) -> str:
    """Return the guide for the kernels of a file, which is named by `path`, as one object."""
    places = Places(path, guide.source)
    value = {
        "filename": str(path),
        "symptom": guide.symptom.value,
        "has_syntax_errors": guide.has_errors,
        "is_built": guide.is_built,
        "kernels": [_kernel(kernel, places) for kernel in guide.kernels],
        "failures": [{"part": part, "reason": reason} for part, reason in guide.failures],
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def _kernel(kernel: KernelSuspects, places: Places) -> dict[str, object]:
    return {
        "name": kernel.name,
        "builder": kernel.builder,
        "is_whole": kernel.is_whole,
        "place": place_in(*places.holder_of(kernel.place)),
        "suspects": [_suspect(one, places) for one in kernel.suspects],
        "others": [_suspect(one, places) for one in kernel.others],
    }


def _suspect(one: Suspect, places: Places) -> dict[str, object]:
    return {
        "standing": one.standing.name.lower(),
        "topic": one.topic.title,
        "code": one.code,
        "fact": one.fact,
        "means": one.topic.means,
        "check": one.topic.check,
        "places": [place_in(*places.holder_of(span)) for span in one.places],
    }
