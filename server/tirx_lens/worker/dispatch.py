"""Where and why a tile operation has no implementation: TVM says why, but not where."""

from __future__ import annotations

import contextlib
import importlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .failures import first_sentence
from .messages import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .messages import BuildDiagnostic
    from .sources import SourceTree

_DISPATCHER = "tvm.tirx.operator.tile_primitive.dispatcher"
_ROW = re.compile(
    r"^\|\s*(?P<variant>\S+) \(prio=[^)]*\)\s*\|\s*(?P<reason>.*?)\s*\|$", re.MULTILINE
)

# What the implementations of 0.26 and 0.27 say of a buffer in the wrong memory. "Scope" alone tells
# nothing: it is also what they call the group of threads that takes part.
_MEMORY = re.compile(
    r"memory scopes|storage scope mismatch|operand scope \S+ !=|expected (?:local|shared) scope"
    r"|\b(?:[ABC]|SF[AB])_scope=|in register \(local\) scope|Unsupported src scope"
    r"|candidate scope must be|requires (?:src|dst) scope|global<->shared|shared-to-shared copy"
)
_PERHAPS_MEMORY = re.compile(r"must be local scope with matching dtype|validate_smem_tmem_copy")
_REASONS_SHOWN = 2


class DispatchWatch:
    """Remembers the tile operation whose dispatch failed."""

    def __init__(self, tree: SourceTree) -> None:
        self._tree = tree
        self._operation: Any = None
        self._report = ""

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the compilations inside the `with` block."""
        try:
            dispatcher = importlib.import_module(_DISPATCHER)
        except ImportError:
            yield
            return
        original = dispatcher.run_dispatch

        def spy(op_call: Any, *rest: Any, **options: Any) -> Any:
            try:
                return original(op_call, *rest, **options)
            except Exception as error:
                self._operation, self._report = op_call, str(error)
                raise

        vars(dispatcher)["run_dispatch"] = spy
        try:
            yield
        finally:
            vars(dispatcher)["run_dispatch"] = original

    @property
    def failed(self) -> bool:
        """Tell whether a dispatch failed."""
        return self._operation is not None

    def explain(self, diagnostic: BuildDiagnostic) -> BuildDiagnostic:
        """Return the diagnostic of the failure, at the operation and in one sentence."""
        diagnostic = replace(diagnostic, message=self._message(), rule=self._rule())
        spans = list(self._user_spans())
        if not spans:  # a library's own T.inline: the kernel's definition has to do
            return diagnostic
        span, original = spans[-1]
        line = int(span.line)
        return replace(
            diagnostic,
            file=original,
            line=line,
            column=self._tree.character_column(original, line, int(span.column)),
            frames=tuple(Frame(file, int(item.line), int(item.end_line)) for item, file in spans),
        )

    def _rule(self) -> str | None:
        if "no variant named" in self._report:
            return "TX502"
        reasons = [row["reason"] for row in _ROW.finditer(self._report)]
        told = [reason for reason in reasons if _MEMORY.search(reason)]
        others = [reason for reason in reasons if reason not in told]
        # An implementation that finds fault with something else would have taken these buffers.
        is_memory = bool(told) and all(_PERHAPS_MEMORY.search(reason) for reason in others)
        return "TX503" if is_memory else None

    def _message(self) -> str:
        name = str(self._operation.op.name).rsplit(".", 1)[-1]
        wanted = getattr(self._operation, "dispatch", None)
        if "no variant named" in self._report:
            has = ", ".join(self._variants())
            said = f"{name} has no dispatch named {str(wanted)!r} in this TVM"
            return first_sentence(f"{said}: it has {has}" if has else said)
        reasons = [
            f"{row['variant']} {_plain(row['reason'])}" for row in _ROW.finditer(self._report)
        ]
        if not reasons:
            return f"{name} has no implementation for this target"
        shown = "; ".join(reasons[:_REASONS_SHOWN])
        more = len(reasons) - _REASONS_SHOWN
        tail = f"; {more} more" if more > 0 else ""
        return first_sentence(f"{name} cannot be lowered here: {shown}{tail}")

    def _variants(self) -> list[str]:
        """Return the names that `dispatch=` may have for the operation, preferred ones first."""
        dispatcher = importlib.import_module(_DISPATCHER)
        listed = getattr(dispatcher, "list_registered_schedules", dict)
        known: dict[str, dict[str, list[str]]] = listed()
        return list(known.get(str(self._operation.op.name), {}).get("cuda", ()))

    def _user_spans(self) -> Iterator[tuple[Any, str]]:
        """Yield the spans of the operation, from the outermost `T.inline` call inwards."""
        for span in _flattened(getattr(self._operation, "span", None)):
            original = self._tree.original(str(span.source_name.name))
            if original is not None:
                yield span, original


def _flattened(span: Any) -> Iterator[Any]:
    if span is None:
        return
    parts = getattr(span, "spans", None)
    if parts is None:
        yield span
        return
    for part in parts:
        yield from _flattened(part)


def _plain(reason: str) -> str:
    """Return the reasons of one row without the names of the functions that checked.

    A row is "rejected: check_name — what it found; rejected: ...", or "declined — why", or
    "exception — ValueError: why".
    """
    kind, _, why = reason.partition(" — ")
    if kind == "declined":
        return f"declined it ({why})"
    if kind == "exception":
        return f"failed ({why})"
    found = []
    for part in reason.removeprefix("rejected: ").split("; rejected: "):
        name, _, why = part.partition(" — ")
        if why != f"{name} failed":
            found.append(why or name)
    return f"rejected it ({'; '.join(found)})"
