"""A kernel as a structured program: what every rule, the worksheet and the simulator read.

Both front ends make this model. Statements keep the source's structure; `T.inline` bodies stand at
their call sites, with the call sites in `stack`, outermost first.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from tirx_lens.model.kind import Kind
from tirx_lens.model.record import record

if TYPE_CHECKING:
    from tirx_lens.model.expr import Expr, Id
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span


class Op(Kind):
    """What an operation does, whatever version of TVM spelled it."""

    CTA_SYNC = "CTA-wide barrier"
    CLUSTER_SYNC = "cluster-wide barrier"
    CLUSTER_ARRIVE = "arrival at the cluster-wide barrier"
    WARPGROUP_SYNC = "warpgroup barrier"
    WARP_SYNC = "warp barrier"
    NAMED_BARRIER = "named barrier"
    BARRIER_INIT = "barrier init"
    MBARRIER_INIT = "raw mbarrier init"
    BARRIER_WAIT = "barrier wait"
    BARRIER_ARRIVE = "barrier arrive"
    STATE_ADVANCE = "pipeline state advance"
    NEXT_TILE = "step of a tile scheduler"
    FENCE = "fence"
    FENCE_MBARRIER_INIT = "mbarrier-init fence"
    FENCE_PROXY_ASYNC = "proxy fence"
    FENCE_AFTER_THREAD_SYNC = "tcgen05 fence after a thread synchronisation"
    FENCE_BEFORE_THREAD_SYNC = "tcgen05 fence before a thread synchronisation"
    COPY = "tile copy"
    COPY_ASYNC = "asynchronous tile copy"
    GEMM_ASYNC = "asynchronous matrix multiplication"
    TILE_OP = "tile operation"
    BULK_COMMIT = "commit of a bulk group"
    BULK_WAIT = "wait for bulk groups"
    TMEM_ALLOC = "tcgen05.alloc"
    TMEM_DEALLOC = "tcgen05.dealloc"
    TMEM_RELINQUISH = "tcgen05.relinquish_alloc_permit"
    TCGEN05_COMMIT = "tcgen05.commit"
    TMEM_WAIT_LOAD = "wait for TMEM loads"
    TMEM_WAIT_STORE = "wait for TMEM stores"
    SETMAXNREG = "setmaxnreg"
    POOL_ALLOC = "pool allocation"
    POOL_COMMIT = "pool commit"
    POOL_MOVE = "pool rewind"
    CONSTRUCT = "construction"
    OPAQUE = "a call whose body is not known"
    OTHER = "other operation"


FENCES = frozenset({Op.FENCE, Op.FENCE_MBARRIER_INIT, Op.FENCE_PROXY_ASYNC})
"""Fences that order memory, whichever proxy or scope they name."""


@record()
class Operation:
    """One operation that the kernel executes, or that builds it (allocations, constructions).

    `name` is the canonical name: `T.cuda.cta_sync`, `T.ptx.mbarrier.init.shared.b64`, `init`.
    `span` is the call, `statement` the whole statement it stands in, `stack` the call sites of the
    `T.inline` functions around it. `receiver` is the object whose method it is, and `created` the
    object it makes. `complete` is false when a `*` or `**` hides some of what it is given.
    """

    op: Op
    name: str
    span: Span
    statement: Span
    receiver: KernelObject | None = None
    created: KernelObject | None = None
    arguments: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    stack: tuple[Span, ...] = ()
    complete: bool = True

    def argument(self, position: int, keyword: str) -> Expr | None:
        """Return an argument by its position or its keyword."""
        for name, value in self.keywords:
            if name == keyword:
                return value
        return self.arguments[position] if position < len(self.arguments) else None


@record()
class Block:
    """Statements in order.

    A block among statements is one that the host chose or a `with` brings: `span` is then the whole
    `if` or `with` statement in the source.
    """

    statements: tuple[Statement, ...] = ()
    span: Span | None = None


@record(eq=False)  # each is one place: comparing bodies is dear
class Branch:
    """`if condition: then else: orelse`; an `elif` is a branch alone in `orelse`."""

    condition: Expr
    condition_span: Span
    then: Block
    orelse: Block
    span: Span


class LoopKind(Kind):
    """How a loop is written."""

    FOR = "for"
    WHILE = "while"


@record(eq=False)
class Loop:
    """A loop. `control` is the iterable of a `for` or the condition of a `while`.

    `variables` are the places of the names that a `for` binds.
    """

    kind: LoopKind
    control: Expr
    body: Block
    span: Span
    header: Span
    variables: tuple[Span, ...] = ()


class ExitKind(Kind):
    """How control leaves the block."""

    RETURN = "return"
    BREAK = "break"
    CONTINUE = "continue"


@record()
class Exit:
    """`return`, `break` or `continue`, of every thread that gets here."""

    kind: ExitKind
    span: Span


@record()
class Inlined:
    """The body of a function of the workspace at a call of it.

    `return` in a `T.inline` function leaves the kernel, as in the CUDA that TVM makes of it; that
    of a plain function, which Python runs, is no statement of the model. `span` is the statement
    that the call stands in, `call` the call itself.
    """

    name: str
    body: Block
    span: Span
    call: Span


@record()
class Bind:
    """A statement that gives names a meaning from here on, or a new one.

    `is_let` says that it is `name: T.let[...] = value`.
    """

    names: tuple[str, ...]
    span: Span
    is_let: bool = False


@record()
class Other:
    """A statement that executes nothing the model speaks of: a store, a docstring."""

    span: Span


Statement: TypeAlias = "Operation | Branch | Loop | Exit | Inlined | Bind | Other | Block"


@record()
class Problem:
    """Something the front end could not understand: it makes rules silent, never wrong.

    `cuts` says that statements are missing from the model, so that nothing can be said of how the
    others go together.
    """

    span: Span
    reason: str
    cuts: bool = False


@record()
class Mention:
    """A place where an object is named: `full`, the `empty` of `pipe.empty`, or `bars[1]`.

    In a function that a kernel calls more than once, one place may name several objects.
    """

    span: Span
    target: KernelObject


@record()
class WrittenCall:
    """A call of something of TVM's, as a text spells it, whatever its version knows of it.

    `name` is the path that imports and attributes make: `tvm.script.tirx.ptx.tcgen05.wait.ld`,
    `tvm.script.tirx.ptx.[fence.proxy.async]` for the form with a string, and for a method that of
    its class. `callee` is what stands before the brackets, `span` the whole call. `complete` is
    false when a `*` or `**` hides some of what it is given.
    """

    name: str
    callee: Span
    span: Span
    positional: int
    keywords: tuple[str, ...]
    complete: bool = True

    @property
    def has_string_form(self) -> bool:
        """Tell whether an instruction is spelled as a string: `T.ptx["mbarrier.init..."]`."""
        return self.name.endswith("]")


@record()
class Kernel:
    """One TVMScript kernel.

    `builder` is the host function around it, if any; `scope_ids` are all declarations, in order;
    `span` is the whole definition, `name_span` its name. `plain_functions` are the names of the
    functions in its body that no decorator makes anything of. `is_used` is false when nothing in
    the function around it can ever get at the kernel. `unbound` are the places where a name is read
    that nothing known binds in a scope around it. `arguments` are the whole numbers that the
    builder was read with, by parameter; `mentions` are the places that name its objects, in no
    order; `calls` are those of TVM's functions, as the texts spell them.
    """

    name: str
    span: Span
    name_span: Span
    body: Block
    scope_ids: tuple[Id, ...]
    builder: str | None = None
    problems: tuple[Problem, ...] = field(default=())
    plain_functions: tuple[Span, ...] = ()
    is_used: bool = True
    unbound: tuple[Span, ...] = ()
    arguments: tuple[tuple[str, int], ...] = ()
    mentions: tuple[Mention, ...] = ()
    calls: tuple[WrittenCall, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether the model has every statement of the kernel."""
        return not any(problem.cuts for problem in self.problems)


@record()
class KernelFile:
    """What one source text holds. Where it `has_errors`, there may be more kernels in it."""

    kernels: tuple[Kernel, ...] = ()
    has_errors: bool = False
