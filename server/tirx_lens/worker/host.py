"""What this machine is, for those who ask why kernels do not build on it."""

from __future__ import annotations

import importlib.metadata
import shutil
import socket
import sys
import time
from typing import TYPE_CHECKING

from .checkouts import shadowing_checkouts
from .gpus import find_gpus
from .messages import HostReport
from .programs import ProgramError, said_by
from .scratch import scratch_parent
from .toolchain import find_nvcc, find_nvrtc

if TYPE_CHECKING:
    from .messages import Environment

# Loading the library here would bring it into every fork of this process.
_NVRTC_VERSION = """
import ctypes, sys
major, minor = ctypes.c_int(), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
print("%d.%d" % (major.value, minor.value))
"""


def examine(environment: Environment) -> HostReport:
    """Look at the machine. Takes as long as the programs that are asked, some seconds at most."""
    gpus = find_gpus()
    scratch, free = _scratch()
    return HostReport(
        environment,
        hostname=socket.gethostname(),
        free_bytes=free,
        scratch=scratch,
        gpus=gpus.gpus,
        gpu_problem=gpus.problem,
        torch_version=_torch(),
        nvcc=_nvcc(),
        nvrtc=_nvrtc(),
        shadowing=shadowing_checkouts(),
        clock=time.time(),  # last: what is told of the clock should be of now
    )


def _scratch() -> tuple[str, int | None]:
    try:
        folder = scratch_parent()
        return folder, shutil.disk_usage(folder).free
    except OSError:
        return "", None


def _torch() -> str | None:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def _nvcc() -> str | None:
    program = find_nvcc()
    if program is None:
        return None
    try:
        said = said_by((program, "--version"))
    except ProgramError as error:
        return f"nvcc at {program}: {error}"
    _, _, release = said.partition("release ")
    return f"nvcc {release.partition(',')[0] or 'of unknown release'} at {program}"


def _nvrtc() -> str | None:
    library = find_nvrtc()
    if library is None:
        return None
    try:
        version = said_by((sys.executable, "-c", _NVRTC_VERSION, library)).strip()
    except ProgramError:
        return f"NVRTC at {library}, which cannot be loaded"
    return f"NVRTC {version} at {library}"
