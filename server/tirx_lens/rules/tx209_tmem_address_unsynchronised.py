"""TX209: the TMEM address read before the allocation is sure to have written it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import buffers_in
from tirx_lens.model.expr import Apply, Call, Const, Expr, Item, Member, Path, Ref, Sequence
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Bind, Op, Operation, Other
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import statement_span, top_level
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.inner_meetings import may_meet_inside
from tirx_lens.rules.facts.naming import naming
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import place
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.threads.reach import Reached, ReachMap

_MEETINGS = frozenset(
    {Op.CTA_SYNC, Op.CLUSTER_SYNC, Op.WARPGROUP_SYNC, Op.NAMED_BARRIER, Op.CLUSTER_ARRIVE}
    | {Op.BARRIER_WAIT, Op.OPAQUE}
)


class TmemAddressUnsynchronised(Rule):
    """The TMEM address is read from SMEM with no barrier after the allocation that writes it.

    ## What it does
    Finds reads of the shared-memory word to which `tcgen05.alloc` stores its address, by threads of
    other warps, where nothing makes them wait for the allocating warp: no CTA-wide, cluster-wide or
    named barrier, and no barrier wait, between the `alloc` and the read.

    ## Why it is bad
    One warp allocates, and the others run on. They read the word before it is written and take what
    shared memory held for an address: MMAs and loads go to columns that are not the CTA's. TVM
    compiles it without a word.

    ## Example
    ```python
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(
            T.address_of(tmem_addr[0]), T.uint32(512)
        )
    tmem_base: T.let[T.uint32] = tmem_addr[0]
    ```

    ## Use instead
    ```python
    if wg_id == 0 and warp_id == 0:
        T.ptx.tcgen05.alloc.cta_group__1.sync.aligned.shared__cta.b32(
            T.address_of(tmem_addr[0]), T.uint32(512)
        )
    T.cuda.cta_sync()
    tmem_base: T.let[T.uint32] = tmem_addr[0]
    ```

    ## Fix
    Inserts `cta_sync()` (`cluster_sync()` in a kernel of several CTAs) before the top-level
    statement that reads. To be read before it is applied.

    ## When not to
    The warp that allocates may read the word at once. `T.TMEMPool` has an address of its own and
    is not looked at.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.alloc*
    """

    code: ClassVar[str] = "TX209"
    name: ClassVar[str] = "tmem-address-unsynchronised"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.CRASH, Symptom.WRONG_ROWS, Symptom.NAN)
    fix_title: ClassVar[str | None] = "Insert a barrier"

    VALID = (
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                    T.address_of(addr[0]), T.uint32(512)
                )
            T.cuda.cta_sync()
            base: T.let[T.uint32] = addr[0]
            acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
        """),
        # 0.26: read where it is used, after the meeting; a named barrier; a cluster's.
        in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr), n_cols=512, cta_group=1)
                T.ptx.bar.sync(1, 256)
            else:
                T.ptx.bar.sync(1, 256)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
            T.cuda.cluster_sync()
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.dealloc(addr[0], n_cols=512, cta_group=1)
        """),
        # The warp that allocates; a function that may synchronise.
        "from kernels import meet\n\n\n"
        + in_kernel("""
            addr = T.alloc_shared([1], "uint32")
            if wg_id == 0 and warp_id == 0:
                T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                T.cuda.trap_when_assert_failed(addr[0] == 0)
            meet()
            base: T.let[T.uint32] = addr[0]
            acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                            T.address_of(addr[0]), T.uint32(512)
                        )
                base: T.let[T.uint32] = addr[0]  # <-
                T.cuda.cta_sync()
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
            """),
            replacement=in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0:
                    if warp_id == 0:
                        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
                            T.address_of(addr[0]), T.uint32(512)
                        )
                T.cuda.cta_sync()
                base: T.let[T.uint32] = addr[0]
                T.cuda.cta_sync()
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
            """),
        ),
        # The meeting is behind a guard that lets nobody through.
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                if wg_id == 2:
                    T.cuda.cta_sync()
                base: T.let[T.uint32] = addr[0]  # <-
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
            """),
            replacement=in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                if wg_id == 0 and warp_id == 0:
                    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
                if wg_id == 2:
                    T.cuda.cta_sync()
                T.cuda.cta_sync()
                base: T.let[T.uint32] = addr[0]
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=base)
            """),
        ),
        # 0.26: read where the buffer is used; the meeting stood before the allocation.
        Invalid(
            in_kernel("""
                @T.inline
                def allocate(columns):
                    T.ptx.tcgen05.alloc(addr.ptr_to([0]), n_cols=columns, cta_group=1)

                addr = T.alloc_shared([1], "uint32")
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0) and not warp_id != 0:
                    allocate(512)
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
                if wg_id == 1 and warp_id == 0:
                    if T.ptx.elect_sync():
                        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")  # <-
            """),
            replacement=in_kernel("""
                @T.inline
                def allocate(columns):
                    T.ptx.tcgen05.alloc(addr.ptr_to([0]), n_cols=columns, cta_group=1)

                addr = T.alloc_shared([1], "uint32")
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0) and not warp_id != 0:
                    allocate(512)
                acc = T.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=addr[0])
                T.cuda.cta_sync()
                if wg_id == 1 and warp_id == 0:
                    if T.ptx.elect_sync():
                        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look for meetings between each allocation and the reads of its address."""
        reach = view.reach
        if reach is None:
            return
        for alloc in reach.of(Op.TMEM_ALLOC):
            word = _word(alloc.operation)
            mine = warps_touched(alloc.participants.possible, reach.shape)
            if word is None or not mine:
                continue
            order = view.once(_Order)
            declared = _declared_with(view, word)
            seen: set[Span] = set()
            for reached in _users(view, reach, word, declared):
                others = reached.participants.possible & ~mine
                for read in _reads(view, reached, word, declared) if others else ():
                    if read not in seen and order.is_early(alloc, reached, read, others):
                        seen.add(read)
                        yield self._finding(view, reach, alloc, read, others)

    def _finding(
        self, view: KernelView, reach: ReachMap, alloc: Reached, read: Span, others: int
    ) -> Finding:
        barrier = "cluster_sync" if reach.shape.ctas > 1 else "cta_sync"
        message = (
            f"the TMEM address is read here by {place(others, reach.shape)}, and nothing makes "
            f"them wait for the warp whose `tcgen05.alloc` on line "
            f"{view.line(alloc.operation.span)} writes it: they may take what SMEM held before for "
            f"an address. Put `T.cuda.{barrier}()` between"
        )
        related = [Related(alloc.operation.span, "the address is written here")]
        related += [Related(call, "called from here") for call in reversed(alloc.operation.stack)]
        fix = _insert(view, alloc, read, barrier)
        return self.finding(Severity.ERROR, message, read, fix=fix, related=related)


def _word(operation: Operation) -> Item | None:
    """Return the element of shared memory to which an allocation stores its address."""
    if operation.op is not Op.TMEM_ALLOC or not operation.arguments:
        return None
    match operation.arguments[0]:
        case Call(callee=Path(), arguments=(Item() as word,)):
            return word
    buffer = next(iter(buffers_in(operation.arguments[0])), None)
    return Item(Ref(buffer), Const(0)) if buffer is not None else None


def _declared_with(view: KernelView, word: Item) -> set[KernelObject]:
    """Return the buffers that are declared with a word in place of an address."""
    found: set[KernelObject] = set()
    for buffer in naming(view).by_buffer:
        address = dict(buffer.keywords).get("allocated_addr")
        if address is not None and any(buffer.span.contains(s) for s in _loads(address, word)):
            found.add(buffer)
    return found


def _users(
    view: KernelView, reach: ReachMap, word: Item, declared: set[KernelObject]
) -> Iterable[Reached]:
    """Return, in program order, the operations that may read a word: they name its buffer."""
    if not isinstance(word.base, Ref) or word.base.target.kind is not ObjectKind.BUFFER:
        return reach.reached
    return naming(view).users((word.base.target, *declared))


def _reads(
    view: KernelView, reached: Reached, word: Item, declared: set[KernelObject]
) -> Iterator[Span]:
    """Yield the reads of a word that an operation depends on.

    A buffer that is declared with the word in place of an address reads it when it is used.
    """
    operation = reached.operation
    if operation.op is Op.TMEM_ALLOC or operation.name.endswith("address_of"):
        return
    given = (*operation.arguments, *(value for _, value in operation.keywords))
    for value in given:
        for span in _loads(value, word):
            if operation.span.contains(span) and operation.name.endswith("decl_buffer"):
                continue
            yield span
    if any(buffer in declared for buffer in naming(view).by_operation.get(id(operation), ())):
        yield operation.span


def _loads(expr: Expr, word: Item) -> Iterator[Span]:
    match expr:
        case Item() if expr == word:
            yield expr.span
        case Item(base=base, index=index):
            yield from _loads(base, word)
            yield from _loads(index, word)
        case Member(base=base):
            yield from _loads(base, word)
        case Call(callee=Path(dotted=dotted)) if dotted.endswith("address_of"):
            return
        case Call(arguments=parts) | Apply(operands=parts) | Sequence(items=parts):
            for part in parts:
                yield from _loads(part, word)


class _Order:
    """The statements of a kernel in the order in which they are executed."""

    def __init__(self, view: KernelView) -> None:
        reach = view.reach
        self._meetings = [
            one
            for one in (reach.of(*_MEETINGS, Op.TILE_OP) if reach is not None else ())
            if one.operation.op in _MEETINGS or may_meet_inside(one.operation)
        ]
        self._operations: dict[int, int] = {}
        self._others: list[tuple[Span, int]] = []
        for number, statement in enumerate(view.listing.statements):
            if isinstance(statement, Operation):
                self._operations[id(statement)] = number
            elif isinstance(statement, (Bind, Other)):
                self._others.append((statement.span, number))

    def is_early(self, alloc: Reached, reached: Reached, read: Span, others: int) -> bool:
        """Tell whether nothing may make any of the reading threads meet the allocating warp.

        That is between the allocation and the read, which is the operation's own, or that of a name
        bound before it.
        """
        start, at = self._operations[id(alloc.operation)], self._operations[id(reached.operation)]
        if not reached.operation.span.contains(read):
            bound = [number for span, number in self._others if span.contains(read)]
            at = max((number for number in bound if number <= at), default=-1)
        return start < at and not any(
            start < self._operations[id(one.operation)] <= at and one.participants.possible & others
            for one in self._meetings
        )


def _insert(view: KernelView, alloc: Reached, read: Span, barrier: str) -> Fix | None:
    body = view.kernel.body
    allocated = alloc.operation.stack[0] if alloc.operation.stack else alloc.operation.span
    index = top_level(body, read)
    if index is None or index == top_level(body, allocated):
        return None
    span = statement_span(body.statements[index])
    lines = whole_lines(view.source, span) if span is not None else None
    if span is None or lines is None:
        return None
    text = f"{indentation(view.source, span)}{tirx_name(view)}.cuda.{barrier}()\n"
    edit = Edit(Span(lines.start, lines.start), text)
    return Fix(f"Insert `{barrier}()`", Applicability.UNSAFE, (edit,))
