"""The call of a tile operation as the place of all that the operation is lowered to.

TVM writes the implementation of `Tx.copy_async` and the like in Python of its own: what comes out
has TVM's lines for spans, or none. Here each statement is noted as called from the operation.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING, Any

from .statements import Copier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .call_stacks import CallStacks
    from .spans import Spans

_DISPATCHER = "tvm.tirx.operator.tile_primitive.dispatcher"
_CONTEXT = "tvm.tirx.tile_primitive"


class TileSpans:
    """Watches dispatches of tile operations."""

    def __init__(self, spans: Spans, stacks: CallStacks) -> None:
        self._spans = spans
        self._stacks = stacks
        self._copier = Copier()
        self._same: Any = importlib.import_module("tvm_ffi").structural_equal
        self._operation: Any = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the compilations inside the `with` block."""
        # `f_op_dispatcher`, which C++ holds on to, looks `run_dispatch` up in its module.
        dispatcher = importlib.import_module(_DISPATCHER)
        context = importlib.import_module(_CONTEXT).DispatchContext
        run, init, post = (
            dispatcher.run_dispatch,
            context.add_init_stmt,
            context.add_post_buffer_def_stmt,
        )

        def run_dispatch(operation: Any, *rest: Any, **options: Any) -> Any:
            before, self._operation = self._operation, operation.span
            try:
                with self._stacks.called_from(operation.span):
                    result = run(operation, *rest, **options)
                return self._function(result)
            finally:
                self._operation = before

        def add_init_stmt(self_: Any, statement: Any, host: bool = False) -> Any:
            return init(self_, statement if host else self._placed(statement), host)

        def add_post_buffer_def_stmt(self_: Any, buffer: Any, statement: Any) -> Any:
            return post(self_, buffer, self._placed(statement))

        vars(dispatcher)["run_dispatch"] = run_dispatch
        context.add_init_stmt = add_init_stmt
        context.add_post_buffer_def_stmt = add_post_buffer_def_stmt
        try:
            yield
        finally:
            vars(dispatcher)["run_dispatch"] = run
            context.add_init_stmt = init
            context.add_post_buffer_def_stmt = post

    def _function(self, function: Any) -> Any:
        if not hasattr(function, "body"):
            return function
        placed = self._placed(function.body)
        return function if placed is function.body else function.with_body(placed, function.span)

    def _placed(self, statement: Any) -> Any:
        """Return the statement with spans that begin at the operation; else as it is."""
        caller = self._operation
        if caller is None:
            return statement
        with contextlib.suppress(Exception):  # a place that is not known stops no build
            placed = self._copier.with_spans(statement, lambda item: self._span(caller, item.span))
            # Nothing but spans may differ: what is compiled stays the user's.
            if self._same(statement, placed):
                return placed
        return statement

    def _span(self, caller: Any, span: Any) -> Any:
        if span is None:
            return caller
        inside = self._spans.inside(caller, span)
        return None if inside is span else inside
