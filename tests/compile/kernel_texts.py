"""Kernel sources for the tests, small enough to build in a tenth of a second."""

from pathlib import Path

from tirx_lens.compile.builders import find_builder
from tirx_lens.compile.prepare import prepare
from tirx_lens.compile.request import BuildRequest, Limits, Scalar

IMPORTS = """\
import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
"""


def kernel(statement: str = "B[tid] = A[tid]", parameters: str = "N=128, M=1") -> str:
    """Return a module whose builder `build` makes a kernel around one statement, on line 12."""
    return f"""{IMPORTS}
def build({parameters}):
    @T.prim_func
    def copy(A: T.Buffer((N,), "float16"), B: T.Buffer((N,), "float16")):
        T.device_entry()
        cta = T.cta_id([M])
        wg = T.warpgroup_id([1])
        tid = T.thread_id([128])
        {statement}
    return copy
"""


def request(
    text: str,
    path: Path,
    *,
    builder: str = "build",
    seconds: float = 60.0,
    memory: int | None = Limits().memory_bytes,
    output: int = 1 << 20,
    arguments: dict[str, Scalar] | None = None,
    workspace: tuple[Path, ...] = (),
    config: str | None = None,
    source_map: bool = True,
    machine_code: bool = False,
) -> BuildRequest:
    """Ask for one builder of a text that need not be on disk."""
    return prepare(
        path,
        text,
        find_builder(text, builder) or builder,
        arguments=arguments,
        limits=Limits(seconds, memory, output),
        workspace=workspace,
        config=config,
        source_map=source_map,
        machine_code=machine_code,
    )
