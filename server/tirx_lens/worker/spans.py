"""Where in Python a statement of TVM's comes from: spans as call stacks, and back."""

from __future__ import annotations

import importlib
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Point:
    """Lines of a file, 1-based and inclusive, as TVM names the file."""

    file: str
    line: int
    end_line: int


Chain = tuple[Point, ...]
"""A call stack of points, outermost call first; empty where nothing is known."""

# The tracing front end of the package tirx-kernels stands to a kernel as TVM's own library does.
_TRACING_LIBRARY = "tirx_lite"


class Spans:
    """Reads and makes spans of one process. Reading is cached: statements share their spans."""

    def __init__(self) -> None:
        ir = importlib.import_module("tvm.ir")
        self._span, self._sequence, self._name = ir.Span, ir.SequentialSpan, ir.SourceName
        self._read: dict[int, tuple[Any, Chain]] = {}
        self._made: dict[Chain, Any] = {}

    def chain(self, span: Any) -> Chain:
        """Return the call stack of a `Span` or `SequentialSpan`; of None, an empty one."""
        if span is None:
            return ()
        key = handle(span)
        known = self._read.get(key)
        if known is None:
            # The span is kept with its chain, or its handle could be given to another one.
            known = self._read[key] = (span, tuple(_points(span)))
        return known[1]

    def same(self, one: Any, other: Any) -> bool:
        """Tell whether two spans read alike."""
        return handle(one) == handle(other) or self.chain(one) == self.chain(other)

    def make(self, chain: Chain) -> Any:
        """Return a span that reads as `chain`, which must not be empty."""
        made = self._made.get(chain)
        if made is None:
            parts = [
                self._span(self._name(point.file), point.line, point.end_line, 1, 1)
                for point in chain
            ]
            made = self._made[chain] = parts[0] if len(parts) == 1 else self._sequence(parts)
        return made

    def inside(self, outer: Any, inner: Any) -> Any:
        """Return `inner` as called from `outer`, or as it is when it says so already."""
        around, within = self.chain(outer), self.chain(inner)
        if within[: len(around)] == around:
            return inner
        return self._sequence([*_parts(outer), *_parts(inner)])


def handle(node: Any) -> int:
    """Return what identifies an object of TVM's, however many Python wrappers stand for it."""
    address: int = node.__chandle__()
    return address


@cache
def written_by_user(file: str) -> bool:
    """Tell whether a file is the user's: not TVM's, Python's or a tracing library's."""
    if not file or file.startswith("<"):
        return False
    if any(file.startswith(root) for root in _library_roots()):
        return False
    path = Path(file)
    if _TRACING_LIBRARY in path.parent.parts:
        return False
    return not file.startswith(_standard_library()) or "site-packages" in path.parts


@cache
def _library_roots() -> tuple[str, ...]:
    files = (importlib.import_module(name).__file__ for name in ("tvm", "tvm_ffi"))
    return tuple(str(Path(file).parent) + "/" for file in files if file)


@cache
def _standard_library() -> str:
    return sysconfig.get_paths()["stdlib"] + "/"


def user_points(chain: Iterable[Point]) -> Chain:
    """Return the points of a call stack that lie in the user's files.

    A front end that traces notes the innermost line by itself, in front of the whole stack: that
    line is then there twice, and the first is left out.
    """
    points = tuple(point for point in chain if written_by_user(point.file))
    if len(points) > 1 and points[0] == points[-1]:
        return points[1:]
    return points


def _parts(span: Any) -> list[Any]:
    parts = getattr(span, "spans", None)
    return [span] if parts is None else list(parts)


def _points(span: Any) -> Iterator[Point]:
    for part in _parts(span):
        if hasattr(part, "spans"):
            yield from _points(part)
        else:
            yield Point(str(part.source_name.name), int(part.line), int(part.end_line))
