"""From an exception to the diagnostic a person reads: one sentence, the place, the whole story."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .memory import is_out_of_memory, memory_limit, size
from .messages import BuildDiagnostic, Frame, Severity, Stage
from .parser_calls import parser_calls

if TYPE_CHECKING:
    from types import TracebackType

    from .sources import SourceTree

# What TVM's parser ends an error with: " --> file:line:column".
_TVM_PLACE = re.compile(r"^\s*-->\s*(?P<file>.+):(?P<line>\d+):(?P<column>\d+)\s*$", re.MULTILINE)
_FAULT_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ', re.MULTILINE)
_WORKER_FILES = "<tirx-lens>/"  # as the bootstrap names them
_LONGEST_MESSAGE = 300
_FRAMES_KEPT = 16  # from each end of a stack


class BuildError(Exception):
    """Carries a diagnostic that is already complete."""

    def __init__(self, diagnostic: BuildDiagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class HostOnlyError(Exception):
    """A function has no part that runs on the GPU. The text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the user's files; the column is 1-based, in characters, or unknown."""

    file: str
    line: int
    column: int | None = None


def diagnose(
    error: BaseException, stage: Stage, doing: str, tree: SourceTree, place: Place | None = None
) -> BuildDiagnostic:
    """Describe what an exception of the user's code or of TVM means.

    `doing` completes "... raised ValueError": "importing gemm.py". `place` is where to point when
    the exception itself names no line of the user's files.
    """
    if isinstance(error, BuildError):
        return error.diagnostic
    frames = user_frames(error.__traceback__, tree)
    diagnostic = BuildDiagnostic(
        Severity.ERROR,
        stage,
        _message(error, doing),
        detail=tree.translate(_story(error)),
        frames=frames,
    )
    if isinstance(error, SyntaxError) and error.filename is not None:
        original = tree.original(error.filename)
        if original is not None:
            return _at(diagnostic, _syntax_place(error, original, tree))
    if isinstance(error, SyntaxError) and (null := tree.first_null()) is not None:
        return _at(diagnostic, Place(*null))  # Python names no line for a null byte
    if type(error).__name__ == "DiagnosticError":
        return _of_tvm_parser(error, diagnostic, tree)
    if is_out_of_memory(error):
        diagnostic = replace(diagnostic, stage=Stage.LIMIT)
    if place is None and frames:
        place = Place(frames[-1].file, frames[-1].line, _column(error.__traceback__, tree))
    return diagnostic if place is None else _at(diagnostic, place)


def user_frames(trace: TracebackType | None, tree: SourceTree) -> tuple[Frame, ...]:
    """Return the frames of a traceback that lie in the user's files, outermost first."""
    frames = []
    for summary in traceback.extract_tb(trace):
        original = tree.original(summary.filename)
        if original is not None and summary.lineno is not None:
            end = getattr(summary, "end_lineno", None) or summary.lineno
            frames.append(Frame(original, summary.lineno, end))
    return _shortened(frames)


def fault_place(dump: str, tree: SourceTree) -> tuple[Frame, ...]:
    """Return the user's frames of a stack that faulthandler printed, outermost first."""
    frames = []
    for match in _FAULT_FRAME.finditer(dump):
        original = tree.original(match["file"])
        if original is not None:
            frames.append(Frame(original, int(match["line"]), int(match["line"])))
    return _shortened(frames[::-1])


def _shortened(frames: list[Frame]) -> tuple[Frame, ...]:
    """Leave the middle of an endless recursion out."""
    if len(frames) > 2 * _FRAMES_KEPT:
        frames = [*frames[:_FRAMES_KEPT], *frames[-_FRAMES_KEPT:]]
    return tuple(frames)


def definition_line(tree: SourceTree, original: str, line: int) -> int:
    """Return the `def` line of the function whose code begins, decorators included, at `line`."""
    found = (item.line for item in tree.definitions(original) if item.first_line == line)
    return next(found, line)


def definition_of(tree: SourceTree, original: str, name: str) -> int | None:
    """Return the `def` line of the first function of that name in a file."""
    return next((item.line for item in tree.definitions(original) if item.name == name), None)


def first_sentence(text: str) -> str:
    """Return the first line of a message, cut to a length that fits where editors show it."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    line = lines[0] if lines else ""
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


def _story(error: BaseException) -> str:
    """Return the traceback, and those of what led to it, without the worker's own frames."""
    story: traceback.TracebackException | None
    story = whole = traceback.TracebackException(type(error), error, error.__traceback__)
    while story is not None:
        shown = [item for item in story.stack if not item.filename.startswith(_WORKER_FILES)]
        story.stack = traceback.StackSummary.from_list(shown or list(story.stack)[-1:])
        story = story.__cause__ or story.__context__
    return "".join(whole.format())


def _message(error: BaseException, doing: str) -> str:
    try:
        said = first_sentence(str(error))
    except Exception:  # a class whose text raises
        said = ""
    if isinstance(error, SyntaxError):
        return f"Python cannot read this: {error.msg}"
    if isinstance(error, HostOnlyError):
        return said
    if isinstance(error, SystemExit):
        return f"{doing} called exit({'' if error.code is None else repr(error.code)})"
    if is_out_of_memory(error):
        return f"{doing} needs more memory than {_memory_allowed()}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{doing} needs the module {error.name!r}, which this interpreter does not have"
    return f"{doing} raised {type(error).__name__}" + (f": {said}" if said else "")


def _memory_allowed() -> str:
    """Return "the 16 GiB that a build may take", or what there is where nothing is limited."""
    limit = memory_limit()
    return "there is" if limit is None else f"the {size(limit)} that a build may take"


def _of_tvm_parser(
    error: BaseException, diagnostic: BuildDiagnostic, tree: SourceTree
) -> BuildDiagnostic:
    text = str(error)
    head = text.split("\n -->")[0].strip()
    diagnostic = replace(
        diagnostic,
        stage=Stage.PARSE,
        message=first_sentence(tree.translate(head.removeprefix("error:"))),
        detail=tree.translate(text),
        frames=_shortened(parser_calls(error.__traceback__, tree)) or diagnostic.frames,
    )
    match = _TVM_PLACE.search(text)
    original = tree.original(match["file"]) if match else None
    if match and original is not None:
        line = int(match["line"])
        column = tree.character_column(original, line, int(match["column"]))
        return _at(diagnostic, Place(original, line, column))
    if diagnostic.frames:  # the parser stopped in a library's own T.inline
        last = diagnostic.frames[-1]
        return _at(diagnostic, Place(last.file, last.line))
    return diagnostic


def _at(diagnostic: BuildDiagnostic, place: Place) -> BuildDiagnostic:
    frames = diagnostic.frames
    if not frames or (frames[-1].file, frames[-1].line) != (place.file, place.line):
        frames = (*frames, Frame(place.file, place.line, place.line))
    return replace(diagnostic, file=place.file, line=place.line, column=place.column, frames=frames)


def _syntax_place(error: SyntaxError, original: str, tree: SourceTree) -> Place:
    """Return where Python stopped, with the column in characters.

    Compiling a file, CPython counts some columns in bytes; compiling a text, it does so only for
    errors that it finds after parsing, which carry no text.
    """
    try:
        compile(tree.text(original), original, "exec", dont_inherit=True)
    except SyntaxError as again:
        error = again
    except ValueError:  # null characters
        pass
    line, column = error.lineno or 1, error.offset or 1
    if error.text is None:
        column = tree.character_column(original, line, column)
    return Place(original, line, column)


def _column(trace: TracebackType | None, tree: SourceTree) -> int | None:
    """Return the column (1-based, characters) of the innermost user frame, from Python 3.11 on."""
    column = None
    for summary in traceback.extract_tb(trace):
        original = tree.original(summary.filename)
        offset = getattr(summary, "colno", None)
        if original is not None and summary.lineno is not None:
            column = (
                None
                if offset is None
                else tree.character_column(original, summary.lineno, offset + 1)
            )
    return column


def short_name(path: str) -> str:
    """Return the last part of a path, as messages name files."""
    return Path(path).name
