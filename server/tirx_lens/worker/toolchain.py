"""The CUDA compiler and the disassembler of this machine: wheels of NVIDIA's, or a toolkit.

None is needed to build a kernel; PTX, SASS and the resource report want both.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

_LIBRARY = "libnvrtc.so.*"
_HOMES = ("/usr/local/cuda", "/opt/cuda")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where the parts are. Of `nvrtc` (a library) and `nvcc` (a program) one is there.

    `include` holds the directories of the CUDA headers, those of CCCL among them.
    """

    nvrtc: str | None
    nvcc: str | None
    nvdisasm: str
    include: tuple[str, ...]


class NoToolchainError(Exception):
    """There is no compiler here; the text says what would bring one."""


def find_toolchain() -> Toolchain:
    """Look in the environment's wheels, in `CUDA_HOME`, and on `PATH`; NVRTC goes before nvcc.

    Raises `NoToolchainError`.
    """
    roots = _roots()
    home, nvrtc = _first_library(roots)
    nvcc, nvdisasm = _program("nvcc", roots), _program("nvdisasm", roots)
    include = _headers(([home] if home is not None else []) + roots)
    missing = [] if nvrtc or nvcc else ["nvidia-cuda-nvrtc"]
    if nvdisasm is None:
        missing.append("nvidia-cuda-nvdisasm")
    if nvcc is None and not include:
        missing += ["nvidia-cuda-runtime", "nvidia-cuda-cccl", "nvidia-cuda-crt"]
    if missing or nvdisasm is None:
        raise NoToolchainError(
            "PTX and SASS need a CUDA compiler and a disassembler, in the environment of "
            f"{sys.executable} or in a CUDA toolkit that CUDA_HOME names: "
            f"`pip install {' '.join(missing)}` brings what is missing. No GPU is needed."
        )
    return Toolchain(str(nvrtc) if nvrtc and include else None, nvcc, nvdisasm, include)


def find_nvcc() -> str | None:
    """Return where the compiler is."""
    return _program("nvcc", _roots())


def find_nvrtc() -> str | None:
    """Return where the compiler's library is."""
    _, library = _first_library(_roots())
    return None if library is None else str(library)


def _first_library(roots: list[Path]) -> tuple[Path | None, Path | None]:
    """Return the first root that has the library, and the library."""
    libraries = ((root, found) for root in roots if (found := _library(root)) is not None)
    return next(libraries, (None, None))


def _headers(roots: list[Path]) -> tuple[str, ...]:
    """Return the header directories of one root: those of two toolkits do not go together."""
    for root in roots:
        folders = [root / "include", root / "include" / "cccl"]
        if (folders[0] / "cuda_fp16.h").exists():
            return tuple(str(folder) for folder in folders if folder.is_dir())
    return ()


def _roots() -> list[Path]:
    """Return the directories that may hold `bin`, `lib` and `include`, the most specific first."""
    roots = []
    for place in sys.path:
        wheels = Path(place or ".", "nvidia")
        if wheels.is_dir():
            roots += sorted(path for path in wheels.iterdir() if path.is_dir())
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *_HOMES]
    roots += [Path(home) for home in homes if home]
    return [root for root in roots if root.is_dir()]


def _library(root: Path) -> Path | None:
    found = [path for folder in ("lib", "lib64") for path in (root / folder).glob(_LIBRARY)]
    return max(found, key=_version, default=None)


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", path.name))


def _program(name: str, roots: list[Path]) -> str | None:
    for root in roots:
        program = root / "bin" / name
        if os.access(program, os.X_OK):
            return str(program)
    return shutil.which(name)
