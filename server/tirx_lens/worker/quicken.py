"""TVM's parser without the work that nobody reads. Same results; measured in `benchmarks/`."""

from __future__ import annotations

import importlib
import inspect
import itertools
import linecache
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = __name__.rpartition(".")[0]
_DRIVERS = (".build", ".builder", ".compile", ".module", ".rehearsal")


def quicken() -> None:
    """Change the functions in this process, which is one build's or a worker's own."""
    _quicken_stack()
    _quicken_inline()


class LazyFrame:
    """What `inspect.FrameInfo` is, with the parts that cost time worked out when they are read.

    Line and position are those of the moment it was made.
    """

    def __init__(self, frame: FrameType, context: int) -> None:
        self.frame = frame
        self.filename = frame.f_code.co_filename
        self.lineno = frame.f_lineno
        self.function = frame.f_code.co_name
        self._instruction = frame.f_lasti
        self._context = context

    @cached_property
    def positions(self) -> Any:
        """The columns of the running expression; None before Python 3.11."""
        table = getattr(self.frame.f_code, "co_positions", None)
        if table is None:
            return None
        found = next(itertools.islice(table(), self._instruction // 2, None), None)
        make = getattr(importlib.import_module("dis"), "Positions")  # noqa: B009
        return None if found is None else make(*found)

    @property
    def code_context(self) -> list[str] | None:
        """The lines around the running one; None where there is no source."""
        return self._around[0]

    @property
    def index(self) -> int | None:
        """Which of these is the running one."""
        return self._around[1]

    @cached_property
    def _around(self) -> tuple[list[str] | None, int | None]:
        lines = linecache.getlines(self.filename, self.frame.f_globals)
        if self._context <= 0 or not lines:
            return None, None
        wanted = self.lineno - 1 - self._context // 2
        start = max(0, min(wanted, len(lines) - self._context))
        return lines[start : start + self._context], self.lineno - 1 - start


def _quicken_stack() -> None:
    """Give TVM, and nobody else, stacks of lazy frames, up to the worker's own frames.

    It asks for the stack at each barrier and pool it meets, and `inspect` looks the source of every
    frame up for it.
    """
    original = inspect.stack

    def stack(context: int = 1) -> list[Any]:
        caller = sys._getframe(1)
        if not str(caller.f_globals.get("__name__", "")).startswith("tvm."):
            return original(context)[1:]  # without this function's own frame
        frames = []
        frame: FrameType | None = caller
        while frame is not None and not _drives_the_build(frame):
            if not is_worker_frame(frame):  # what watches TVM at work leaves no trace
                frames.append(LazyFrame(frame, context))
            frame = frame.f_back
        return frames

    inspect.stack = stack


def _drives_the_build(frame: FrameType) -> bool:
    """Tell whether everything further out is the worker's own doing."""
    return is_worker_frame(frame) and frame.f_globals["__name__"].endswith(_DRIVERS)


def is_worker_frame(frame: FrameType) -> bool:
    """Tell whether a frame runs code of this package."""
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.startswith(_PACKAGE + ".")


def _quicken_inline() -> None:
    """Find the parser of a `T.inline` call by looking at the callers' globals alone.

    TVM 0.26 and 0.27 ask `inspect.getouterframes`, which reads and splits the source of every
    caller: two thirds of the parse of a large kernel. Where the method has gone, nothing is done.
    """
    try:
        parser = importlib.import_module("tvm.script.parser.core.parser")
    except ImportError:
        return
    macro = getattr(parser, "ScriptMacro", None)
    if macro is None or not hasattr(macro, "_find_parser_def"):
        return

    def find_parser(self: Any) -> Any:
        key = self.parser_object_name
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            found = frame.f_globals.get(key)
            if found is not None:
                return found
            frame = frame.f_back
        raise RuntimeError(f"{key} is in no caller: T.inline was called outside a kernel")

    macro._find_parser_def = find_parser
