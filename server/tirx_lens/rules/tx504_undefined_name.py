"""TX504: a name that the kernel's parser will not find."""

from __future__ import annotations

import builtins
import re
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Bind, Block, Loop
from tirx_lens.model.queries import blocks_of
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.source import SourceText

_KNOWN = frozenset({*dir(builtins), "I", "R", "T", "Tx", "ir", "relax", "tir", "tirx", "tvm"})
# With these a file may bind names that are written nowhere in it.
_DYNAMIC = re.compile(rb"import\s*\*|\b(?:globals|locals|vars|exec|eval|setattr|__dict__)\b")
_IMPORTS_TVM = re.compile(rb"^\s*(?:import|from)\s+tvm", re.MULTILINE)
_PROSE = re.compile(rb'""".*?"""|#[^\n]*', re.DOTALL)
_MOST_NAMES = 50  # looked for in the whole text, each by itself
_UNREAD_BINDINGS = (
    r"\bas\s+[^:\n]*\b{name}\b",
    r"\blambda\b[^:\n]*\b{name}\b",
    r"\bfor\b[^:\n]*\b{name}\b[^:\n]*\bin\b",
    r"\*\s*{name}\b",
    r"=\s*{name}\s*=(?!=)",
    r"\b(?:global|nonlocal|import|case|except|del)\b[^\n]*\b{name}\b",
)


class UndefinedName(Rule):
    """A kernel uses a name that is not bound where it stands.

    ## What it does
    Finds names that nothing in the file binds, and names that are bound only inside a block of
    the kernel (`if`, `for`, `while`, `with`, a `T.inline` function) and used outside of it.

    ## Why it is bad
    A kernel's body is not run by Python. TVM's parser keeps a frame of names for each block and
    drops it at the block's end: what an `if` binds is unknown behind it, and the build stops with
    "Undefined variable". Python, and every tool that checks Python, sees nothing wrong.

    ## Example
    ```python
    if wg_id == 0:
        row = T.alloc_local((64,), "float16")
    A[0] = row[0]
    ```

    ## Use instead
    ```python
    row = T.alloc_local((64,), "float16")
    if wg_id == 0:
        ...
    A[0] = row[0]
    ```

    ## When not to
    A file that imports with a star, uses `exec` or `globals`, or does not import TVM may have
    names that are written nowhere in it: nothing is said of it. Nor of a name that occurs anywhere
    else in the file, nor of what Python may leave unread (`and`, `or`, `x if c else y`).

    ## References
    - TVM, `python/tvm/script/parser/core/parser.py`, `VarTable.with_frame`
    - TVM, `python/tvm/script/parser/core/evaluator.py`
    """

    code: ClassVar[str] = "TX504"
    name: ClassVar[str] = "undefined-name"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.BUILD,)

    VALID = (
        in_kernel("""
            row = T.alloc_local((4,), "float16")
            total: T.int32 = 0
            if wg_id == 0:
                total = total + 1
                row[0] = A[total]
            for k in range(4):
                last: T.int32 = k
                A[last + k] = row[0]
            A[total] = row[1]
            names = [T.meta_var(part) for part in range(2)]
        """),
        # A T.inline function sees what is bound by the time it is called.
        in_kernel("""
            @T.inline
            def write(place):
                A[place] = value

            value = T.meta_var(A[lane_id])
            write(bx)
        """),
        # The host decides: its side belongs to the block around it.
        """\
from tvm.script import tirx as T

WIDE = True


def build(SWAP):
    @T.prim_func
    def kernel(A: T.Buffer((n,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        if WIDE:
            step = T.meta_var(8)
        A[step * tid] = A[n - 1] if SWAP else A[nothing]
        if SWAP:
            A[missing] = T.float16(0)

    return kernel
""",
        # Names may come from anywhere.
        """\
from tvm.script import tirx as T
from settings import *


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    tid = T.thread_id([128])
    A[tid] = A[STRIDE]
""",
        # Bound by other means than an assignment.
        """\
from tvm.script import tirx as T

try:
    import fast as engine
except ImportError as problem:
    engine = None
for STEP in (1, 2):
    pass
with open("config") as CONFIG:
    pass


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    tid = T.thread_id([128])
    A[tid] = A[STEP + CONFIG.offset + engine.offset]
    with T.attr({}) as scope:
        A[scope.begin] = A[tid]
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    row = T.alloc_local((4,), "float16")
                    row[0] = A[0]
                A[lane_id] = row[0]  # <-
            """)
        ),
        # A typing mistake; the other side of an `if`; behind a loop; in T.inline only.
        Invalid(
            in_kernel("""
                @T.inline
                def load():
                    value = T.meta_var(A[0])
                    A[1] = value

                if wg_id == 0:
                    mine = T.meta_var(lane_id * 2)
                    A[mine] = A[0]
                elif warp_id == 1:
                    A[0] = A[mine]  # <-
                while wg_id == 1:
                    seen: T.int32 = 1
                    A[0] = A[seen]
                load()
                A[2] = value  # <-
                A[3] = A[seen]  # <-
                A[4] = A[lane_idx]  # <-
            """)
        ),
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    if T.cuda.elect_sync():
                        load = T.PipelineState(4, phase=1)
                        load.advance()
                A[0] = A[load.stage]  # <-
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look at names that no scope known has, and rule out every other way to bind them."""
        kernel = view.kernel
        if not kernel.unbound or kernel.problems:
            return
        if not view.mentions(_IMPORTS_TVM) or view.mentions(_DYNAMIC):
            return
        body = view.source.slice(kernel.span)
        said: set[str] = set()
        asked: dict[str, bool] = {}
        for place in kernel.unbound:
            name = view.source.slice(place)
            if view.of_text(_breaks_off, place):
                return  # the name is being typed
            if name not in asked:
                if len(asked) == _MOST_NAMES:
                    return
                asked[name] = not (
                    name in _KNOWN or _is_elsewhere(view, name) or _is_bound_unread(body, name)
                )
            if name in said or not asked[name]:
                continue
            if not view.outline.is_under_undecided_host_branch(place):
                said.add(name)  # once a name: one line mends all of its uses
                yield self._finding(view, name, place)

    def _finding(self, view: KernelView, name: str, place: Span) -> Finding:
        inner = next(_binding(view, view.kernel.body, name), None)
        if inner is None:
            message = (
                f"nothing in this file binds `{name}`: TVM stops here (Undefined variable). Is it "
                "spelled as it was bound?"
            )
            return self.finding(Severity.ERROR, message, place)
        message = (
            f"`{name}` is bound inside a block (line {view.line(inner)}), and TVM forgets it at "
            "the end of that block: here it is an undefined variable. Bind it above the block"
        )
        related = [Related(inner, f"`{name}` is bound here")]
        return self.finding(Severity.ERROR, message, place, related=related)


def _breaks_off(source: SourceText, name: Span) -> bool:
    """Tell whether a text ends with a name, in the middle of a line."""
    rest = source.data[name.end :]
    return not rest.strip() and not rest.endswith(b"\n")


def _is_bound_unread(body: str, name: str) -> bool:
    """Tell whether a kernel binds a name in a way that is not followed."""
    patterns = (pattern.format(name=re.escape(name)) for pattern in _UNREAD_BINDINGS)
    return any(re.search(pattern, body) for pattern in patterns)


def _is_elsewhere(view: KernelView, name: str) -> bool:
    """Tell whether a word stands in the file outside of the kernel's body, or is Python's own."""
    body = view.source.slice(Span(_body_start(view), view.kernel.span.end))
    inside = _occurrences(body.encode(), name)
    return name.startswith("__") or view.of_text(_count, name) > inside


def _count(source: SourceText, name: str) -> int:
    return _occurrences(source.data, name)


def _occurrences(data: bytes, name: str) -> int:
    word = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
    return len(word.findall(_PROSE.sub(b"", data)))


def _body_start(view: KernelView) -> int:
    spans = (getattr(statement, "span", None) for statement in view.kernel.body.statements)
    starts = [span.start for span in spans if isinstance(span, Span)]
    return min((s for s in starts if view.kernel.span.start <= s), default=view.kernel.span.end)


def _binding(view: KernelView, block: Block, name: str) -> Iterator[Span]:
    """Yield where a kernel binds a name."""
    for statement in block.statements:
        if isinstance(statement, Bind) and name in statement.names:
            yield statement.span
        if isinstance(statement, Loop):
            yield from (s for s in statement.variables if view.source.slice(s) == name)
        for inner in blocks_of(statement):
            yield from _binding(view, inner, name)
