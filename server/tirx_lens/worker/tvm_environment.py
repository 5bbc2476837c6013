"""The TVM of this interpreter: where it is, whether it imports, whether it is one we know."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from .messages import Environment
from .tvm_build import TVM, TVM_TIRX, build_of

if TYPE_CHECKING:
    from .messages import TvmBuild

OLDEST = (0, 25)
"""The first release with TIRx. 0.25 to 0.27 were tried; a newer one is given the chance."""

ADVICE = "choose the interpreter your kernels run in, or install apache-tvm 0.27 into this one"


def look() -> Environment:
    """Say what can be said without importing TVM, which takes a second or more."""
    try:
        spec = importlib.util.find_spec("tvm")
    except (ImportError, ValueError) as error:
        return _environment(reason=f"`import tvm` fails: {error}", detail=traceback.format_exc())
    if spec is None:
        return _look_for_tirx()
    try:
        version: str | None = importlib.metadata.version("apache-tvm")
    except importlib.metadata.PackageNotFoundError:
        version = None  # a checkout on PYTHONPATH; the import tells
    return _environment(version=version, path=_directory(spec.origin))


def warm_up() -> Environment:
    """Import TVM and what building a kernel needs of it; never raises."""
    # TVM starts no thread at import, numpy's BLAS does. A process without threads is safe to fork.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Keeps nvcc and NVRTC out of tvm.compile on hosts that have CUDA: the text is all we want.
    os.environ["TVM_COMPILE_FORCE_FALLBACK"] = "1"
    os.environ["TVM_TIRX_COMPILE_FORCE_FALLBACK"] = "1"
    try:
        tvm = importlib.import_module("tvm")
    except ModuleNotFoundError as error:
        if error.name == TVM:
            return _warm_up_tirx()
        return _broken(error)
    except BaseException as error:  # a package may raise anything, SystemExit included
        return _broken(error)
    version = getattr(tvm, "__version__", None)
    path = _directory(getattr(tvm, "__file__", None))
    if not isinstance(version, str):
        where = path or ", ".join(getattr(tvm, "__path__", ()))
        return _environment(
            path=path,
            reason=f"`import tvm` finds {where}, which is not Apache TVM: {ADVICE}",
        )
    if not is_supported(version):
        return _environment(
            version=version,
            path=path,
            reason=f"TVM {version} is too old, 0.25 is the first with TIRx: {ADVICE}",
        )
    try:
        importlib.import_module("tvm.script.tirx")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "tvm":
            return _broken(error)
        return _environment(
            version=version, path=path, reason=f"TVM {version} at {path} has no TIRx: {ADVICE}"
        )
    except BaseException as error:
        return _broken(error)
    builds = (build_of(Path(path), version),) if path is not None else ()
    return _environment(version=version, path=path, builds=(*builds, *_build_beside()))


def _look_for_tirx() -> Environment:
    """Say what can be said without importing `tvm_tirx`, where there is no `tvm`."""
    try:
        spec = importlib.util.find_spec(TVM_TIRX)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return _missing()
    try:
        version: str | None = importlib.metadata.version("apache-tvm-tirx")
    except importlib.metadata.PackageNotFoundError:
        version = None
    return _environment(version=version, path=_directory(spec.origin))


def _warm_up_tirx() -> Environment:
    """Import `tvm_tirx`, which has the same language on its own, where there is no `tvm`."""
    try:
        tvm = importlib.import_module(TVM_TIRX)
        importlib.import_module(f"{TVM_TIRX}.script.tirx")
    except ModuleNotFoundError as error:
        if error.name == TVM_TIRX:
            return _missing()
        return _broken(error)
    except BaseException as error:
        return _broken(error)
    version, path = str(tvm.__version__), _directory(tvm.__file__)
    builds = (build_of(Path(path), version),) if path is not None else ()
    return _environment(version=version, path=path, builds=builds)


def _build_beside() -> tuple[TvmBuild, ...]:
    """Return the `tvm_tirx` that is installed beside `tvm`, without importing it."""
    try:
        spec = importlib.util.find_spec(TVM_TIRX)
        version = importlib.metadata.version("apache-tvm-tirx")
    except (ImportError, ValueError):
        return ()
    path = _directory(spec.origin) if spec is not None else None
    return (build_of(Path(path), version),) if path is not None else ()


def is_supported(version: str) -> bool:
    """Tell whether kernels may build with this release; of a version that is no number they may."""
    numbers = version.split(".")[:2]
    return not all(number.isdigit() for number in numbers) or tuple(map(int, numbers)) >= OLDEST


def _missing() -> Environment:
    return _environment(
        reason=f"Python {platform.python_version()} at {sys.executable} has no TVM: {ADVICE}"
    )


def _broken(error: BaseException) -> Environment:
    said = str(error).strip().splitlines()
    what = type(error).__name__ + (f": {said[0]}" if said else "")
    return _environment(
        reason=f"`import tvm` fails in {sys.executable} with {what}",
        detail="".join(traceback.format_exception(type(error), error, error.__traceback__)),
    )


def _environment(
    *,
    version: str | None = None,
    path: str | None = None,
    reason: str | None = None,
    detail: str = "",
    builds: tuple[TvmBuild, ...] = (),
) -> Environment:
    return Environment(
        python_version=platform.python_version(),
        executable=sys.executable,
        tvm_version=version,
        tvm_path=path,
        reason=reason,
        detail=detail,
        builds=builds,
    )


def _directory(origin: str | None) -> str | None:
    return str(Path(origin).parent) if origin else None
