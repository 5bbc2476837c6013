"""Imports of modules that moved between releases, and kernels that have them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.migrate.conftest import ROOT
from tests.migrate.old_spelling import as_0_25
from tests.migrate.opcodes import opcodes
from tests.migrate.test_migrated_kernels import KERNELS, comments, cuda_of

from tirx_lens.migrating import migrate
from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.service import Compiler

OLD = "tvm.backend.cuda.operator.tile_primitive"
NEW = "tvm.backend.cuda.tile_primitive"

ROWS = (
    (f"import {OLD}", f"import {NEW}"),
    (f"import {OLD}.tma_utils as tma  # why", f"import {NEW}.tma_utils as tma  # why"),
    (f"import os, {OLD}.common", f"import os, {NEW}.common"),
    (
        f"from {OLD} import layout_utils, tma_utils as tma",
        f"from {NEW} import layout_utils, tma_utils as tma",
    ),
    (
        f"from {OLD}.tma_utils import (\n    SwizzleMode,  # modes\n    mma_shared_layout,\n)",
        f"from {NEW}.tma_utils import (\n    SwizzleMode,  # modes\n    mma_shared_layout,\n)",
    ),
    (
        f"from {OLD}.tma_utils import SwizzleMode, tma_shared_layout",
        f"from {NEW}.tma_utils import SwizzleMode, mma_shared_layout as tma_shared_layout",
    ),
    (
        f"from {OLD}.tma_utils import tma_atom_layout as atom, tma_atom_shape",
        f"from {NEW}.tma_utils import mma_atom_layout as atom, mma_atom_shape as tma_atom_shape",
    ),
    (f"from {OLD}.tma_utils import *", f"from {NEW}.tma_utils import *"),
    (
        "from tvm.backend.cuda.operator import tile_primitive as tile",
        "from tvm.backend.cuda import tile_primitive as tile",
    ),
    (
        f"import {OLD}.tma_utils\n\nMODE = int({OLD}.tma_utils.SwizzleMode.SWIZZLE_NONE.value)",
        f"import {NEW}.tma_utils\n\nMODE = int({NEW}.tma_utils.SwizzleMode.SWIZZLE_NONE.value)",
    ),
)

LEFT = (
    "import tvm.backend.cuda.operator",
    "from tvm.backend.cuda.operator import intrinsics",
    "from tvm.backend.cuda.operator import intrinsics, tile_primitive",
    "from tvm.backend.cuda.operator.intrinsics.registry import CODEGEN_REGISTRY",
    "from tvm.backend.cuda.intrinsics.sync import codegen_ptx_elect_sync",
)

SAME = (
    f"from {NEW}.tma_utils import SwizzleMode",
    "from operator import itemgetter",
    "from tvm.tirx.operator.tile_primitive import dispatcher",
    'TEXT = "import tvm.backend.cuda.operator.tile_primitive"',
    "from mine.tma_utils import tma_shared_layout",
)


@pytest.mark.parametrize(("before", "after"), ROWS, ids=[before for before, _ in ROWS])
def test_a_path_that_moved(before: str, after: str) -> None:
    found = migrate(SourceText(f"{before}\n"))
    assert (found.text, found.left) == (f"{after}\n", ())
    assert found.rewritten > 0
    again = migrate(SourceText(found.text))
    assert (again.text, again.rewritten) == (found.text, 0)


@pytest.mark.parametrize("text", LEFT)
def test_a_module_that_is_gone_is_listed(text: str) -> None:
    found = migrate(SourceText(f"# line\n{text}\n"))
    assert (found.text, found.rewritten) == (f"# line\n{text}\n", 0)
    (left,) = found.left
    assert left.code == "TX508"
    assert found.text.encode()[left.span.start : left.span.end].startswith(b"tvm.backend.cuda.")


@pytest.mark.parametrize("text", SAME)
def test_nothing_else_is_touched(text: str) -> None:
    found = migrate(SourceText(text))
    assert (found.text, found.rewritten, found.left) == (text, 0, ())


@pytest.mark.tvm
def test_both_newer_releases_have_the_new_paths() -> None:
    program = "\n".join(after.partition("\n\n")[0] for _, after in ROWS)
    attempt = "try:\n    {}\nexcept ImportError:\n    pass\nelse:\n    raise SystemExit(9)"
    refused = "\n".join(attempt.format(text) for text in LEFT if "operator" in text)
    default = str(ROOT / ".venv-tvm-0.26" / "bin" / "python")
    old = os.environ.get("TIRX_LENS_TVM_026_PYTHON", default)
    for python in (old, sys.executable):
        ran = subprocess.run(
            [python, "-c", f"{program}\n{refused}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ran.returncode == 0, f"{python}: {ran.stderr}"


@pytest.mark.tvm
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("name", ["gemm_step4_tma", "gemm_step7_warp_specialized"])
async def test_a_kernel_of_0_25(name: str, new: Compiler, tmp_path: Path) -> None:
    """Names of methods, ways of dispatch and imports, which 0.26 changed, with all of `T.ptx`."""
    now = (KERNELS / f"{name}.py").read_text("utf-8")
    before = as_0_25(now)
    migrated = migrate(SourceText(before))
    assert migrated.left == ()
    for old in ("alloc_mma(", 'dispatch="tma"', ".operator.", "import tma_shared_layout"):
        assert old in before
        assert old not in migrated.text
    assert comments(migrated.text) == comments(before)
    was = opcodes(await cuda_of(new, now, tmp_path))
    assert opcodes(await cuda_of(new, migrated.text, tmp_path)) == was
    assert migrate(SourceText(migrated.text)).rewritten == 0
