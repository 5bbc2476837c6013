"""What reading a kernel's expressions does: ids are declared, objects made, operations noted."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tirx_lens.model.expr import (
    Call,
    Const,
    Expr,
    Id,
    IdKind,
    Member,
    Path,
    Ref,
    Sequence,
    Unknown,
)
from tirx_lens.model.kernel import Op, Operation, Statement
from tirx_lens.model.objects import ObjectKind
from tirx_lens.syntax import operations
from tirx_lens.syntax.calls import Arguments
from tirx_lens.syntax.gathered import Gathered
from tirx_lens.syntax.names import LANG_CLASSES
from tirx_lens.syntax.objects import ObjectTable
from tirx_lens.syntax.opaque import is_opaque
from tirx_lens.syntax.scope import Class, Function, Instance, Method

if TYPE_CHECKING:
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span

_ID_FUNCTIONS = {f"T.{kind.value}": kind for kind in IdKind}
# Before 0.25 one function declared an id of several scopes, told apart by `parent=`.
_BY_PARENT = {
    (IdKind.CTA, "cluster"): IdKind.CTA_IN_CLUSTER,
    (IdKind.WARP, "warpgroup"): IdKind.WARP_IN_WARPGROUP,
    (IdKind.THREAD, "warpgroup"): IdKind.THREAD_IN_WARPGROUP,
    (IdKind.THREAD, "warp"): IdKind.LANE,
}
_AXES: dict[object, tuple[IdKind, int]] = {
    "threadIdx.x": (IdKind.THREAD, 0),
    "blockIdx.x": (IdKind.CTA, 0),
    "blockIdx.y": (IdKind.CTA, 1),
    "blockIdx.z": (IdKind.CTA, 2),
}
_BUFFER_FUNCTIONS = (
    "T.alloc_",
    "T.decl_buffer",
    "T.match_buffer",
    "T.buffer",
    "T.local_scalar",
    "T.wg_reg_tile",
)


class Calls(Protocol):
    """Reads the bodies of functions of the workspace that a kernel calls."""

    def inline(self, function: Function, arguments: Arguments, span: Span) -> Expr:
        """Read a `T.inline` function as if it stood at the call."""

    def plain(self, function: Function, arguments: Arguments, span: Span) -> Expr:
        """Run a plain function, and return what it returns."""


class KernelEffects:
    """Where the reader of a kernel is, and what it has met there.

    `statements` is the block being read, `statement` the source range of its current statement,
    `target` the name that statement binds, `stack` the calls of functions around it. `is_plain`
    says that it is the body of a plain function, where an instruction only counts once it is handed
    on.
    """

    def __init__(self, calls: Calls) -> None:
        self.gathered = Gathered()
        self.statements: list[Statement] = []
        self.statement: Span | None = None
        self.target = ""
        self.stack: list[Span] = []
        self._objects = ObjectTable(self.gathered)
        self.is_plain = False
        self.instances: list[Instance] = []
        self._calls: Calls = weakref.proxy(calls)  # which holds this

    def member(self, target: KernelObject, name: str) -> Expr | None:
        """Return a member of a typed object, if the model knows it."""
        return self._objects.member(target, name)

    def call(self, span: Span, callee: Expr, arguments: Arguments) -> Expr:
        """Note what a call does and return its value."""
        match callee:
            case Function(inline=True):
                return self._calls.inline(callee, arguments, span)
            case Function():
                return self._calls.plain(callee, arguments, span)
            case Method(function=function, instance=instance):
                bound = Arguments(
                    (instance, *arguments.positional), arguments.keywords, arguments.complete
                )
                return self.call(span, function, bound)
            case Class():
                return self._construct(callee, arguments, span)
            case Path(dotted=dotted) if dotted in _ID_FUNCTIONS:
                return self._declare_id(_ID_FUNCTIONS[dotted], arguments, span)
            case Path(dotted=("T.launch_thread" | "T.env_thread") as dotted):
                return self._launch(arguments, span, opens=dotted == "T.launch_thread")
            case Path(dotted=dotted) if dotted.startswith("lang.") and dotted[5:] in LANG_CLASSES:
                built = self._objects.construct(dotted[5:], self.target, span, arguments)
                self._emit(Op.CONSTRUCT, dotted, span, arguments, created=built)
                return Ref(built, span=span)
            case Path(dotted=dotted):
                if is_opaque(callee):
                    self._emit(Op.OPAQUE, dotted, span, arguments)
                elif dotted.startswith(("T.", "Tx.")):
                    op = operations.of_call(dotted, arguments.positional)
                    handed_on = not self.is_plain or op is Op.OTHER
                    self._emit(op if handed_on else Op.OPAQUE, dotted, span, arguments)
                if dotted.startswith(_BUFFER_FUNCTIONS):
                    declared = self._objects.buffer(self.target, span, dotted, arguments)
                    return Ref(declared, span=span)
            case Member(base=Ref(target=target), name=method):
                op = operations.of_method(target.kind, method)
                made = None
                if op is Op.POOL_ALLOC:
                    made = self._objects.buffer(self.target, span, method, arguments)
                elif target.kind is ObjectKind.TMEM_POOL and method.startswith("alloc"):
                    made = self._objects.buffer(self.target, span, f"tmem.{method}", arguments)
                self._emit(op, method, span, arguments, receiver=target, created=made)
                if made is not None:
                    return Ref(made, span=span)
                if method == "remote_view":
                    there = arguments.get(0, "rank") or Unknown("no rank")
                    return Ref(replace(target, cta=there), span=span)
            case _ if is_opaque(callee):
                self._emit(Op.OPAQUE, _name_of(callee), span, arguments)
        return Call(callee, arguments.positional, arguments.keywords, span=span)

    def _construct(self, cls: Class, arguments: Arguments, span: Span) -> Expr:
        made = Instance(cls, self.target or cls.name, span=span)
        self.instances.append(made)
        self.gathered.unrepeatable += 1  # its fields change
        init = cls.member("__init__")
        if isinstance(init, Function):
            self.call(span, Method(init, made), arguments)
        elif init is not None or not cls.is_whole or arguments.positional or arguments.keywords:
            self._emit(Op.OPAQUE, cls.name, span, arguments)
        return made

    def note_opaque(self, name: str, span: Span) -> None:
        """Note a place that may execute anything."""
        self._emit(Op.OPAQUE, name, span, Arguments())

    def store_member(self, target: KernelObject, name: str, span: Span) -> None:
        """Note a store to a member: a pool whose `offset` is set is rewound."""
        if target.kind is ObjectKind.SMEM_POOL:
            self._emit(Op.POOL_MOVE, name, span, Arguments(), receiver=target)

    def bind_threads(self, control: Call) -> Expr | None:
        """Declare the threads that a `T.thread_binding` loop has a round for each of.

        Return what its variable is; None where the loop is another, or begins elsewhere than at 0.
        """
        if control.callee != Path("T.thread_binding"):
            return None
        given = Arguments(control.arguments, control.keywords)
        start, stop = given.get(0, "start"), given.get(1, "stop")
        axis, extent = given.get(2, "thread"), stop if stop is not None else start
        if stop is not None and not _is_none(stop) and start != Const(0):
            axis = None
        elif stop is None or _is_none(stop):
            extent = start
        return self._launched(axis, extent or Unknown("no extent"), control.span)

    def _launch(self, arguments: Arguments, span: Span, *, opens: bool) -> Expr:
        """Declare the threads of an axis of the launch, `threadIdx.x`; return a thread's number."""
        axis, extent = arguments.get(0, "thread"), arguments.get(1, "extent")
        if opens and isinstance(axis, Id):  # what `T.env_thread` gave
            if extent is not None and axis.kind is IdKind.THREAD:
                self.gathered.scope_ids.append(Id(axis.kind, (extent,), span=span))
            return axis
        if opens or not isinstance(axis, Const) or axis.value not in _AXES:
            return self._launched(axis, extent or Unknown("no extent"), span)
        kind, component = _AXES[axis.value]
        return Id(kind, (), component, span=span)

    def _launched(self, axis: Expr | None, extent: Expr, span: Span) -> Expr:
        known = _AXES.get(axis.value) if isinstance(axis, Const) else None
        if extent == Const(1) and known != (IdKind.THREAD, 0):
            return Const(0)
        if known is None:  # a second axis of threads: how they are numbered is not followed
            several = Unknown("threads of several axes")
            self.gathered.scope_ids.append(Id(IdKind.THREAD, (several,), span=span))
            return Unknown("an axis of the launch", span=span)
        launched = Id(known[0], (extent,), known[1], span=span)
        if known[0] is IdKind.THREAD:
            self.gathered.scope_ids.append(launched)
        return launched

    def _declare_id(self, kind: IdKind, arguments: Arguments, span: Span) -> Expr:
        parent = arguments.get(1, "parent")
        if isinstance(parent, Const) and isinstance(parent.value, str):
            kind = _BY_PARENT.get((kind, parent.value), kind)
        elif parent is not None or arguments.get(99, "preferred") is not None:
            arguments = Arguments((Unknown("extents that the launch may choose"),))
        given = arguments.get(0, "extents")
        if isinstance(given, Const) and isinstance(given.value, int):
            given = Sequence((given,))
        extents = given.items if isinstance(given, Sequence) else ()
        if given is not None and not isinstance(given, Sequence) and not _is_none(given):
            extents = (Unknown("extents that are not a list"),)
        ids = tuple(Id(kind, extents, index, span=span) for index in range(max(1, len(extents))))
        self.gathered.scope_ids.extend(ids[:1])
        return ids[0] if len(ids) == 1 else Sequence(ids, span=span)

    def _emit(
        self,
        op: Op,
        name: str,
        span: Span,
        arguments: Arguments,
        *,
        receiver: KernelObject | None = None,
        created: KernelObject | None = None,
    ) -> None:
        self.gathered.events += op is not Op.OTHER
        self.statements.append(
            Operation(
                op=op,
                name=name,
                span=span,
                statement=self.statement or span,
                receiver=receiver,
                created=created,
                arguments=arguments.positional,
                keywords=arguments.keywords,
                stack=tuple(self.stack),
                complete=arguments.complete,
            )
        )


def _is_none(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None


def _name_of(callee: Expr) -> str:
    return callee.name if isinstance(callee, Member) else "a function"
