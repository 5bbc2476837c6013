"""TX509: a variable of a kernel has a name that CUDA keeps for itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import Call, Const, Path, constant_int, is_host
from tirx_lens.model.finding import Applicability, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Bind, Block, Loop, Operation
from tirx_lens.model.queries import blocks_of
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.renaming import renamed
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# What nvcc 13.0 refuses as a variable after TVM 0.26 and 0.27 printed it: these versions rename
# the keywords of C (`short` becomes `short_1`), not those that C++ adds.
_WORDS = """
    alignas alignof and_eq asm auto bitand bitor bool catch char16_t char32_t compl const
    const_cast constexpr decltype delete dynamic_cast explicit export false friend inline mutable
    namespace new noexcept not_eq nullptr operator or_eq private protected public
    reinterpret_cast signed sizeof static static_assert static_cast template this thread_local
    throw true typeid typename using virtual volatile wchar_t xor xor_eq
"""
_KEYWORDS = frozenset(_WORDS.split())
_MACROS = frozenset({"uchar", "uint", "ushort"})  # TVM's prelude defines these
_TYPES = {"half": "float16", "nv_bfloat16": "bfloat16"}  # what TVM calls these types in CUDA
_TAKEN = _KEYWORDS | _MACROS | _TYPES.keys()
_COUNTED = {"range": 3, "T.serial": 2}  # loops that stay loops in CUDA; and how many bounds
_REGISTERS = ("T.alloc_local", "T.wg_reg_tile")


@dataclass(frozen=True, slots=True)
class _Declared:
    """A name that TVM writes into the CUDA as it is, and the block in which it is visible."""

    name: str
    span: Span
    what: str
    after: tuple[Block, int]


class GeneratedNameClash(Rule):
    """A variable is named like something of CUDA's, and the generated code does not compile.

    ## What it does
    Finds scope ids, loop variables and `T.let` names that are C++ keywords (`new`, `static`,
    `using`, `template`), macros of TVM's prelude (`uint`), or a CUDA type (`half`, `nv_bfloat16`)
    that the code below them needs for a register buffer of that type.

    ## Why it is bad
    TVM writes these names into the CUDA as they are and renames only the keywords of C. The
    build of the module succeeds; nvcc then stops at a line that nobody wrote: `int new = ...`. A
    variable called `half` hides the type, and `half x[8];` no longer parses.

    ## Example
    ```python
    half = T.warpgroup_id([2])
    row = T.alloc_local((64,), "float16")  # CUDA: half row_ptr[64]; but half is an int
    ```

    ## Use instead
    ```python
    half_id = T.warpgroup_id([2])
    row = T.alloc_local((64,), "float16")
    ```

    ## Fix
    Renames the variable everywhere in the kernel.

    ## When not to
    Buffers and scalars are safe, because their names get a suffix in CUDA (`half_ptr`); so are
    `T.meta_var` names and the variables of `T.unroll`, which are gone by then, and keywords that
    TVM renames (`short`, `register`, `default`). A type that only shared or global memory uses may
    still clash; that is not reported.

    ## References
    - CUDA C++ Programming Guide, *C++ Language Support*
    - TVM, `src/target/source/codegen_cuda.cc` and `codegen_c.cc`: reserved names
    """

    code: ClassVar[str] = "TX509"
    name: ClassVar[str] = "generated-name-clash"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.BUILD,)
    fix_title: ClassVar[str | None] = "Rename the variable in the kernel"

    VALID = (
        # Names that are not printed as they are: scalars, buffers, objects, views, unrolled loops.
        in_kernel("""
            half = lane_id // 16
            using: T.int32 = 0
            static = T.alloc_local((4,), "float16")
            new = T.meta_var(bx * 128)
            pool = T.SMEMPool()
            template = TMABar(pool, 1)
            this = T.wg_reg_tile(64, dtype="float16")
            for delete in T.unroll(4):
                T.cuda.warp_sync()
        """),
        # TVM renames the keywords of C; a name that only contains one is free.
        in_kernel("""
            for short in range(4):
                T.cuda.warp_sync()
            register: T.let[T.int32] = lane_id * 2
            new_row: T.let[T.int32] = lane_id * 4
        """),
        # A type nobody needs below, and one that was needed before.
        in_kernel("""
            first = T.alloc_local((4,), "float16")
            half: T.let[T.int32] = lane_id * 2
            rest = T.alloc_local((4,), "float32")
        """),
        # Out of sight again where the type is needed.
        in_kernel("""
            for half in range(2):
                T.cuda.warp_sync()
            row = T.alloc_local((4,), "float16")
        """),
        # A loop that runs once, or perhaps once, is no loop in CUDA.
        """\
from tvm.script import tirx as T


def build(STEPS):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        for new in range(STEPS):
            T.cuda.warp_sync()
        for old in range(1):
            T.cuda.warp_sync()

    return kernel
""",
    )

    INVALID = (
        Invalid(
            """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    half = T.warpgroup_id([2])  # <-
    tid = T.thread_id_in_wg([128])
    if half == 0:
        row = T.alloc_local((8,), "float16")
        row[0] = A[half + tid]
""",
            replacement="""\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    half_id = T.warpgroup_id([2])
    tid = T.thread_id_in_wg([128])
    if half_id == 0:
        row = T.alloc_local((8,), "float16")
        row[0] = A[half_id + tid]
""",
        ),
        # A tuple of ids, an unused one among them.
        Invalid(
            """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    old, new = T.cta_id([4, 2])  # <-
    tid = T.thread_id([128])
    A[tid + old] = T.float16(0)
""",
            replacement="""\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    old, new_id = T.cta_id([4, 2])
    tid = T.thread_id([128])
    A[tid + old] = T.float16(0)
""",
        ),
        Invalid(
            in_kernel("""
                for this in range(8):  # <-
                    static: T.let[T.int32] = this * 4  # <-
                    A[static + lane_id] = A[this]
                while wg_id == 0:
                    for using in T.serial(0, 4):  # <-
                        A[using] = A[lane_id]
            """),
            replacement=in_kernel("""
                for this_id in range(8):
                    static_id: T.let[T.int32] = this_id * 4
                    A[static_id + lane_id] = A[this_id]
                while wg_id == 0:
                    for using_id in T.serial(0, 4):
                        A[using_id] = A[lane_id]
            """),
        ),
        # In a T.inline function; a macro of TVM's prelude; two loops at once.
        Invalid(
            in_kernel("""
                @T.inline
                def clear():
                    for uint in range(4):  # <-
                        A[uint] = T.float16(0)
                    for new, k in T.grid(4, 4):  # <-
                        A[new * 4 + k] = T.float16(0)

                clear()
            """),
            replacement=in_kernel("""
                @T.inline
                def clear():
                    for uint_id in range(4):
                        A[uint_id] = T.float16(0)
                    for new_id, k in T.grid(4, 4):
                        A[new_id * 4 + k] = T.float16(0)

                clear()
            """),
        ),
        # The keyword of a call might be this name or not: its author renames it.
        Invalid(
            in_kernel("""
                new: T.let[T.int32] = lane_id * 2  # <-
                step(new=new)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look at every name that CUDA will see."""
        names = {name for bind in view.listing.binds for name in bind.names}
        places = {place for loop in view.listing.loops for place in loop.variables}
        if _TAKEN.isdisjoint(names | set(map(view.source.slice, places))):
            return
        ids = [scope_id.span for scope_id in view.kernel.scope_ids]
        for declared in _declared(view, view.kernel.body, ids):
            name, related = declared.name, []
            if name in _KEYWORDS:
                reason = f"`{name}` is a keyword of C++"
            elif name in _MACROS:
                reason = f"`{name}` is a macro in every file TVM generates"
            elif name in _TYPES and (buffer := _needing(_TYPES[name], *declared.after)) is not None:
                reason = (
                    f"it hides CUDA's type `{name}`, which the {_TYPES[name]} buffer on line "
                    f"{view.line(buffer.span)} needs"
                )
                related.append(Related(buffer.span, f"becomes `{name} ...[...]` in CUDA"))
            else:
                continue
            to = f"{name}_id"
            edits = renamed(view.source, view.kernel.span, name, to)
            inside = view.kernel.span.contains(declared.span)
            fix = Fix(f"Rename to `{to}`", Applicability.SAFE, edits) if edits and inside else None
            message = (
                f"the {declared.what} `{name}` keeps its name in the CUDA, where {reason}: TVM "
                f"builds the kernel and nvcc refuses it. Rename it, say to `{to}`"
            )
            yield self.finding(Severity.ERROR, message, declared.span, fix=fix, related=related)


def _declared(view: KernelView, block: Block, ids: Sequence[Span]) -> Iterator[_Declared]:
    """Yield the names that reach the CUDA as they are written."""
    for index, statement in enumerate(block.statements):
        if isinstance(statement, Bind):
            is_id = any(statement.span.contains(place) for place in ids)
            if is_id or statement.is_let:
                what = "scope id" if is_id else "`T.let` variable"
                for name in statement.names:
                    place = _place(view, statement.span, name)
                    yield _Declared(name, place, what, (block, index))
        elif isinstance(statement, Loop) and _stays(statement):
            for place in statement.variables:
                name = view.source.slice(place)
                yield _Declared(name, place, "loop variable", (statement.body, -1))
        for inner in blocks_of(statement):
            yield from _declared(view, inner, ids)


def _place(view: KernelView, statement: Span, name: str) -> Span:
    found = re.search(rf"\b{re.escape(name)}\b", view.source.slice(statement))
    before = view.source.slice(statement)[: found.start()] if found is not None else ""
    start = statement.start + len(before.encode())
    return Span(start, start + len(name.encode()))


def _stays(loop: Loop) -> bool:
    """Tell whether a loop surely is one in CUDA too: it runs more than once."""
    control = loop.control
    if not isinstance(control, Call) or not isinstance(control.callee, Path) or control.keywords:
        return False
    name, bounds = control.callee.dotted, control.arguments
    if name == "T.grid":
        return all((constant_int(bound) or 0) > 1 for bound in bounds)
    if not 1 <= len(bounds) <= _COUNTED.get(name, 0):
        return False
    if not all(map(is_host, bounds)):
        return len(bounds) == 1
    known = [bound for bound in map(constant_int, bounds) if bound is not None]
    return len(known) == len(bounds) and all(known[2:]) and bool(range(*known)[1:])


def _needing(dtype: str, block: Block, start: int) -> Operation | None:
    """Return the first register buffer of a type below a place."""
    for statement in block.statements[start + 1 :]:
        if isinstance(statement, Operation) and statement.name in _REGISTERS:
            given = statement.argument(1, "dtype")
            if isinstance(given, Const) and given.value == dtype:
                return statement
        for inner in blocks_of(statement):
            found = _needing(dtype, inner, -1)
            if found is not None:
                return found
    return None
