"""Spans that passes of TVM lose, put back right behind these passes.

`LowerTIRx` drops the spans of guards that narrow who runs a tile operation, and of scope ids;
`LowerTIRxOpaque` drops those of loops (0.26 and 0.27). What such a statement is about survives: the
condition, the loop variable, the name of what is bound. `UnrollLoop` and `SplitHostDevice` make
guards, loops and bindings anew, around statements that keep their spans.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

from .enclosure import COMPOUND, Enclosed, keys_of
from .spans import Spans, handle
from .statements import Copier, kind_of, statements_in

if TYPE_CHECKING:
    from collections.abc import Iterator

_PASSES = ("LowerTIRx", "LowerTIRxOpaque", "UnrollLoop", "SplitHostDevice")
_TELLING = frozenset({"LowerTIRx", "LowerTIRxOpaque"})
"""Ahead of these it is read what statements are about; the others come after them."""

_READ = frozenset({"For", "IfThenElse", "ScopeIdDefStmt", "Bind"})
_RESTORED = frozenset({"For", "IfThenElse", "While", "Bind", "DeclBuffer"})
_DEEPEST_OPERAND = 3
_NO_IDENTITY = frozenset({"IntImm", "FloatImm", "StringImm", "Var", "BufferLoad", "TensorLoad"})


class LostSpans:
    """Remembers spans by what their statements are about. One for all kernels of a build."""

    def __init__(self, spans: Spans) -> None:
        self._spans = spans
        self._copier = Copier()
        self._ffi = importlib.import_module("tvm_ffi")
        self._transform = importlib.import_module("tvm.ir.transform")
        self._ir_module = importlib.import_module("tvm").IRModule
        self._known: dict[int, tuple[Any, Any]] = {}
        self._names: dict[tuple[str, str], Any] = {}
        self._declared: list[tuple[Any, Any]] = []
        self._before: Any = None
        self._enclosed: Enclosed | None = None
        self.refused: str | None = None

    @contextlib.contextmanager
    def restoring(self) -> Iterator[None]:
        """Put spans back in the compilations inside the `with` block."""
        passes = importlib.import_module("tvm.tirx.transform")
        originals = {name: getattr(passes, name) for name in _PASSES}
        for name, original in originals.items():
            vars(passes)[name] = self._making(name, original)
        try:
            yield
        finally:
            vars(passes).update(originals)

    def remember(self, about: Any, span: Any) -> None:
        """Note the span of the statement that is about an object of TVM's."""
        if span is not None:
            self._known.setdefault(handle(about), (about, span))

    def remember_declaration(self, buffer: Any, span: Any) -> None:
        """Note the span of a buffer's declaration, to which TVM gives none."""
        if span is not None:
            self._declared.append((buffer, span))

    def _remember_name(self, kind: str, name: Any, span: Any) -> None:
        """Note a name, which a copy keeps. Two places that give the same name: it tells neither."""
        key = (kind, str(name))
        known = self._names.setdefault(key, span)
        if known is not None and not self._spans.same(known, span):
            self._names[key] = None

    def _making(self, name: str, original: Any) -> Any:
        return lambda *given: self._around(name, original(*given))

    def _around(self, name: str, original: Any) -> Any:
        def before(module: Any, _context: Any) -> Any:
            self._before, self._enclosed = module, None
            if name in _TELLING:
                with self._bookkeeping():
                    self._read()
            return module

        def after(module: Any, _context: Any) -> Any:
            with self._bookkeeping():
                return self._restored(module)
            return module

        module_pass, sequence = self._transform.module_pass, self._transform.Sequential
        return sequence(
            [
                module_pass(before, opt_level=0, name="tirx_lens.ReadSpans"),
                original,
                module_pass(after, opt_level=0, name="tirx_lens.RestoreSpans"),
            ]
        )

    def _read(self) -> None:
        for buffer, span in self._declared:  # by now the buffers have got their names
            self._remember_name("DeclBuffer", buffer.name, span)
        self._declared.clear()
        for function in _functions(self._before):
            for statement in statements_in(function.body):
                if kind_of(statement) in _READ and statement.span is not None:
                    self._read_statement(statement)

    def _read_statement(self, statement: Any) -> None:
        kind, span = kind_of(statement), statement.span
        if kind == "For":
            self.remember(statement.loop_var, span)
        elif kind == "IfThenElse":
            for part in _operands(statement.condition):
                self.remember(part, span)
        elif kind == "ScopeIdDefStmt":
            for variable in getattr(statement, "def").def_ids:
                self.remember(variable, span)
                self._remember_name("Bind", variable.name, span)
        else:
            self._remember_name(kind, statement.var.name, span)

    def _restored(self, module: Any) -> Any:
        changed = {
            name: function
            for name, before in module.functions.items()
            if (function := self._function(before)) is not before
        }
        if not changed:
            return module
        functions = {**dict(module.functions.items()), **changed}
        result = self._ir_module(
            functions, attrs=module.attrs, global_infos=dict(module.global_infos)
        )
        # Nothing but spans may differ: else what is compiled would no longer be the user's.
        if self._ffi.structural_equal(module, result):
            return result
        self.refused = "putting spans back would have changed the kernel"
        return module

    def _function(self, function: Any) -> Any:
        if not hasattr(function, "body"):
            return function
        missing: list[Any] = []

        def by_subject(statement: Any) -> Any:
            if kind_of(statement) not in _RESTORED or statement.span is not None:
                return None
            span = self._span_by_subject(statement)
            if span is None and kind_of(statement) in COMPOUND:
                missing.append(statement)
            return span

        body = self._copier.with_spans(function.body, by_subject)
        if missing:
            body = self._by_enclosure(body)
        return function if body is function.body else function.with_body(body, function.span)

    def _by_enclosure(self, body: Any) -> Any:
        if self._enclosed is None:
            self._enclosed = Enclosed(self._spans)
            for function in _functions(self._before):
                self._enclosed.add(function.body)
        found = {
            handle(item): span
            for item, key in keys_of(body)
            if item.span is None and (span := self._enclosed.span_for(key)) is not None
        }
        if not found:
            return body
        return self._copier.with_spans(body, lambda item: found.get(handle(item)))

    def _span_by_subject(self, statement: Any) -> Any:
        """Return the span of the statement that was about the same thing before the pass."""
        kind = kind_of(statement)
        if kind == "For":
            return self._of(statement.loop_var)
        if kind == "IfThenElse":
            found = (self._of(part) for part in _operands(statement.condition))
            return next((span for span in found if span is not None), None)
        if kind == "DeclBuffer":
            return self._names.get((kind, str(statement.buffer.name)))
        if kind == "Bind":
            known = self._of(statement.var)
            return known or self._names.get((kind, str(statement.var.name)))
        return None

    def _of(self, about: Any) -> Any:
        known = self._known.get(handle(about))
        return None if known is None else known[1]

    @contextlib.contextmanager
    def _bookkeeping(self) -> Iterator[None]:
        """Let nothing that goes wrong here stop the user's compilation."""
        try:
            yield
        except Exception as error:
            self.refused = f"reading spans failed with {type(error).__name__}: {error}"


def _functions(module: Any) -> Iterator[Any]:
    return (function for function in module.functions.values() if hasattr(function, "body"))


def _operands(expression: Any, depth: int = _DEEPEST_OPERAND) -> Iterator[Any]:
    """Yield a condition and its operands, which lowering may rebuild it around.

    `T.filter(v, c)` becomes `c != 0`. Variables and constants stand in other conditions too.
    """
    kind = type(expression).__name__
    if kind in _NO_IDENTITY:
        return
    yield expression
    if depth:
        operands = (
            list(expression.args)
            if kind == "Call"
            else [getattr(expression, name) for name in "ab" if hasattr(expression, name)]
        )
        for operand in operands:
            yield from _operands(operand, depth - 1)
