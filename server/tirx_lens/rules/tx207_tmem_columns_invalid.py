"""TX207: a number of TMEM columns that the hardware does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import Memory, memory_of, region_of, shape_of_buffer
from tirx_lens.model.expr import Slice, constant_int
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.naming import naming
from tirx_lens.rules.facts.tmem import LARGEST, SMALLEST, Life, allocations, deallocations
from tirx_lens.rules.facts.tmem_columns import columns_of, first_column
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.threads.reach import Reached


class TmemColumnsInvalid(Rule):
    """A number of TMEM columns is not one the hardware can allocate, or is exceeded.

    ## What it does
    Finds

    - `tcgen05.alloc`, `tcgen05.dealloc` and `T.TMEMPool` with a column count that is no power of
      two from 32 to 512,
    - TMEM buffers that reach past the columns the kernel allocates,
    - slices of a TMEM buffer that reach past the buffer.

    ## Why it is bad
    The allocator of tensor memory gives 32, 64, 128, 256 or 512 columns; the behaviour of any other
    request is undefined, and in practice the launch fails. An MMA or a load that touches columns
    outside the CTA's own allocation is an illegal access, or spoils what another CTA keeps there.
    TVM compiles both without a word.

    ## Example
    ```python
    T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(addr, T.uint32(384))
    ```

    ## Use instead
    ```python
    T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(addr, T.uint32(512))
    ```

    ## When not to
    Only constants are judged. Buffers are measured where they have 128 rows, one for each lane, and
    the layout that TVM gives them by default or by name; other layouts may pack columns otherwise.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: Tensor Memory Allocation*
    - TVM, `python/tvm/tirx/layout.py`, `tmem_datapath_layout`
    """

    code: ClassVar[str] = "TX207"
    name: ClassVar[str] = "tmem-columns-invalid"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.DEADLOCK, Symptom.WRONG_ROWS)

    VALID = (
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                    T.address_of(addr[0]), 256
                )
            T.cuda.cta_sync()
            base: T.let[T.uint32] = addr[0]
            acc = T.decl_buffer((128, 256), "float32", scope="tmem", allocated_addr=base)
            half = T.decl_buffer((128, 256), "float16", scope="tmem", allocated_addr=base + 128)
            registers = T.wg_reg_tile(64)
            if wg_id == 0:
                for i in T.unroll(4):
                    Tx.wg.copy_async(registers[:, :], acc[:, i * 64 : i * 64 + 64])
                    T.ptx.tcgen05.wait__ld.sync.aligned()
            T.cuda.cta_sync()
            if wg_id == 0 and warp_id == 0:
                T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](addr[0], 256)
        """),
        # A count that is not known; the pool's own 512; a buffer of another layout, or of 64 rows.
        in_kernel("""
            pool = T.SMEMPool()
            addr = pool.alloc((1,), "uint32")
            tmem = T.TMEMPool(pool, tmem_addr=addr)
            pool.commit()
            tmem.commit()
            columns = T.alloc_local([1], "int32")
            T.cuda.cta_sync()
            wide = T.decl_buffer((128, 1024), "float32", scope="tmem", allocated_addr=0, layout=A)
            thin = T.decl_buffer((64, 1024), "float32", scope="tmem", allocated_addr=0)
            if wg_id == 1 and warp_id == 0:
                T.ptx.tcgen05.dealloc(addr[0], n_cols=columns[0], cta_group=1)
            tmem.dealloc()
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](  # <-
                        T.address_of(addr[0]), T.uint32(500)
                    )
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.dealloc.cta_group__1.sync.aligned.b32(addr[0], 500)  # <-
            """)
        ),
        # Too many, too few, by constants and in 0.26; a pool.
        Invalid(
            in_kernel("""
                TILES, WIDTH = 4, 256
                pool = T.SMEMPool()
                tmem = T.TMEMPool(pool, total_cols=TILES * WIDTH)
                addr = T.alloc_shared([1], "uint32")
                pool.commit()
                tmem.commit()  # <-
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=WIDTH // 16)  # <-
                T.cuda.cta_sync()
                tmem.dealloc()
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=WIDTH // 16)  # <-
            """)
        ),
        # A buffer past the allocation, and one that starts too late; a slice past its buffer.
        Invalid(
            in_kernel("""
                @T.inline
                def allocate(columns):
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=columns, cta_group=1)

                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    allocate(256)
                T.cuda.cta_sync()
                base: T.let[T.uint32] = addr[0]
                acc = T.decl_buffer((128, 256), "float32", scope="tmem", allocated_addr=base)
                big = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)  # <-
                end = T.decl_buffer(  # <-
                    (128, 128), "float32", scope="tmem", allocated_addr=base + 192
                )
                if wg_id == 1 and warp_id == 0 and lane_id == 0:
                    Tx.gemm_async(acc[:, 192:320], A, A, dispatch="tcgen05")  # <-
                T.cuda.cta_sync()
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.dealloc(addr[0], n_cols=256, cta_group=1)
            """)
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Check counts, then buffers against counts, then slices against buffers."""
        reach = view.reach
        if reach is None:
            return
        taken = allocations(reach)
        for life in (*taken, *deallocations(reach)):
            if life.pool is None or life in taken:
                yield from self._count(life)
        names = naming(view)
        tensor = [b for b in names.by_buffer if memory_of(b) is Memory.TENSOR]
        for reached in names.users(tensor):
            yield from self._slices(reached)
        if len(taken) == 1 and taken[0].known_columns is not None:
            for reached in reach.reached:
                if reached.operation.name == "T.decl_buffer":
                    yield from self._buffer(view, taken[0], reached)

    def _count(self, life: Life) -> Iterator[Finding]:
        columns = life.known_columns
        if columns is None:
            return
        if SMALLEST <= columns <= LARGEST and columns & (columns - 1) == 0:
            return
        message = f"{columns} TMEM columns: the hardware allocates 32, 64, 128, 256 or 512. " + (
            f"An SM has {LARGEST}"
            if columns > LARGEST
            else f"Ask for {max(SMALLEST, 1 << max(0, columns - 1).bit_length())}, here and "
            "where the other end of the allocation is"
        )
        span = life.reached.operation.span
        yield self.finding(Severity.ERROR, message, span, related=guards_and_calls(life.reached))

    def _buffer(self, view: KernelView, taken: Life, reached: Reached) -> Iterator[Finding]:
        operation, allocated = reached.operation, taken.known_columns
        start, columns = first_column(operation), columns_of(operation)
        if start is None or columns is None or allocated is None or start + columns <= allocated:
            return
        place = taken.reached.operation.span
        message = (
            f"this TMEM buffer takes columns {start} to {start + columns - 1}, but line "
            f"{view.line(place)} allocates {allocated}: what lies past them is not this CTA's"
        )
        related = [Related(place, f"{allocated} columns are allocated here")]
        yield self.finding(Severity.ERROR, message, operation.span, related=related)

    def _slices(self, reached: Reached) -> Iterator[Finding]:
        operation = reached.operation
        if not operation.name.startswith("Tx."):
            return
        for value in (*operation.arguments, *(value for _, value in operation.keywords)):
            region = region_of(value)
            if region is None or memory_of(region.buffer) is not Memory.TENSOR:
                continue
            width = _width(region.buffer)
            last = region.indices[-1] if region.indices else None
            if width is None or len(region.indices) != 2 or not isinstance(last, Slice):
                continue
            stop = constant_int(last.stop)
            if stop is not None and stop > width:
                name = region.buffer.name
                message = (
                    f"`{name}` has {width} columns, and this slice ends at {stop}: what lies past "
                    "the buffer is another buffer's, or not this CTA's"
                )
                related = [Related(region.buffer.span, f"`{name}` is declared here")]
                yield self.finding(Severity.ERROR, message, operation.span, related=related)


def _width(buffer: KernelObject) -> int | None:
    shape = shape_of_buffer(buffer)
    return constant_int(shape[1]) if shape is not None and len(shape) == 2 else None
