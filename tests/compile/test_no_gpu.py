"""Kernels whose module asks PyTorch for a GPU that the machine does not have.

PyTorch itself is too large to install for this: a package of its shape stands in for it, which
fails as it does, from a lazy initialisation two calls below what the user wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kernel_texts import kernel, request

from tirx_lens.compile.result import Severity, Stage

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler

pytestmark = [pytest.mark.tvm, pytest.mark.asyncio(loop_scope="session")]

# What torch 2.11 raises: without a device, without a driver, and in its build for the CPU.
NO_DEVICE = 'RuntimeError("No CUDA GPUs are available")'
NO_DRIVER = (
    'RuntimeError("Found no NVIDIA driver on your system. Please check that you have an NVIDIA '
    'GPU and installed a driver from http://www.nvidia.com/Download/index.aspx")'
)
FOR_THE_CPU = 'AssertionError("Torch not compiled with CUDA enabled")'

TENSOR = """\
from . import cuda


class Tensor:
    def cuda(self):
        cuda._lazy_init()
        return self


def randn(*shape, device="cpu"):
    tensor = Tensor()
    return tensor.cuda() if device == "cuda" else tensor
"""
CUDA = """\
def is_available():
    return False


def _lazy_init():
    raise {error}


def get_device_properties(device):
    _lazy_init()


def get_device_capability(device=None):
    _lazy_init()
    return 10, 0
"""


def imports(folder: Path, error: str) -> str:
    """Install the package in a folder and return the Python that imports it from there."""
    package = folder / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TENSOR)
    (package / "cuda.py").write_text(CUDA.format(error=error))
    return f"import sys\nsys.path.insert(0, {str(package.parent)!r})\nimport torch\n"


ASKING = {
    "its capability": "CAPABILITY = torch.cuda.get_device_capability()",
    "its properties": "SMS = torch.cuda.get_device_properties(0).multi_processor_count",
    "a tensor there": 'A = torch.randn(128, 128, device="cuda")',
    "a tensor moved there": "A = torch.randn(128, 128).cuda()",
}


@pytest.mark.parametrize("error", [NO_DEVICE, NO_DRIVER, FOR_THE_CPU])
@pytest.mark.parametrize("what", ASKING)
async def test_below_the_builder_the_kernel_is_built_all_the_same(
    compiler: Compiler, tmp_path: Path, what: str, error: str
) -> None:
    text = imports(tmp_path, error) + kernel() + f"\n\n{ASKING[what]}\nprint('never')\n"
    path = tmp_path / "work" / "k.py"
    result = await compiler.build(request(text, path))
    assert [made.name for made in result.kernels] == ["copy"]
    (warning,) = result.diagnostics
    assert (warning.severity, warning.stage) == (Severity.WARNING, Stage.IMPORT)
    assert error[error.index('"') + 1 :].split('"')[0][:40] in warning.message
    assert warning.message.endswith("what is defined above that line was used")
    assert (warning.file, warning.line) == (str(path), line_of(text, ASKING[what]))
    assert [frame.file for frame in warning.frames] == [str(path)]
    assert "never" not in result.output


@pytest.mark.parametrize("what", ASKING)
async def test_above_the_builder_the_statement_is_named(
    compiler: Compiler, tmp_path: Path, what: str
) -> None:
    text = imports(tmp_path, NO_DEVICE) + f"{ASKING[what]}\n" + kernel()
    path = tmp_path / "work" / "k.py"
    result = await compiler.build(request(text, path))
    assert not result.kernels
    (said,) = result.diagnostics
    assert (said.severity, said.stage) == (Severity.ERROR, Stage.IMPORT)
    assert said.message == "Importing k.py raised RuntimeError: No CUDA GPUs are available"
    assert (said.file, said.line) == (str(path), line_of(text, ASKING[what]))
    assert "_lazy_init" in said.detail


async def test_in_the_builder_it_is_the_builder_that_asks(
    compiler: Compiler, tmp_path: Path
) -> None:
    asks = "    sms = torch.cuda.get_device_properties(0).multi_processor_count"
    text = imports(tmp_path, NO_DEVICE) + kernel().replace(
        "    @T.prim_func", f"{asks}\n    @T.prim_func"
    )
    path = tmp_path / "work" / "k.py"
    (said,) = (await compiler.build(request(text, path))).diagnostics
    assert (said.severity, said.stage) == (Severity.ERROR, Stage.BUILDER)
    assert said.message == "build() raised RuntimeError: No CUDA GPUs are available"
    assert (said.file, said.line) == (str(path), line_of(text, asks))


async def test_a_module_that_asks_first_whether_there_is_one_is_fine(
    compiler: Compiler, tmp_path: Path
) -> None:
    asks = "if torch.cuda.is_available():\n    A = torch.randn(128, device='cuda')\n"
    text = imports(tmp_path, NO_DEVICE) + asks + kernel()
    result = await compiler.build(request(text, tmp_path / "work" / "k.py"))
    assert not result.diagnostics
    assert len(result.kernels) == 1


def line_of(text: str, line: str) -> int:
    return text.split("\n").index(line) + 1
