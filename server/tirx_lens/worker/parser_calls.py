"""The way to an error of TVM's parser: the statements, and the calls of `T.inline`, it had come to.

A traceback has the parser's own frames there, and one of the user's for the whole kernel. What the
parser stood at is in the variables of its frames: the statement it visits, and the source of each
macro that it has entered. Where another release has other ones, nothing is found in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .messages import Frame

if TYPE_CHECKING:
    from types import TracebackType

    from .sources import SourceTree

_VISIT = "visit"  # Parser.visit(self, node)
_ENTER = "parse_macro"  # ScriptMacro.parse_macro(self, parser), which has the macro's source


def parser_calls(trace: TracebackType | None, tree: SourceTree) -> list[Frame]:
    """Return the calls that led to an error of the parser's, outermost first, its place left out.

    The calls of plain Python are among them; the decorator that began the parsing is none.
    """
    frames: list[Frame] = []
    source: Any = None
    statement: Any = None
    while trace is not None:
        code, variables = trace.tb_frame.f_code, trace.tb_frame.f_locals
        original = tree.original(code.co_filename)
        if original is not None:
            frames += _called(source, statement, tree)
            frames.append(Frame(original, trace.tb_lineno, trace.tb_lineno))
            source = statement = None
        elif str(trace.tb_frame.f_globals.get("__name__", "")).startswith("tvm."):
            if code.co_name == _ENTER:
                frames += _called(source, statement, tree)
                source, statement = getattr(variables.get("self"), "source", None), None
            elif code.co_name == _VISIT and _line_of(variables.get("node")) is not None:
                if source is None:
                    diagnostics = getattr(variables.get("self"), "diag", None)
                    source = getattr(diagnostics, "source", None)
                    _drop_decorator(frames, source, tree)
                statement = variables["node"]
        trace = trace.tb_next
    return frames


def _called(source: Any, statement: Any, tree: SourceTree) -> list[Frame]:
    """Return the statement that the parser stands at, if it is of the user's."""
    line, start = _line_of(statement), getattr(source, "start_line", None)
    original = tree.original(str(getattr(source, "source_name", "")))
    if line is None or not isinstance(start, int) or original is None:
        return []
    last = getattr(statement, "end_lineno", None)
    end = last if isinstance(last, int) else line
    return [Frame(original, start + line - 1, start + end - 1)]


def _drop_decorator(frames: list[Frame], source: Any, tree: SourceTree) -> None:
    """Drop the frame of the decorator or `def` line of the very function that is parsed."""
    original = tree.original(str(getattr(source, "source_name", "")))
    start = getattr(source, "start_line", None)
    if frames and (frames[-1].file, frames[-1].line) == (original, start):
        frames.pop()


def _line_of(node: Any) -> int | None:
    line = getattr(node, "lineno", None)
    return line if isinstance(line, int) else None
