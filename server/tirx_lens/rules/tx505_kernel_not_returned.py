"""TX505: a kernel that nothing can get at, or a function in a kernel that TVM cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.finished import is_finished
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """\
from tvm.script import tirx as T


"""


class KernelNotReturned(Rule):
    """A builder loses its kernel, or a kernel holds a plain Python function.

    ## What it does
    Finds a `def` without `@T.inline` in a kernel's body (error), and a kernel defined inside a
    function in which nothing returns it, stores it, passes it on or names it again (warning).

    ## Why it is bad
    The body of a kernel is parsed by TVM, not run by Python, and its parser accepts a function
    there only with a decorator that says what it is: the build stops with "Function must be
    decorated". A kernel that its builder does not hand on is built for nothing: the caller
    gets `None`, and fails far from here.

    ## Example
    ```python
    def gemm(M, N, K):
        @T.prim_func
        def kernel(A: T.Buffer((M, K), "float16")):
            def step(k):
                ...
    ```

    ## Use instead
    ```python
    def gemm(M, N, K):
        @T.prim_func
        def kernel(A: T.Buffer((M, K), "float16")):
            @T.inline
            def step(k):
                ...

        return kernel
    ```

    ## When not to
    Kernels of a module or a class, kernels under another decorator, in a `with` block or in a
    function named `test...` are not expected to be returned. A helper function may well be plain
    outside of the kernel, where Python runs it.

    ## References
    - TVM, `python/tvm/script/parser/core/parser.py`, `Parser.get_dispatch_token`
    - TVM, `python/tvm/tirx/script/parser/parser.py`, the visitor of `tir.inline`
    """

    code: ClassVar[str] = "TX505"
    name: ClassVar[str] = "kernel-not-returned"
    levels: ClassVar[str] = "error; warning for a kernel that is not used"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.BUILD,)

    VALID = (
        # A kernel of the module; one that is returned.
        _HEAD
        + """\
@T.prim_func
def alone(A: T.Buffer((64,), "float16")):
    T.device_entry()
    tid = T.thread_id([128])


def build(N):
    @T.prim_func
    def kernel(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    return kernel
""",
        # Stored, passed on, yielded, returned under another name, wrapped, found by name.
        _HEAD
        + """\
KERNELS = {}


def store(N):
    @T.prim_func
    def first(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    KERNELS["first"] = first


def wrap(N, register):
    @T.prim_func
    def second(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    register(second)


def each(N):
    @T.prim_func
    def third(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    yield third


def other_name(N):
    @T.prim_func
    def fourth(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    result = fourth
    return result


class Attention:
    def make(self, N):
        @T.prim_func
        def fifth(A: T.Buffer((N,), "float16")):
            T.device_entry()
            tid = T.thread_id([128])

        self.kernel = fifth

    @T.prim_func
    def method(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])


def by_name(N):
    @T.prim_func
    def sixth(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    return locals()["sixth"]
""",
        # Kernels that are there for their error, for a registry, or for the test that parses them.
        _HEAD
        + """\
def refused(raises, kernels):
    with raises(Exception):
        @T.prim_func
        def wrong(A: T.Buffer((64,), "float16")):
            T.device_entry()
            tid = T.thread_id([128])

    @kernels.register
    @T.prim_func
    def kept(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])


def test_parses():
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
""",
        # Functions: of T.inline, and of the host.
        """\
def tiles(n):
    return n // 128


"""
        + in_kernel("""
            @T.inline
            def step(k):
                T.cuda.cta_sync()

            step(tiles(256))
        """),
        # A side that the host does not take is never read.
        """\
from tvm.script import tirx as T

TRACE = False


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    tid = T.thread_id([128])
    if TRACE:
        def note():
            T.cuda.cta_sync()
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                def step(k):  # <-
                    T.cuda.cta_sync()

                step(0)
            """)
        ),
        # In a branch, and never called: TVM reads it all the same.
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    def drain():  # <-
                        T.cuda.warpgroup_sync(1)
            """)
        ),
        # In a T.inline function that is called.
        Invalid(
            in_kernel("""
                @T.inline
                def role():
                    def wait():  # <-
                        T.cuda.warpgroup_sync(1)

                if wg_id == 0:
                    role()
            """)
        ),
        Invalid(
            _HEAD
            + """\
def build(N):
    @T.prim_func
    def kernel(A: T.Buffer((N,), "float16")):  # <-
        T.device_entry()
        tid = T.thread_id([128])


print("built")
""",
            severity=Severity.WARNING,
        ),
        # It returns another kernel; the comment that would return it does not.
        Invalid(
            _HEAD
            + """\
def build(N):
    @T.prim_func
    def forward(A: T.Buffer((N,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])

    @T.jit
    def backward(A: T.Buffer((N,), "float16")):  # <-
        T.device_entry()
        tid = T.thread_id([128])

    # return forward, backward
    return forward


print("built")
""",
            severity=Severity.WARNING,
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Read both facts off the model."""
        kernel = view.kernel
        # Where a line above is half-typed, it may be the decorator.
        for name in kernel.plain_functions if not kernel.problems else ():
            if not view.outline.is_under_undecided_host_branch(name):
                message = (
                    f"`{view.source.slice(name)}` is a plain function inside the kernel "
                    f"`{kernel.name}`: TVM parses the kernel's body and stops here (Function must "
                    "be decorated). Write `@T.inline` above it, or define it outside of the kernel"
                )
                yield self.finding(Severity.ERROR, message, name)
        if not kernel.is_used and is_finished(view):
            message = (
                f"nothing in the function around it returns, stores or passes on `{kernel.name}`: "
                f"it is built and lost, and no caller gets it. End with `return {kernel.name}`"
            )
            yield self.finding(Severity.WARNING, message, kernel.name_span)
