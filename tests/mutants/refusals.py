"""`python -m tests.mutants.refusals`: which mutants TVM refuses by itself.

Builds every harmful mutant with the TVM of its kernel, 0.27 or 0.26, and writes the names of those
that do not build to `refused_by_tvm.toml`. It takes half an hour, so it is no test: run it when the
kernels change.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import tomllib

from .measure import REFUSED
from .mutate import FILES, Mutant, mutants
from .verdict import Effect

ROOT = FILES["ring"].parents[1]
BUILDER = ROOT / "tests" / "kernels" / "build_kernels.py"
OLD_PYTHON = os.environ.get(
    "TIRX_LENS_TVM_026_PYTHON", str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
)
_BATCH = 40  # builds in one process
_PROCESSES = 2  # at a time; each takes about half a gigabyte
_LIMIT_S = 600
_REASON_LENGTH = 100  # characters


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.refusals", description=__doc__)
    parser.add_argument("--match", default="", help="only mutants whose name has this pattern")
    parser.add_argument("kernels", nargs="*", default=list(FILES), help="all, where none is named")
    asked = parser.parse_args()

    for kernel in asked.kernels:
        chosen = [
            mutant
            for mutant in mutants()
            if mutant.kernel == kernel
            and mutant.verdict is not None
            and mutant.verdict.effect is Effect.HARMFUL
            and re.search(asked.match, mutant.name)
        ]
        python = OLD_PYTHON if "v0_26" in kernel else sys.executable
        batches = [chosen[start : start + _BATCH] for start in range(0, len(chosen), _BATCH)]
        with ThreadPoolExecutor(_PROCESSES) as pool:
            reasons = dict(ChainMap(*pool.map(partial(_refused, python), batches)))
        _record({mutant.name for mutant in chosen}, reasons)
        print(f"{kernel}: TVM refuses {len(reasons)} of {len(chosen)}", flush=True)


def _refused(python: str, chosen: list[Mutant]) -> dict[str, str]:
    """Return why TVM refuses mutants, by name; those it builds are not in it."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"mutant_{index}.py" for index in range(len(chosen))]
        for path, mutant in zip(paths, chosen, strict=True):
            path.write_text(mutant.text, "utf-8")
        asked = json.dumps([{"file": str(path), "arch": "sm_100a"} for path in paths])
        done = subprocess.run(
            [python, str(BUILDER)], input=asked, capture_output=True, text=True, timeout=_LIMIT_S
        )
    if done.returncode != 0:  # a crash: find out whose
        if len(chosen) == 1:
            return {chosen[0].name: f"TVM crashes ({done.returncode})"}
        half = len(chosen) // 2
        return _refused(python, chosen[:half]) | _refused(python, chosen[half:])
    answers = json.loads(done.stdout.splitlines()[-1])
    return {
        mutant.name: _reason(answer["error"])
        for mutant, answer in zip(chosen, answers, strict=True)
        if "error" in answer
    }


def _reason(trace: str) -> str:
    """Return the line of a traceback that names the exception, the last where there are several."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    return (named or lines)[-1][:_REASON_LENGTH]


def _record(asked: set[str], reasons: dict[str, str]) -> None:
    """Replace what is recorded of the mutants that were asked about."""
    held = tomllib.loads(REFUSED.read_text("utf-8"))["refused"] if REFUSED.exists() else {}
    by_name = {name: why for why, names in held.items() for name in names}
    kept = {name: why for name, why in by_name.items() if name not in asked}
    kept |= reasons
    lines = [
        "# Written by `python -m tests.mutants.refusals`: mutants that TVM does not build.",
        "",
    ]
    lines.append("[refused]")
    for why in sorted(set(kept.values())):
        names = sorted(name for name, reason in kept.items() if reason == why)
        quoted = "".join(f"    {json.dumps(name)},\n" for name in names)
        lines.append(f"{json.dumps(why)} = [\n{quoted}]")
    REFUSED.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
