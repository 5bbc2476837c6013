"""TVM's parser without the work that nobody reads. Same results; measured in `benchmarks/`."""

from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE = __name__.rpartition(".")[0]


def quicken() -> None:
    """Change the functions in this process, which is one build's or a worker's own."""
    inspect.stack = _stack_of_the_user
    _quicken_inline()


def _stack_of_the_user(context: int = 1) -> list[inspect.FrameInfo]:
    """Do what `inspect.stack` does, up to the worker's own frames.

    TVM asks for the stack at each barrier and pool it meets, and `inspect` reads the source of
    every frame for it.
    """
    frames: list[inspect.FrameInfo] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_worker_frame(frame):
        frames.append(_frame_info(frame, context))
        frame = frame.f_back
    return frames


def is_worker_frame(frame: FrameType) -> bool:
    """Tell whether a frame runs code of this package."""
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and name.startswith(_PACKAGE + ".")


def _frame_info(frame: FrameType, context: int) -> inspect.FrameInfo:
    known = inspect.getframeinfo(frame, context)
    positions = getattr(known, "positions", None)  # since Python 3.11
    extra: dict[str, Any] = {} if positions is None else {"positions": positions}
    return inspect.FrameInfo(frame, *known, **extra)


def _quicken_inline() -> None:
    """Find the parser of a `T.inline` call by looking at the callers' globals alone.

    TVM 0.26 and 0.27 ask `inspect.getouterframes`, which reads and splits the source of every
    caller: two thirds of the parse of a large kernel. Where the method has gone, nothing is done.
    """
    parser = importlib.import_module("tvm.script.parser.core.parser")
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
