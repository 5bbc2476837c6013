"""What is packaged for a system is for that system: modules of another one stop the packaging."""

from __future__ import annotations

import importlib.util
import struct
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "dev" / "bundle.py"


@pytest.fixture(scope="module")
def bundle():
    spec = importlib.util.spec_from_file_location("bundle", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def elf(machine: int) -> bytes:
    """Return the head of a 64-bit shared object: its type stands at 16, its machine at 18."""
    return b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + struct.pack("<HHI", 3, machine, 1) + bytes(40)


def mach_o(cpu: int) -> bytes:
    """Return the head of a 64-bit bundle: magic, processor, its kind, file type."""
    return struct.pack("<IIII", 0xFEEDFACF, cpu, 0, 8) + bytes(48)


HEADS = {
    "linux-x64": elf(62),
    "linux-arm64": elf(183),
    "darwin-x64": mach_o(0x0100_0007),
    "darwin-arm64": mach_o(0x0100_000C),
}


def unpacked(folder: Path, head: bytes, *, without: str | None = None) -> Path:
    for python in ("310", "311", "312", "313", "314"):
        if python != without:
            (folder / f"_binding.cpython-{python}-any.so").write_bytes(head)
    (folder / "_binding.abi3.so").write_bytes(head)
    return folder


@pytest.mark.parametrize("target", HEADS)
def test_modules_are_for_the_target_and_no_other(bundle, tmp_path: Path, target: str) -> None:
    folder = unpacked(tmp_path, HEADS[target])
    bundle.check_machines(target, folder)
    for other in HEADS.keys() - {target}:
        with pytest.raises(SystemExit, match=f"is not for {other}"):
            bundle.check_machines(other, folder)


def test_every_python_has_its_module(bundle, tmp_path: Path) -> None:
    folder = unpacked(tmp_path, HEADS["darwin-arm64"], without="313")
    with pytest.raises(SystemExit, match=r"no module for Python 3\.13 on darwin-arm64"):
        bundle.check_machines("darwin-arm64", folder)


def test_this_interpreter_is_what_the_heads_here_say(bundle) -> None:
    """The constants hold for a real file: the module of the parser that these tests run with."""
    import tree_sitter

    (module,) = Path(tree_sitter.__file__).parent.glob("_binding*.so")
    targets = [
        target
        for target, (magic, offset, machine) in bundle.MACHINES.items()
        if (head := module.read_bytes()[:64]).startswith(magic)
        and head[offset : offset + len(machine)] == machine
    ]
    system = "darwin" if sys.platform == "darwin" else "linux"
    assert [target.split("-")[0] for target in targets] == [system]


def test_the_makefile_knows_every_target(bundle) -> None:
    makefile = (SCRIPT.parents[1] / "Makefile").read_text()
    (line,) = [line for line in makefile.splitlines() if line.startswith("VSIX_TARGETS := ")]
    assert set(line.split()[2:]) == set(bundle.PLATFORMS) == set(bundle.MACHINES) == set(HEADS)
