"""What the two ends say to each other. Lines and columns are 1-based; columns count characters."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - `codec` reads the annotations
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

Scalar = int | float | str | bool | None
"""What a builder's argument may be."""


class Severity(Enum):
    """Whether a diagnostic kept the kernel from being built."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """The kernel was built; something that goes with it is missing."""


class Stage(Enum):
    """How far a build had come."""

    ENVIRONMENT = "environment"
    """The interpreter, or the TVM in it."""
    IMPORT = "import"
    """Running the kernel's module."""
    BUILDER = "builder"
    """Finding and calling the builder."""
    PARSE = "parse"
    """TVM reading the TVMScript of the kernel."""
    COMPILE = "compile"
    """TVM lowering the function and printing its CUDA."""
    SOURCE_MAP = "source map"
    """Telling which lines of Python the CUDA came from."""
    LIMIT = "limit"
    """A limit on time, memory or output."""
    WORKER = "worker"
    """The process that builds, or the pipe to it."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the closure: its absolute path, and its text as the editor has it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What one build may use."""

    time_seconds: float = 120.0
    memory_bytes: int | None = 16 * 1024 * 1024 * 1024
    """How much memory its process may take, TVM's included; None: as much as there is."""
    output_bytes: int = 16 * 1024 * 1024
    """How much the build may write on its standard output and error before it is stopped."""


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """One build: a closure of sources, which kernel of it, its arguments and the target.

    `entry` names the file of `files` that holds the kernel; `search_paths` are the absolute
    directories its imports are looked up in. With a `builder` that function (or `T.jit` kernel) is
    called with `args`; without one the module-level kernel `kernel` is compiled, or all of them.

    In a registered kernel's module (see `registered`) the builder is called with the configuration
    that has the label `config`, the first without one; `args` change or add to it.
    """

    entry: str
    files: tuple[SourceFile, ...]
    search_paths: tuple[str, ...] = ()
    builder: str | None = None
    kernel: str | None = None
    args: Mapping[str, Scalar] = field(default_factory=dict)
    config: str | None = None
    source_map: bool = True
    """Whether the kernels are to carry their source maps. The CUDA is the same with and without."""
    machine_code: bool = False
    """Whether to compile the CUDA too, for PTX, SASS and the resource report."""
    arch: str = "sm_100a"
    """The architecture to compile for; empty: that of the target, or else of its host's GPU."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in the user's sources."""

    file: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class BuildDiagnostic:
    """Something that went wrong: one sentence for a reader, the whole story, and the place.

    `frames` leads from the outermost call in the user's files to the place itself. `rule` is the
    code of the rule it breaks, where that is known.
    """

    severity: Severity
    stage: Stage
    message: str
    detail: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    frames: tuple[Frame, ...] = ()
    rule: str | None = None


class Via(Enum):
    """How it is known which Python a CUDA line came from."""

    STATEMENT = "statement"
    """The statement that printed the line carries this place through every pass."""
    DEFINITION = "definition"
    """The kernel's signature and its closing brace: the function itself."""
    SHARED = "shared"
    """A value that TVM computes once for several statements: the place of the first of them."""
    INSIDE = "inside"
    """A guard or loop of the compiler's own: told from the statements inside it."""
    NEXT = "next"
    """A statement of the compiler's own: the place of the next one."""
    ENCLOSING = "enclosing"
    """A statement of the compiler's own: the place of what is around it."""

    @property
    def is_guess(self) -> bool:
        """Tell whether the place is that of a neighbour, not of the line itself."""
        return self not in (Via.STATEMENT, Via.DEFINITION)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """The Python that one CUDA line came from, outermost call first; never without a frame.

    A frame covers a whole statement; of a compound one, its header.
    """

    cuda_line: int
    frames: tuple[Frame, ...]
    via: Via


@dataclass(frozen=True, slots=True)
class Launch:
    """Extents of grid, block and cluster along x, y, z; None where it depends on an argument."""

    grid: tuple[int | None, ...]
    block: tuple[int | None, ...]
    cluster: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """What one CTA takes; None where the kernel does not say it."""

    dynamic_smem_bytes: int | None = None
    tmem_columns: int | None = None


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of PTX or SASS, and the CUDA line (from 1) it came from, where that is known."""

    text: str
    cuda_line: int | None


@dataclass(frozen=True, slots=True)
class ResourceReport:
    """What the assembler says one thread, or one CTA, of a kernel takes."""

    kernel: str
    registers: int
    stack_bytes: int = 0
    spill_store_bytes: int = 0
    spill_load_bytes: int = 0
    barriers: int = 0
    static_smem_bytes: int = 0


@dataclass(frozen=True, slots=True)
class MachineCode:
    """What a CUDA compiler made of a kernel. Every figure is that of `compiler`.

    `problem` is a sentence on why there is none, and `detail` the compiler's own words.
    """

    compiler: str = ""
    ptx: tuple[CodeLine, ...] = ()
    sass: tuple[CodeLine, ...] = ()
    reports: tuple[ResourceReport, ...] = ()
    problem: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class KernelResult:
    """One kernel and the CUDA it became. `map` is empty where no source map was made.

    A diagnostic then says why.
    """

    name: str
    builder: str | None
    args: Mapping[str, Scalar]
    cuda: str
    tvm_version: str
    target: str
    map: tuple[MapEntry, ...] = ()
    launch: Launch | None = None
    resources: Resources = Resources()
    config: str | None = None
    """The label of the configuration that a registered kernel was built in."""
    machine: MachineCode | None = None
    """What a CUDA compiler made of it, where that was asked for."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file beyond the sources that a build has run, as it was: its size and its time."""

    CHANGED: ClassVar[int] = -1
    """The size of a file that was saved while the build ran: it equals no file as it is."""

    path: str
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: str) -> LoadedFile | None:
        """Look at a file; None where there is none."""
        try:
            status = Path(path).stat()
        except OSError:
            return None
        return cls(path, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build gave. `output` is the end of what the user's code printed meanwhile.

    `loaded` are the files beyond its sources that it ran: another result may come when they change.
    """

    kernels: tuple[KernelResult, ...] = ()
    diagnostics: tuple[BuildDiagnostic, ...] = ()
    output: str = ""
    loaded: tuple[LoadedFile, ...] = ()

    @classmethod
    def refusal(cls, stage: Stage, reason: str, detail: str = "") -> BuildResult:
        """Return the result of a build that could not be tried."""
        return cls(diagnostics=(BuildDiagnostic(Severity.ERROR, stage, reason, detail),))

    @property
    def failed(self) -> bool:
        """Tell whether an error kept a kernel from being built."""
        return any(item.severity is Severity.ERROR for item in self.diagnostics)


@dataclass(frozen=True, slots=True)
class TvmBuild:
    """One build of TVM: the name it is imported by, its version, what tells it from others."""

    package: str
    version: str
    key: str


@dataclass(frozen=True, slots=True)
class Environment:
    """The Python a worker runs in and the TVM it found there, or the reason there is none.

    `builds` has what was imported, which is known once TVM is warm.
    """

    python_version: str
    executable: str
    tvm_version: str | None = None
    tvm_path: str | None = None
    reason: str | None = None
    detail: str = ""
    builds: tuple[TvmBuild, ...] = ()

    @property
    def usable(self) -> bool:
        """Tell whether kernels can be built here."""
        return self.reason is None and self.tvm_version is not None


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU of a host, as its driver names it. The `capability` of a B200 is (10, 0)."""

    name: str
    capability: tuple[int, int]
    driver: str = ""

    @property
    def arch(self) -> str:
        """The architecture to compile for: `sm_100a`, `sm_90a`."""
        major, minor = self.capability
        return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


@dataclass(frozen=True, slots=True)
class HostReport:
    """What a host is, for `tirx-lens doctor`: found out when asked, without importing torch.

    `clock` is the host's time in seconds since 1970, `free_bytes` is of the folder that builds work
    in. `shadowing` are directories that `import tvm` may find in place of the installed one. Each
    tool is a sentence such as "nvcc 13.0 at /usr/local/cuda/bin/nvcc", None where there is none.
    """

    environment: Environment
    hostname: str
    clock: float
    free_bytes: int | None = None
    scratch: str = ""
    gpus: tuple[Gpu, ...] = ()
    gpu_problem: str | None = None
    torch_version: str | None = None
    nvcc: str | None = None
    nvrtc: str | None = None
    shadowing: tuple[str, ...] = ()
