"""Which files travel with a kernel."""

from pathlib import Path

import pytest

from tirx_lens.compile.closure import MAX_FILES, closure_of


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    files = {
        "tiles.py": "from shapes import WIDTH\n",
        "shapes.py": "import tiles\nWIDTH = 64\n",  # a cycle
        "unused.py": "",
        "lib/__init__.py": "",
        "lib/a.py": "from . import b\nfrom .deep.c import value\n",
        "lib/b.py": "",
        "lib/deep/__init__.py": "",
        "lib/deep/c.py": "from ..b import nothing\nvalue = 1\n",
        "lib/kernel.py": "from .a import x\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def names(root: Path, entry: str, text: str, **options: object) -> list[str]:
    closure = closure_of(root / entry, text, **options)  # type: ignore[arg-type]
    return [str(Path(file.path).relative_to(root)) for file in closure.files]


def test_siblings_and_what_they_import(workspace: Path) -> None:
    found = names(workspace, "kernel.py", "import os, tvm\nimport tiles as t\n")
    assert found == ["kernel.py", "tiles.py", "shapes.py"]


def test_packages_bring_their_init_files(workspace: Path) -> None:
    found = names(workspace, "kernel.py", "def late():\n    from lib.a import x\n")
    assert sorted(found) == [
        "kernel.py",
        "lib/__init__.py",
        "lib/a.py",
        "lib/b.py",
        "lib/deep/__init__.py",
        "lib/deep/c.py",
    ]


def test_a_kernel_inside_a_package_is_looked_up_from_above_it(workspace: Path) -> None:
    closure = closure_of(workspace / "lib/kernel.py", "from .a import x\nimport tiles\n")
    assert closure.search_paths == (str(workspace),)
    assert str(workspace / "lib/__init__.py") in {file.path for file in closure.files}
    assert str(workspace / "tiles.py") in {file.path for file in closure.files}


def test_open_texts_win_over_the_disk_and_lead_further(workspace: Path) -> None:
    closure = closure_of(
        workspace / "kernel.py",
        "import tiles\n",
        open_texts={workspace / "tiles.py": "import unused\n"},
    )
    texts = {Path(file.path).name: file.text for file in closure.files}
    assert texts == {"kernel.py": "import tiles\n", "tiles.py": "import unused\n", "unused.py": ""}


def test_syntax_errors_do_not_hide_imports(workspace: Path) -> None:
    assert "tiles.py" in names(workspace, "kernel.py", "x = (\nimport tiles\ndef f(:\n")


def test_workspace_folders_are_searched(workspace: Path, tmp_path: Path) -> None:
    inner = workspace / "examples"
    inner.mkdir()
    assert names(workspace, "examples/k.py", "import tiles\n") == ["examples/k.py"]
    assert names(workspace, "examples/k.py", "import tiles\n", workspace=[workspace]) == [
        "examples/k.py",
        "tiles.py",
        "shapes.py",
    ]


def test_a_workspace_of_endless_imports_is_cut_off(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 50):
        (tmp_path / f"m{number}.py").write_text(f"import m{number + 1}\n")
    closure = closure_of(tmp_path / "kernel.py", "import m0\n")
    assert len(closure.files) == MAX_FILES


def test_paths_are_those_of_the_editor(workspace: Path) -> None:
    closure = closure_of(workspace / "lib" / ".." / "k.py", "import tiles\n")
    assert [file.path for file in closure.files][:2] == [
        str(workspace / "k.py"),
        str(workspace / "tiles.py"),
    ]


def test_a_file_that_is_not_text_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "blob.py").write_bytes(b"\xff\xfe\x00")
    assert names(tmp_path, "kernel.py", "import blob\n") == ["kernel.py"]
