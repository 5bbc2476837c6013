"""Spans with the whole Python call stack for statements that plain Python emits.

TVM's parser knows where a statement stands that it parses, `T.inline` calls included. A plain
Python function that a kernel calls runs outside its sight, and so does a kernel that is traced:
there the line is only found on the stack of frames, at the moment the statement is emitted.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import TYPE_CHECKING, Any

from .spans import Point, Spans, written_by_user

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from .spans import Chain

# Reaching one of these from a statement means that everything further out is parsed.
_PARSER_MODULES = (
    "tvm.script.parser.core.parser",
    "tvm.script.parser.core.evaluator",
    "tvm.tirx.script.parser.parser",
)
_BUILDER_CALLS = "tvm.tirx.script.builder._ffi_api"
_FRAME_CALLS = "tvm.script.ir_builder._ffi_api"

# What tirx-kernels notes the innermost line with, on every line that Python runs.
_TRACER = "_SourceSpanTracer"


class CallStacks:
    """Gives builders of this process the user's frames. `declared` is told of declared buffers."""

    def __init__(self, spans: Spans, declared: Callable[[Any, Any], None]) -> None:
        self._spans = spans
        self._declared = declared
        self._builder: type = importlib.import_module("tvm.script.ir_builder").IRBuilder
        self._ffi: Any = importlib.import_module(_FRAME_CALLS)
        self._push, self._pop = self._ffi.IRBuilderPushSourceSpan, self._ffi.IRBuilderPopSourceSpan
        self._probe = importlib.import_module("tvm.tirx").IntImm
        self._parser_files = frozenset(
            str(importlib.import_module(name).__file__) for name in _PARSER_MODULES
        )
        self._entered: list[tuple[FrameType, bool]] = []
        self._pushed: Chain = ()
        self._caller: Any = None
        self._undo: list[tuple[dict[str, Any], str, Any]] = []

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the stacks of statements emitted inside the `with` block."""
        try:
            self._install()
            yield
        finally:
            while self._undo:
                namespace, name, original = self._undo.pop()
                namespace[name] = original

    @contextlib.contextmanager
    def called_from(self, span: Any) -> Iterator[None]:
        """Let what is built inside the `with` block count as called from `span`."""
        before, self._caller = self._caller, span
        try:
            yield
        finally:
            self._caller = before

    def _install(self) -> None:
        function_class = importlib.import_module("tvm_ffi").Function
        calls = vars(importlib.import_module(_BUILDER_CALLS))
        for name, function in list(calls.items()):
            if name[:1].isupper() and isinstance(function, function_class):
                wrap = self._declaring if name == "DeclBuffer" else self._emitting
                self._replace(calls, name, wrap(function))
        leave = self._ffi.IRBuilderFrameExit
        self._replace(vars(self._ffi), "IRBuilderFrameExit", self._emitting(leave))
        self._replace(vars(self._ffi), "IRBuilderEnter", self._entering(self._ffi.IRBuilderEnter))
        self._replace(vars(self._ffi), "IRBuilderExit", self._exiting(self._ffi.IRBuilderExit))

    def _replace(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        self._undo.append((namespace, name, namespace[name]))
        namespace[name] = value

    def _entering(self, function: Any) -> Any:
        def enter(builder: Any) -> None:
            frame = sys._getframe(2)  # this function, IRBuilder.__enter__, the `with` statement
            if _TRACER in frame.f_globals and frame.f_globals[_TRACER] is not _no_tracer:
                self._replace(frame.f_globals, _TRACER, _no_tracer)
            function(builder)
            self._entered.append((frame, self._caller is not None))
            if self._caller is not None:
                self._push(builder, self._caller)

        return enter

    def _exiting(self, function: Any) -> Any:
        def leave(builder: Any) -> None:
            if self._entered and self._entered.pop()[1]:
                self._pop(builder)
            function(builder)

        return leave

    def _emitting(self, function: Any) -> Any:
        def emit(*given: Any) -> Any:
            stack = self._stack(sys._getframe(1))
            if not stack:
                return function(*given)
            return self._under(stack, function, given)

        return emit

    def _declaring(self, function: Any) -> Any:
        emit = self._emitting(function)

        def declare(*given: Any) -> Any:
            result = emit(*given)
            # TVM gives declarations no span.
            with contextlib.suppress(Exception):
                stack = self._stack(sys._getframe(1))
                where = self._under(stack, self._current_span, ())
                self._declared(getattr(result, "buffer", result), where)
            return result

        return declare

    def _under(self, stack: Chain, function: Any, given: tuple[Any, ...]) -> Any:
        """Call a function with the part of the stack that is not yet on the builder."""
        before, common = self._pushed, 0
        while common < min(len(stack), len(before)) and stack[common] == before[common]:
            common += 1
        if common == len(stack):
            return function(*given)
        builder = self._builder.current()  # type: ignore[attr-defined]
        self._push(builder, self._spans.make(stack[common:]))
        self._pushed = stack
        try:
            return function(*given)
        finally:
            self._pushed = before
            self._pop(builder)

    def _current_span(self) -> Any:
        builder = self._builder.current()  # type: ignore[attr-defined]
        return self._ffi.IRBuilderSetCurrentSourceSpan(builder, self._probe("int32", 0)).span

    def _stack(self, frame: FrameType | None) -> Chain:
        """Return the user's frames, outermost first, that plain Python runs below the builder."""
        boundary = self._entered[-1][0] if self._entered else None
        found: list[Point] = []
        while frame is not None and frame is not boundary:
            file = frame.f_code.co_filename
            if file in self._parser_files:
                break
            if written_by_user(file):
                found.append(Point(file, frame.f_lineno, frame.f_lineno))
            frame = frame.f_back
        else:
            if boundary is None:
                return ()  # built by hand, outside any builder's `with`: the stack ends nowhere
        found.reverse()
        return tuple(found)


def _no_tracer(_builder: Any) -> contextlib.AbstractContextManager[None]:
    """Stand in for a tracer: the stack is read where it matters, which costs a tenth."""
    return contextlib.nullcontext()
