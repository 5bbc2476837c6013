"""The source map of a build: what has to watch the parse and the compilation, and what comes of it.

Everything here is on top of a build that would be the same without it. Whatever goes wrong leaves
the kernel without a map, and a note that says why.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from .call_stacks import CallStacks
from .instruction_texts import asked_once
from .line_map import line_map
from .lost_spans import LostSpans
from .markers import Marker, MarkError, statements_of_lines
from .messages import BuildDiagnostic, Severity, Stage
from .spans import Spans
from .texts import Texts
from .tile_spans import TileSpans
from .tvm_build import TVM, TVM_TIRX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .markers import Node
    from .messages import Frame, MapEntry
    from .sources import SourceTree

MAPPED = ("0.26.", "0.27.")
"""The releases whose passes were looked at: which of them lose spans, and how."""

_FALLBACK = "TVM_COMPILE_FORCE_FALLBACK"


def _version() -> str:
    try:
        return str(importlib.import_module(TVM).__version__)
    except ModuleNotFoundError:
        return TVM_TIRX  # which brings the kernels, where there is no `tvm`


class SourceMapper:
    """Makes the source maps of one build, in the process of that build."""

    def __init__(self, tree: SourceTree, *, wanted: bool = True) -> None:
        self.notes: list[BuildDiagnostic] = []
        self._wanted = wanted
        self._texts = Texts(tree)
        self._missing: str | None = None
        self._marked: tuple[str, list[list[Node]]] | None = None
        self._why: str | None = None
        if not wanted:
            self._missing = "none was asked for"
            return
        version = _version()
        if not version.startswith(MAPPED):
            self._missing = f"lines can be followed in TVM 0.26 and 0.27, and this is {version}"
            return
        try:
            self._spans = Spans()
            self._lost = LostSpans(self._spans)
            self._stacks = CallStacks(self._spans, self._lost.remember_declaration)
            self._tiles = TileSpans(self._spans, self._stacks)
        except Exception as error:  # a part of TVM is not where it was
            self._missing = f"in this TVM {type(error).__name__}: {error}"

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Follow the kernels that are read, or traced, inside the `with` block."""
        if self._missing is not None:
            yield
            return
        with self._stacks.recording():
            yield

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """Follow the one kernel that is compiled inside the `with` block."""
        self._marked = self._why = None
        if self._missing is not None:
            yield
            return
        with self._lost.restoring(), self._tiles.watching(), self._printing_twice():
            yield

    def map_of(
        self, kernel: str, cuda: str, place: Frame, *, is_definition: bool
    ) -> tuple[MapEntry, ...]:
        """Return the map of the kernel compiled last; empty, with a note, if there is none.

        `place` is where the kernel is defined, or else where to point for it.
        """
        if not self._wanted:
            return ()
        why = self._missing or self._why
        if why is None and self._marked is None:
            why = "its CUDA was printed in a way that could not be watched"
        if why is None and self._marked is not None:
            marked, functions = self._marked
            try:
                statements = statements_of_lines(marked, cuda, functions)
                definition = place if is_definition else None
                entries = line_map(cuda, statements, functions, self._texts, definition)
                if self._lost.refused is not None:
                    self._note(
                        f"The source map of {kernel} guesses more", self._lost.refused, place
                    )
                return entries
            except MarkError as error:
                why = str(error)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
        self._note(f"The CUDA of {kernel} has no source map", why or "", place)
        return ()

    def _note(self, what: str, why: str, place: Frame) -> None:
        message = f"{what}: {why}"
        self.notes.append(
            BuildDiagnostic(
                *(Severity.NOTE, Stage.SOURCE_MAP, message),
                file=place.file,
                line=place.line,
                column=1,
            )
        )

    @contextlib.contextmanager
    def _printing_twice(self) -> Iterator[None]:
        importlib.import_module("tvm.tirx.build")
        build = vars(sys.modules["tvm.tirx.build"])  # the attribute tvm.tirx.build is a function
        original = build["codegen_build"]

        def codegen_build(module: Any, target: Any) -> Any:
            if target.kind.name != "cuda":
                return original(module, target)
            with asked_once():
                built = original(module, target)
                try:
                    self._marked = self._print_marked(original, module, target)
                except Exception as error:
                    self._why = f"printing it with marks failed: {type(error).__name__}: {error}"
            return built

        build["codegen_build"] = codegen_build
        try:
            yield
        finally:
            build["codegen_build"] = original

    def _print_marked(self, print_module: Any, module: Any, target: Any) -> Any:
        marker = Marker(self._spans)
        marked = marker.marked(module)
        before = os.environ.get(_FALLBACK)
        os.environ[_FALLBACK] = "1"  # no CUDA compiler is to see calls of what does not exist
        try:
            text = print_module(marked, target).inspect_source("cuda")
        finally:
            if before is None:
                del os.environ[_FALLBACK]
            else:
                os.environ[_FALLBACK] = before
        return str(text), marker.functions
