"""The classes that kernels are of, in the package of TVM's that a module uses: or in both."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

from .tvm_build import TVM, TVM_TIRX

_FUNCTIONS = {TVM: ("tirx", "PrimFunc"), TVM_TIRX: ("tirx", "Function")}
_JITS = {TVM: ("tirx.script.parser.entry", "TIRJit"), TVM_TIRX: ("tirx.script.jit", "JITFunction")}


@dataclass(frozen=True, slots=True)
class Kinds:
    """Classes of functions, of modules of them, and of kernels that are yet to be specialized."""

    functions: tuple[type, ...]
    modules: tuple[type, ...]
    jits: tuple[type, ...]

    @classmethod
    def loaded(cls) -> Kinds:
        """Return those of the packages that are loaded. Raises ImportError where none can be."""
        packages = [package for package in (TVM, TVM_TIRX) if package in sys.modules]
        packages = packages or [importlib.import_module(TVM).__name__]
        return cls(
            tuple(_class(package, *_FUNCTIONS[package]) for package in packages),
            tuple(importlib.import_module(package).IRModule for package in packages),
            tuple(_class(package, *_JITS[package]) for package in packages),
        )


def package_of(function: Any) -> str:
    """Return the package that a function of TVM's belongs to."""
    return type(function).__module__.partition(".")[0]


def _class(package: str, module: str, name: str) -> type:
    found: type = getattr(importlib.import_module(f"{package}.{module}"), name)
    return found
