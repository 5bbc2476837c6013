"""Builds the kernels of `shapes/` in one process; run as a script by the test beside it.

Standard input: a JSON list of paths. Standard output: a JSON list of answers in the same order,
``{"kernels", "text"}`` or ``{"error"}``. A file's builder is the function below its
``# tirx-lens: args`` comment; it returns a kernel or a list of kernels. Its ``ARCH`` says what to
build for. TVM and the standard library only, and ``tirx_lens.worker``, which is of that kind.
"""

import importlib.util
import json
import re
import sys
import traceback
from pathlib import Path

from tirx_lens.worker.quicken import quicken

ARGS_COMMENT = re.compile(r"^# tirx-lens: args ?(?P<args>.*)\ndef (?P<builder>\w+)\(", re.MULTILINE)


def load(path):
    """Import a kernel file under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"shape_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    # The script parser looks the source up through sys.modules.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def build(path):
    """Compile all that the file's builder returns."""
    import tvm

    marked = ARGS_COMMENT.search(path.read_text(encoding="utf-8"))
    if marked is None:
        raise ValueError(f"{path.name} has no '# tirx-lens: args' comment above a builder")
    named = dict(pair.split("=") for pair in marked["args"].split())
    module = load(path)
    built = getattr(module, marked["builder"])(**{k: int(v) for k, v in named.items()})
    kernels = built if isinstance(built, (list, tuple)) else [built]
    target = tvm.target.Target({"kind": "cuda", "arch": getattr(module, "ARCH", "sm_100a")})
    texts = []
    for kernel in kernels:
        with target:
            done = tvm.compile(tvm.IRModule({"main": kernel}), target=target, tir_pipeline="tirx")
        texts.append(done.mod.imports[0].inspect_source("cuda"))
    return {"kernels": len(texts), "text": "\n".join(texts)}


def answer(path):
    """Build one file; a failure is an answer too."""
    try:
        return build(path)
    except Exception:
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    quicken()
    print(json.dumps([answer(Path(path)) for path in json.load(sys.stdin)]))
