"""Builds kernel files to CUDA text in one process; run as a script by the tests beside it.

Standard input: a JSON list of requests ``{"file", "arch", "args"}``, args optional. Standard
output: a JSON list of answers in the same order, ``{"cuda", "args"}`` or ``{"error"}``.
The standard library and TVM only: it also runs in the environment of an older TVM.
"""

import importlib.util
import json
import re
import sys
import traceback
from pathlib import Path

ARGS_COMMENT = re.compile(r"^# tirx-lens: args (?P<args>.+)\ndef (?P<builder>\w+)\(", re.MULTILINE)


def load(path):
    """Import a kernel file under a name of its own, with torch out of its reach."""
    spec = importlib.util.spec_from_file_location(f"kernel_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    # The script parser looks the source up through sys.modules.
    sys.modules[spec.name] = module
    sys.modules["torch"] = None
    spec.loader.exec_module(module)
    return module


def build(path, arch, args):
    """Call the builder that carries the args comment and compile what it returns."""
    import tvm

    marked = ARGS_COMMENT.search(path.read_text(encoding="utf-8"))
    if marked is None:
        raise ValueError(f"{path.name} has no '# tirx-lens: args' comment above a builder")
    named = dict(pair.split("=") for pair in marked["args"].split())
    chosen = {**{name: int(value) for name, value in named.items()}, **args}
    kernel = getattr(load(path), marked["builder"])(**chosen)
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    with target:
        built = tvm.compile(tvm.IRModule({"main": kernel}), target=target, tir_pipeline="tirx")
    return {"cuda": built.mod.imports[0].inspect_source("cuda"), "args": chosen}


def answer(request):
    """Build one request; a failure is an answer too."""
    try:
        return build(Path(request["file"]), request["arch"], request.get("args", {}))
    except Exception:
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    import tvm  # noqa: F401  (before torch is hidden: tvm looks for torch itself)

    print(json.dumps([answer(request) for request in json.load(sys.stdin)]))
