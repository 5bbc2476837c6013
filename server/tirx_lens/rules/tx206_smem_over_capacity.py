"""TX206: a pool needs more shared memory than a CTA can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import constant_int
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.pool_layout import LARGEST, Allocation, PoolLayout, pool_layouts
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_SHOWN = 8


class SmemOverCapacity(Rule):
    """The objects of an SMEM pool take more bytes than a CTA can have.

    ## What it does
    Adds up what is allocated from a pool, with alignment and rewinds as TVM's allocator has them,
    and finds the allocation that passes 227 KiB (232,448 bytes). Also a `commit(size)` of more.

    ## Why it is bad
    A CTA on sm_90 or sm_100 has at most 227 KiB of shared memory, on other targets less. TVM builds
    the kernel all the same; the driver refuses to launch it, or to raise the function's limit, with
    an error that names neither the pool nor a size.

    ## Example
    ```python
    DEPTH = 8
    As = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")  # 128 KiB
    Bs = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")  # 128 KiB
    ```

    ## Use instead
    ```python
    DEPTH = 6
    As = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")  # 96 KiB
    Bs = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")  # 96 KiB
    ```

    ## When not to
    A pool is looked at only when every size in it is known: arguments of the builder come from the
    `# tirx-lens: args` comment, the project's configuration or calls in the file. A pool made from
    a pointer is its caller's business.

    ## References
    - CUDA C++ Programming Guide, *Technical specifications per compute capability*: maximum amount
      of shared memory per thread block
    - TVM, `python/tvm/backend/cuda/lang/alloc_pool.py`, `SMEMPool.alloc` and `commit`
    """

    code: ClassVar[str] = "TX206"
    name: ClassVar[str] = "smem-over-capacity"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.BUILD)

    VALID = (
        # 16 bytes of barriers, aligned to 1,024, and 224 KiB: 230,400 bytes.
        in_kernel("""
            pool = T.SMEMPool()
            full = TMABar(pool, 1)
            As = pool.alloc_tcgen05_mma_AB((14, 128, 64), "float16")
            pool.commit()
        """),
        # The same bytes twice.
        in_kernel("""
            pool = T.SMEMPool()
            As = pool.alloc((128, 1024), "uint8")
            Bs = pool.alloc((64, 1024), "uint8")
            pool.move_base_to(0)
            Ds = pool.alloc((128, 512), "float16")
            pool.commit()
        """),
        # A size that is not known; a pool of the caller's; a sub-byte type.
        """\
from tvm.script import tirx as T


def build(DEPTH):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        As = pool.alloc((DEPTH, 128, 1024), "float32")
        Bs = pool.alloc((128, 1024), "float32")
        pool.commit()
        theirs = T.SMEMPool(A.data)
        Cs = theirs.alloc((128, 1024), "float32")
        small = T.SMEMPool()
        Ds = small.alloc((512, 512), "float4_e2m1fn")
        small.commit()

    return kernel
""",
        # One side or the other.
        """\
from tvm.script import tirx as T


def build(BIG):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        if BIG:
            As = pool.alloc((128, 1024), "uint8")
        else:
            Bs = pool.alloc((128, 1024), "uint8")
        pool.commit()

    return kernel
""",
    )

    INVALID = (
        # 16 + 1,008 of alignment + 2 * 131,072 bytes.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = TMABar(pool, 2)
                As = pool.alloc_tcgen05_mma_AB((8, 128, 64), "float16")
                Bs = pool.alloc_tcgen05_mma_AB((8, 128, 64), "float16")  # <-
                pool.commit()
            """)
        ),
        # Exactly 227 KiB, and one barrier; a pipeline; a default type; a T.inline function.
        Invalid(
            in_kernel("""
                @T.inline
                def more():
                    tail = MBarrier(pool, 1)  # <-

                pool = T.SMEMPool()
                pipe = Pipeline(pool, 2, full="tma", empty="tcgen05")
                As = pool.alloc((58104,), align=32)
                more()
                pool.commit()
            """)
        ),
        # The arguments are those of a call in the file.
        Invalid(
            """\
from tvm.script import tirx as T


def build(DEPTH, BK=64):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        stages = pool.alloc((DEPTH, 256, BK), "bfloat16")  # <-
        pool.commit()

    return kernel


kernel = build(8)
"""
        ),
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                As = pool.alloc((128, 64), "float16")
                pool.commit(256 * 1024)  # <-
            """)
        ),
        # A rewind to far away counts with what lies there.
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                bar = MBarrier(pool, 1)
                pool.move_base_to(232440)
                end = MBarrier(pool, 2)  # <-
                pool.commit()
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Add up each pool."""
        for layout in pool_layouts(view):
            over = [one for one in layout.allocations if one.end > LARGEST]
            told = _told(layout)
            if over:
                yield self._finding(layout, over)
            elif told is not None and layout.commit is not None and told > LARGEST:
                message = (
                    f"`{layout.pool.name}` reserves {told:,} bytes of shared memory and a CTA can "
                    f"have {LARGEST:,} (227 KiB): the kernel cannot be launched"
                )
                yield self.finding(Severity.ERROR, message, layout.commit.span)

    def _finding(self, layout: PoolLayout, over: list[Allocation]) -> Finding:
        first = over[0]
        total = max(allocation.end for allocation in over)
        message = (
            f"`{layout.pool.name}` needs {total:,} bytes of shared memory ({_sum(layout)}) and a "
            f"CTA can have {LARGEST:,} (227 KiB): from here on it is too much, and the kernel "
            "cannot be launched. Use fewer stages or smaller tiles"
        )
        largest = max(layout.allocations, key=lambda one: one.size)
        related = [Related(largest.operation.span, f"the largest part: {largest.size:,} bytes")]
        related += calls_around(first.operation)
        return self.finding(Severity.ERROR, message, first.operation.span, related=related)


def _told(layout: PoolLayout) -> int | None:
    return constant_int(layout.commit.argument(0, "size")) if layout.commit is not None else None


def _sum(layout: PoolLayout) -> str:
    """Say which object takes how much, the largest ones by name."""
    largest = sorted(layout.allocations, key=lambda one: -one.size)[:_MOST_SHOWN]
    parts = [f"`{one.made.name}` {one.size:,}" for one in layout.allocations if one in largest]
    rest = sum(one.size for one in layout.allocations if one not in largest)
    aligned = sum(one.aligned for one in layout.allocations)
    parts += [f"others {rest:,}"] if rest else []
    parts += [f"alignment {aligned:,}"] if aligned else []
    return " + ".join(parts)
