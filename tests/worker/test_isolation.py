"""The worker must run where there is nothing but Python and TVM."""

import ast
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirx_lens import worker
from tirx_lens.compile.archive import ROOT, worker_archive
from tirx_lens.worker.bootstrap import BOOTSTRAP, MARKER

PACKAGE = Path(worker.__file__).parent
MODULES = sorted(PACKAGE.glob("*.py"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= 1, f"line {node.lineno} leaves the package"
            if node.level == 0:
                yield node.module or ""
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "import_module"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports_nothing_but_itself_the_standard_library_and_tvm(path: Path) -> None:
    allowed = sys.stdlib_module_names | {"tvm", "tvm_ffi"}  # TVM comes in these two packages
    names = {name.split(".")[0] for name in imported(ast.parse(path.read_text()))}
    assert names <= allowed


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_reads_as_python_3_10(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 10))


def test_the_archive_holds_the_whole_package_and_is_always_the_same() -> None:
    with zipfile.ZipFile(io.BytesIO(worker_archive())) as archive:
        assert sorted(archive.namelist()) == [f"{ROOT}/{path.name}" for path in MODULES]
    again = worker_archive.__wrapped__()
    assert again == worker_archive()


def test_printing_the_bootstrap_does_not_look_like_a_worker() -> None:
    assert MARKER.decode() not in BOOTSTRAP
