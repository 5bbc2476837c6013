"""TX201: shared memory is allocated from a pool whose size is already fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import Ref
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op, Operation
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.model.queries import (
    statement_span,
)
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import insertion, whole_lines
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.syntax.names import POOL_USERS

if TYPE_CHECKING:
    from collections.abc import Iterator


class AllocAfterCommit(Rule):
    """Shared memory is allocated from a pool after its `commit()`.

    ## What it does
    Finds `alloc` and its kin on an `SMEMPool`, and barriers, pipelines, schedulers and TMEM pools
    that are built on it, after the pool's `commit()`.

    ## Why it is bad
    `commit()` writes the pool's size, as it is then, into the kernel's launch: that many bytes of
    dynamic shared memory the CTA gets. What is allocated afterwards lies past them. TVM does not
    check; the first access to it is an illegal memory access, and the CUDA context is lost.
    Barriers count: a `TMABar(pool, depth)` allocates 8 bytes a stage.

    ## Example
    ```python
    pool = T.SMEMPool()
    As = pool.alloc((128, 64), "float16")
    pool.commit()
    full = TMABar(pool, 2)  # 16 bytes past the end
    ```

    ## Use instead
    ```python
    pool = T.SMEMPool()
    As = pool.alloc((128, 64), "float16")
    full = TMABar(pool, 2)
    pool.commit()
    ```

    ## Fix
    Moves `commit()` below the last allocation.

    ## When not to
    `commit(size)` reserves what it is told, so allocations after it may be inside; a pool made from
    a pointer (`SMEMPool(ptr)`) is sized by its caller; after `move_base_to` an allocation may reuse
    bytes already counted; a `TMEMPool` that is given its `tmem_addr=` allocates nothing here. None
    of these is reported.

    ## References
    - TVM, `python/tvm/backend/cuda/lang/alloc_pool.py`, class `SMEMPool`
    - CUDA C++ Programming Guide, *Execution Configuration: dynamic shared memory*
    """

    code: ClassVar[str] = "TX201"
    name: ClassVar[str] = "alloc-after-commit"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.DEADLOCK, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Move commit() below the last allocation"

    VALID = (
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 2)
            pool.move_base_to(1024)
            As = pool.alloc((2, 128, 64), "float16")
            pool.commit()
            T.cuda.cta_sync()
        """),
        in_kernel("""
            pool = T.SMEMPool()
            pool.commit(65536)
            As = pool.alloc((128, 64), "float16")
        """),
        # TMEM columns are no shared memory, and this pool brings its own address word.
        in_kernel("""
            pool = T.SMEMPool()
            address = pool.alloc((1,), "uint32")
            pool.commit()
            tmem = T.TMEMPool(pool, total_cols=512, tmem_addr=address)
            acc = tmem.alloc((128, 256), "float32")
            tmem.commit()
        """),
        # Bytes counted before are used again.
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((128, 64), "float16")
            pool.commit()
            pool.move_base_to(0)
            Ds = pool.alloc((128, 64), "float16")
        """),
        # Two pools; a pool that a caller sizes; something else that commits.
        in_kernel("""
            first = T.SMEMPool()
            second = T.SMEMPool()
            first.commit()
            As = second.alloc((128, 64), "float16")
            second.commit()
            outer = T.SMEMPool(A.data)
            outer.commit()
            Bs = outer.alloc((128, 64), "float16")
        """),
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((128, 64), "float16")
            log = T.make_log()
            log.commit()
            Bs = pool.alloc((128, 64), "float16")
            pool.commit()
        """),
        # A function may commit again, or rewind; so may a store to the pool's own offset.
        "def finish(pool):\n    pool.commit()\n\n\n"
        + in_kernel("""
            pool = T.SMEMPool()
            pool.commit()
            As = pool.alloc((128, 64), "float16")
            finish(pool)
            other = T.SMEMPool()
            Bs = other.alloc((128, 64), "float16")
            other.commit()
            other.offset = 0
            Cs = other.alloc((128, 64), "float16")
        """),
        # The host commits in one way or another: what follows may fit.
        """\
from tvm.script import tirx as T


def build(BIG):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        if BIG:
            pool.commit(4096)
        else:
            pool.commit()
        if BIG:
            As = pool.alloc((64,), "float16")

    return kernel
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                As = pool.alloc((128, 64), "float16")
                pool.commit()
                full = TMABar(pool, 2)  # <-
                full.init(1)
                T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                pool = T.SMEMPool()
                As = pool.alloc((128, 64), "float16")
                full = TMABar(pool, 2)
                pool.commit()
                full.init(1)
                T.cuda.cta_sync()
            """),
        ),
        Invalid(
            in_kernel("""
                smem = T.SMEMPool()
                smem.commit()
                As = smem.alloc((128, 64), "float16")  # <-
                Bs = smem.alloc_tcgen05_mma_AB((128, 64), "float16")  # <-
                pipe = Pipeline(smem, 2, full="tma", empty="tcgen05")  # <-
                T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                smem = T.SMEMPool()
                As = smem.alloc((128, 64), "float16")
                Bs = smem.alloc_tcgen05_mma_AB((128, 64), "float16")
                pipe = Pipeline(smem, 2, full="tma", empty="tcgen05")
                smem.commit()
                T.cuda.cta_sync()
            """),
        ),
        # Under a condition of the host: found, but the author moves it.
        Invalid(
            """\
from tvm.script import tirx as T


def build(EXTRA=True):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        if EXTRA:
            pool.commit()
        As = pool.alloc((64,), "float16")  # <-

    return kernel
"""
        ),
        # Inside a branch, inside a T.inline function: the pool grows when the line is read.
        Invalid(
            in_kernel("""
                @T.inline
                def make_barrier():
                    extra = MBarrier(pool, 1)  # <-
                    extra.init(1)

                pool = T.SMEMPool()
                pool.commit()
                if wg_id == 0:
                    Cs = pool.alloc((64,), "float32")  # <-
                make_barrier()
                T.cuda.cta_sync()
            """),
            replacement=in_kernel("""
                @T.inline
                def make_barrier():
                    extra = MBarrier(pool, 1)
                    extra.init(1)

                pool = T.SMEMPool()
                if wg_id == 0:
                    Cs = pool.alloc((64,), "float32")
                make_barrier()
                pool.commit()
                T.cuda.cta_sync()
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Follow each pool in the order in which TVM reads the kernel, whatever guards a line."""
        found = handoffs(view)
        for pool in filter(_owns_its_buffer, found.makers):
            users = [place.operation for place in found.users.get(pool, ())]
            commit, late = _after_commit(pool, [one for one in users if _is_about(one, pool)])
            if commit is not None and late and not _is_undecided(view, commit):
                fix = _move_commit(view, commit, late[-1])
                for allocation in late:
                    yield self._finding(view, pool, commit, allocation, fix)

    def _finding(
        self,
        view: KernelView,
        pool: KernelObject,
        commit: Operation,
        allocation: Operation,
        fix: Fix | None,
    ) -> Finding:
        made = allocation.created
        what = f"`{made.name}`" if made is not None else "this"
        message = (
            f"{what} is allocated from `{pool.name}` after `{pool.name}.commit()` on line "
            f"{view.line(commit.span)} has fixed the kernel's shared memory: it lies past the end, "
            "and the first access to it is illegal. Commit below the last allocation"
        )
        related = [Related(commit.span, f"`{pool.name}` is committed here")]
        related += [Related(call, "called from here") for call in reversed(allocation.stack)]
        return self.finding(Severity.ERROR, message, allocation.span, fix=fix, related=related)


def _is_undecided(view: KernelView, commit: Operation) -> bool:
    return view.outline.is_under_undecided_host_branch(commit.statement)


def _owns_its_buffer(made: KernelObject) -> bool:
    """Tell whether an object is a pool that owns its buffer, and so its size."""
    return made.kind is ObjectKind.SMEM_POOL and not made.arguments and not made.keywords


def _is_about(operation: Operation, pool: KernelObject) -> bool:
    """Tell whether an operation may change or use a pool."""
    return operation.receiver == pool or _is_given(operation, pool)


def _after_commit(
    pool: KernelObject, program: list[Operation]
) -> tuple[Operation | None, list[Operation]]:
    """Return a pool's last commit and the allocations that come after it.

    `program` are the operations that name the pool, in order.
    """
    commit: Operation | None = None
    late: list[Operation] = []
    for operation in program:
        if operation.receiver == pool and operation.op is Op.POOL_COMMIT:
            commit, late = operation, []
        elif operation.receiver == pool and operation.op is Op.POOL_MOVE:
            if commit is not None:
                break
        elif operation.op is Op.OPAQUE and _is_given(operation, pool):
            return None, []
        elif commit is not None and _allocates(operation, pool):
            late.append(operation)
    if commit is None or commit.arguments or commit.keywords:
        return None, []
    return commit, late


def _is_given(operation: Operation, pool: KernelObject) -> bool:
    values = (*operation.arguments, *(value for _, value in operation.keywords))
    return any(isinstance(value, Ref) and value.target == pool for value in values)


def _allocates(operation: Operation, pool: KernelObject) -> bool:
    if operation.op is Op.POOL_ALLOC:
        return operation.receiver == pool
    made = operation.created
    if made is None or made.kind not in POOL_USERS:
        return False
    if made.kind is ObjectKind.TMEM_POOL and dict(made.keywords).get("tmem_addr") is not None:
        return False
    source = made.argument(0, "pool")
    return isinstance(source, Ref) and source.target == pool


def _move_commit(view: KernelView, commit: Operation, last: Operation) -> Fix | None:
    """Move the commit statement below the statement of its own block that allocates last."""
    body = view.kernel.body
    lines = whole_lines(view.source, commit.statement)
    block = view.outline.block_of(commit.statement)
    outermost = last.stack[0] if last.stack else last.statement
    alone = commit.span == commit.statement and not commit.stack
    if lines is None or block is None or block is not body or not alone:
        return None
    first, target = view.outline.top_level(commit.statement), view.outline.top_level(outermost)
    if first is None or target is None or target < first:
        return None
    beside = statement_span(block.statements[target])
    written = insertion(view.source, lines, beside, after=True) if beside is not None else None
    if written is None:
        return None
    return Fix(
        "Move `commit()` below the last allocation",
        Applicability.SAFE,
        (Edit(lines, ""), written),
    )
