"""Trees of TVM's statements: walking them, and copying one with something put in its place."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Make = Callable[[Any, Any], Any]

_BODIES = {
    "AttrStmt": ("body",),
    "For": ("body",),
    "While": ("body",),
    "IfThenElse": ("then_case", "else_case"),
}


def kind_of(statement: Any) -> str:
    """Return the name of a statement's class, which is what 0.26 and 0.27 have in common."""
    return type(statement).__name__


def statements_in(statement: Any) -> Iterator[Any]:
    """Yield a statement and all below it in program order, sequences themselves left out."""
    pending = [statement]
    while pending:
        node = pending.pop()
        if kind_of(node) == "SeqStmt":  # a slice of TVM's arrays is faster than their iterator
            pending.extend(reversed(node.seq[:]))
            continue
        yield node
        pending.extend(body for body in reversed(bodies_of(node)) if body is not None)


def bodies_of(statement: Any) -> list[Any]:
    """Return the bodies of a compound statement; the `else` of an `if` is None when it has none."""
    return [getattr(statement, name) for name in _BODIES.get(kind_of(statement), ())]


class Copier:
    """Copies statements of one TVM. A kind it does not know stays as it is, with all below it.

    The classes themselves also take what older code passes, and some refuse a `SequentialSpan`; so
    their constructors in C++ are called.
    """

    def __init__(self) -> None:
        make: Any = importlib.import_module("tvm.tirx._ffi_api")
        self._make = make
        self._leaves: dict[str, Make] = {
            "Evaluate": lambda s, span: make.Evaluate(s.value, span),
            "Bind": lambda s, span: make.Bind(s.var, s.value, span),
            "AllocBuffer": lambda s, span: make.AllocBuffer(s.buffer, s.annotations, span),
            "DeclBuffer": lambda s, span: make.DeclBuffer(s.buffer, s.data, span),
            "BufferStore": self._copy_of_store,
            "ScopeIdDefStmt": lambda s, span: make.ScopeIdDefStmt(getattr(s, "def"), span),
            "Break": lambda _, span: make.Break(span),
            "Continue": lambda _, span: make.Continue(span),
            "Return": lambda s, span: make.Return(s.value, span),
        }

    def sequence(self, statements: list[Any]) -> Any:
        """Return one statement for a list that is not empty."""
        return statements[0] if len(statements) == 1 else self._make.SeqStmt(statements, None)

    def with_bodies(self, statement: Any, bodies: Sequence[Any], span: Any) -> Any:
        """Return a compound statement with other bodies, as `bodies_of` has them, and a span."""
        s, make = statement, self._make
        kind = kind_of(s)
        if kind == "AttrStmt":
            return make.AttrStmt(s.node, s.attr_key, s.value, bodies[0], span)
        if kind == "For":
            return make.For(
                *(s.loop_var, s.min, s.extent, s.kind, bodies[0]),
                *(s.thread_binding, s.annotations, getattr(s, "step", None), span),
            )
        if kind == "While":
            return make.While(s.condition, bodies[0], span)
        return make.IfThenElse(s.condition, bodies[0], bodies[1], span)

    def with_spans(self, statement: Any, span_of: Callable[[Any], Any]) -> Any:
        """Return the tree with the spans that `span_of` gives; None leaves a statement its own.

        What needs no other span is not copied.
        """
        kind = kind_of(statement)
        if kind == "SeqStmt":
            before = statement.seq[:]
            after = [self.with_spans(item, span_of) for item in before]
            if all(new is old for new, old in zip(after, before, strict=True)):
                return statement
            return self._make.SeqStmt(after, statement.span)
        span = span_of(statement)
        before = bodies_of(statement)
        if not before:
            make = self._leaves.get(kind)
            return statement if span is None or make is None else make(statement, span)
        after = [None if body is None else self.with_spans(body, span_of) for body in before]
        if span is None and all(new is old for new, old in zip(after, before, strict=True)):
            return statement
        return self.with_bodies(statement, after, statement.span if span is None else span)

    def _copy_of_store(self, statement: Any, span: Any) -> Any:
        parts = [statement.buffer, statement.value, statement.indices]
        if hasattr(statement, "predicate"):  # 0.26
            parts.append(statement.predicate)
        return self._make.BufferStore(*parts, span)
