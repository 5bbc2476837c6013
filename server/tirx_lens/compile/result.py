"""What a build gives. The types are the worker's: they come over the pipe as they are."""

from __future__ import annotations

from typing import Any

from tirx_lens.worker.codec import encode
from tirx_lens.worker.messages import (
    BuildDiagnostic,
    BuildResult,
    Environment,
    Frame,
    Gpu,
    HostReport,
    KernelResult,
    Launch,
    MapEntry,
    Resources,
    Severity,
    Stage,
    TvmBuild,
    Via,
)

__all__ = [
    "BuildDiagnostic",
    "BuildResult",
    "Environment",
    "Frame",
    "Gpu",
    "HostReport",
    "KernelResult",
    "Launch",
    "MapEntry",
    "Resources",
    "Severity",
    "Stage",
    "TvmBuild",
    "Via",
    "results_to_json",
]


def results_to_json(results: tuple[BuildResult, ...]) -> dict[str, Any]:
    """Return the JSON value that `tirx-lens cuda --output-format json` prints."""
    return {
        "kernels": [encode(kernel) for result in results for kernel in result.kernels],
        "diagnostics": [encode(item) for result in results for item in result.diagnostics],
    }
