"""Compiling CUDA text to PTX and to machine code, with line numbers, on a machine without a GPU."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .toolchain import Toolchain

FILE = "kernel.cu"
"""The name under which line information names the CUDA text."""

# What the driver's header declares, for NVRTC, which has no such header.
_TENSOR_MAP = (
    "struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };\n"
    "typedef struct CUtensorMap_st CUtensorMap;\n"
)
_COMMON = ("--use_fast_math", "-w", "-lineinfo")
_RTC_OPTIONS = ("-default-device", "--device-int128", *_COMMON)
_NVCC_OPTIONS = ("-std=c++17", "--expt-relaxed-constexpr", "--expt-extended-lambda", *_COMMON)


@dataclass(frozen=True, slots=True)
class GpuCode:
    """What a compiler made of a CUDA text: PTX, a cubin, what its assembler said, and its name."""

    compiler: str
    ptx: str
    cubin: bytes
    log: str


class CompilerError(Exception):
    """The CUDA does not compile; the text is what the compiler says."""


def compile_cuda(text: str, arch: str, tools: Toolchain, scratch: str | None = None) -> GpuCode:
    """Compile a text for an architecture such as `sm_100a`. Raises `CompilerError` and OSError.

    Files that are needed meanwhile are made in `scratch`, or where the system has such files.
    """
    if tools.nvrtc is not None:
        return _with_nvrtc(text, arch, tools)
    return _with_nvcc(text, arch, tools, scratch)


def disassemble(cubin: bytes, tools: Toolchain, scratch: str | None = None) -> str:
    """Return the machine code as nvdisasm prints it, with the lines it came from."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        return _run([tools.nvdisasm, "-gi", "-c", str(path)]).stdout


def _with_nvrtc(text: str, arch: str, tools: Toolchain) -> GpuCode:
    library = ctypes.CDLL(tools.nvrtc)
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    declared = _TENSOR_MAP if "CUtensorMap" in text else ""
    source = f'{declared}#line 1 "{FILE}"\n{text}'
    options = [*_RTC_OPTIONS, *(f"-I{folder}" for folder in tools.include)]
    program = _Program(library, source)
    log = program.compile([f"-arch={arch}", "--ptxas-options=-v", *options])
    cubin, ptx = program.output("CUBIN"), program.output("PTX").rstrip(b"\0")
    if not ptx:  # a release that keeps no PTX on its way to a real architecture
        program = _Program(library, source)
        program.compile([f"-arch={arch.replace('sm_', 'compute_')}", *options])
        ptx = program.output("PTX").rstrip(b"\0")
    version = f"NVRTC {major.value}.{minor.value}"
    return GpuCode(version, ptx.decode("utf-8", "replace"), cubin, log)


class _Program:
    """One translation unit in NVRTC."""

    def __init__(self, library: ctypes.CDLL, source: str) -> None:
        self._library = library
        self._handle = ctypes.c_void_p()
        self._must(
            library.nvrtcCreateProgram(
                ctypes.byref(self._handle), source.encode("utf-8"), FILE.encode(), 0, None, None
            )
        )

    def compile(self, options: Sequence[str]) -> str:
        """Compile and return the log. Raises `CompilerError`."""
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        failed = self._library.nvrtcCompileProgram(self._handle, len(options), given)
        log = self.output("ProgramLog").rstrip(b"\0").decode("utf-8", "replace")
        if failed:
            raise CompilerError(log.strip() or f"NVRTC gave error {failed}")
        return log

    def output(self, kind: str) -> bytes:
        """Return the "PTX", "CUBIN" or "ProgramLog" of what was compiled."""
        size = ctypes.c_size_t()
        self._must(getattr(self._library, f"nvrtcGet{kind}Size")(self._handle, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._must(getattr(self._library, f"nvrtcGet{kind}")(self._handle, buffer))
        return buffer.raw

    def _must(self, status: int) -> None:
        if status:
            raise CompilerError(f"NVRTC gave error {status}")


def _with_nvcc(text: str, arch: str, tools: Toolchain, scratch: str | None) -> GpuCode:
    nvcc = tools.nvcc or "nvcc"
    release = re.search(r"release ([\d.]+)", _run([nvcc, "--version"]).stdout)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        source = Path(folder, FILE)
        source.write_text(text, "utf-8")
        virtual = arch.replace("sm_", "compute_")
        ptx, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        _run([nvcc, "-ptx", f"-arch={virtual}", *_NVCC_OPTIONS, FILE, "-o", str(ptx)], folder)
        done = _run(
            [nvcc, "-cubin", f"-arch={arch}", "-Xptxas=-v", *_NVCC_OPTIONS, FILE, "-o", str(cubin)],
            folder,
        )
        version = f"nvcc {release.group(1)}" if release is not None else "nvcc"
        return GpuCode(version, ptx.read_text("utf-8", "replace"), cubin.read_bytes(), done.stderr)


def _run(words: Iterable[str], folder: str | None = None) -> subprocess.CompletedProcess[str]:
    argv = list(words)
    # The passes of nvcc hand each other files.
    env = None if folder is None else {**os.environ, "TMPDIR": folder}
    try:
        done = subprocess.run(
            argv, cwd=folder, env=env, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise CompilerError(f"{argv[0]}: {error.strerror or error}") from error
    if done.returncode:
        name = os.path.basename(argv[0])  # noqa: PTH119 - a word of a command line
        raise CompilerError(done.stderr.strip() or f"{name} gave exit code {done.returncode}")
    return done
