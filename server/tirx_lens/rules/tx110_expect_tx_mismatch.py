"""TX110: a barrier expects other bytes than the copies on it deliver."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.keywords import argument_span
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.copies import given
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.transactions import Ledger, ledgers
from tirx_lens.rules.related import calls_around
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Operation
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span

_SETUP = """
    pool = T.SMEMPool()
    full = TMABar(pool, 2)
    As = pool.alloc_tcgen05_mma_AB((2, 128, 64), "float16")
    Bs = pool.alloc_tcgen05_mma_AB((2, 128, 64), "float16")
    pool.commit()
    full.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    X = T.match_buffer(A, (128, 512), "float16")
"""
_COPIES = """
                Tx.copy_async(
                    As[k % 2, :, :],
                    X[:, k * 64 : k * 64 + 64],
                    dispatch="tma_auto",
                    mbar=full.ptr_to([k % 2]),
                )
                Tx.copy_async(
                    Bs[k % 2, :, :],
                    X[:, k * 64 : k * 64 + 64],
                    dispatch="tma_auto",
                    mbar=full.ptr_to([k % 2]),
                )
"""


def _loop(arming: str, copies: str = _COPIES) -> str:
    return (
        _SETUP
        + """
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                for k in range(2):
"""
        + f"                    {arming}\n"
        + "".join(f"    {line}\n" if line else "\n" for line in copies.strip("\n").splitlines())
        + "    full.wait(0, 0)\n"
    )


class ExpectTxMismatch(Rule):
    """A barrier is armed with other bytes than the TMA loads on it deliver.

    ## What it does
    Adds up the bytes that arrivals tell a barrier to expect and the bytes of the loads that name it
    as `mbar=`, per round of the loops around them and over all CTAs of the cluster, and finds sums
    that differ.

    ## Why it is bad
    A phase of the barrier ends when all arrivals have come and the count of bytes is back at zero.
    With too many expected it never gets there; with too few it goes below zero, and does not end
    where it should. Either way the consumer waits for ever: on an H200, half the bytes and twice
    the bytes both hang.

    ## Example
    ```python
    full.arrive(stage, 128 * 64 * 2)  # one block
    Tx.copy_async(As[stage, :, :], ..., dispatch="tma_auto", mbar=full.ptr_to([stage]))
    Tx.copy_async(Bs[stage, :, :], ..., dispatch="tma_auto", mbar=full.ptr_to([stage]))  # two
    ```

    ## Use instead
    ```python
    full.arrive(stage, 2 * 128 * 64 * 2)
    ```

    ## Fix
    Writes the right number, where one arrival arms the barrier.

    ## When not to
    Multicast loads (`cta_mask=`), `pred=`, sizes that are not known, loads and arrivals in
    loops or under guards that cannot be compared, and barriers that something else touches are
    not judged. The bytes beyond the edge of a tensor count: TMA fills them with zeros.

    ## References
    - PTX ISA, *Tracking asynchronous operations by the mbarrier object*: expect-tx, complete-tx
    - TVM, `python/tvm/backend/cuda/lang/pipeline.py`, `TMABar.arrive`
    """

    code: ClassVar[str] = "TX110"
    name: ClassVar[str] = "expect-tx-mismatch"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.WRONG_ROWS)
    fix_title: ClassVar[str | None] = "Write the right byte count"

    VALID = (
        in_kernel(_loop("full.arrive(k % 2, 2 * 128 * 64 * 2)")),
        # Two arrivals of one block each; the older spelling; a multicast load.
        in_kernel(
            _loop("full.arrive(k % 2, 16384)\n                    full.arrive(k % 2, 16384)")
        ).replace("full.init(1)", "full.init(2)"),
        in_kernel(_loop("T.ptx.mbarrier.arrive.expect_tx.shared.b64(full.ptr_to([k % 2]), 32768)")),
        in_kernel(
            _loop("full.arrive(k % 2, 16384)").replace(
                'dispatch="tma_auto",', 'dispatch="tma_auto", cta_mask=3,'
            )
        ),
        # A prologue arms what the loop copies; a size that is not known.
        in_kernel(
            _SETUP
            + """
    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                full.arrive(0, 16384)
                while wg_id == 1:
                    Tx.copy_async(
                        As[0, :, :], X[:, 0:64], dispatch="tma_auto", mbar=full.ptr_to([0])
                    )
                    full.arrive(0, 32768)
"""
        ),
        # One CTA of the pair arms for two.
        """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import TMABar


@T.prim_func
def kernel(X: T.Buffer((256, 64), "float16")):
    T.device_entry()
    rank = T.cta_id_in_cluster([2])
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    full = TMABar(pool, 1)
    As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    full.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cluster_sync()
    if tid < 32:
        if T.cuda.elect_sync():
            leader = full.remote_view(0)
            if rank == 0:
                full.arrive(0, 2 * 128 * 64 * 2)
            Tx.copy_async(
                As[:, :],
                X[rank * 128 : rank * 128 + 128, :],
                dispatch="tma_auto",
                cta_group=2,
                mbar=leader.ptr_to([0]),
            )
    if rank == 0:
        full.wait(0, 0)
""",
        # Half of the load is under a guard that is not decided.
        """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import TMABar


@T.prim_func
def kernel(X: T.Buffer((256, 64), "float16"), masked: T.int32):
    T.device_entry()
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    full = TMABar(pool, 1)
    As = pool.alloc_tcgen05_mma_AB((2, 128, 64), "float16")
    pool.commit()
    full.init(1)
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if tid < 32:
        if T.cuda.elect_sync():
            full.arrive(0, 2 * 128 * 64 * 2)
            Tx.copy_async(As[0, :, :], X[0:128, :], dispatch="tma_auto", mbar=full.ptr_to([0]))
            if masked == 0:
                Tx.copy_async(
                    As[1, :, :], X[128:256, :], dispatch="tma_auto", mbar=full.ptr_to([0])
                )
""",
    )

    INVALID = (
        # One block for two; a keyword; the raw instruction; elements in place of bytes.
        Invalid(
            in_kernel(_loop("full.arrive(k % 2, 128 * 64 * 2)  # <-")),
            replacement=in_kernel(_loop("full.arrive(k % 2, 32768)")),
        ),
        Invalid(
            in_kernel(_loop("full.arrive(k % 2, tx_count=(128 + 128) * 64 * 4)  # <-")),
            replacement=in_kernel(_loop("full.arrive(k % 2, tx_count=32768)")),
        ),
        Invalid(
            in_kernel(
                _loop(
                    "T.ptx.mbarrier.arrive.expect_tx.shared.b64(full.ptr_to([k % 2]), 16384)  # <-"
                )
            ),
            replacement=in_kernel(
                _loop("T.ptx.mbarrier.arrive.expect_tx.shared.b64(full.ptr_to([k % 2]), 32768)")
            ),
        ),
        # The loads are in a T.inline function, and in an inner loop.
        Invalid(
            in_kernel(
                _SETUP
                + """
    @T.inline
    def load(k):
        full.arrive(k % 2, 16384)  # <-
        for half in range(2):
            Tx.copy_async(
                As[half, :, :],
                X[:, k * 64 : k * 64 + 64],
                dispatch="tma_auto",
                mbar=full.ptr_to([k % 2]),
            )

    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                while wg_id == 1:
                    load(0)
    full.wait(0, 0)
"""
            ),
            replacement=in_kernel(
                _SETUP
                + """
    @T.inline
    def load(k):
        full.arrive(k % 2, 32768)
        for half in range(2):
            Tx.copy_async(
                As[half, :, :],
                X[:, k * 64 : k * 64 + 64],
                dispatch="tma_auto",
                mbar=full.ptr_to([k % 2]),
            )

    if wg_id == 1:
        if warp_id == 0:
            if T.cuda.elect_sync():
                while wg_id == 1:
                    load(0)
    full.wait(0, 0)
"""
            ),
        ),
        # Each CTA of a pair loads its block, and the leader arms for its own alone.
        Invalid(
            """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import Pipeline


@T.prim_func
def kernel(X: T.Buffer((256, 64), "float16")):
    T.device_entry()
    rank = T.cta_id_in_cluster([2])
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    pipe = Pipeline(pool, 1, full="tma", empty="tcgen05")
    As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cluster_sync()
    if tid < 32:
        if T.cuda.elect_sync():
            leader = pipe.full.remote_view(0)
            if rank == 0:
                pipe.full.arrive(0, 128 * 64 * 2)  # <-
            Tx.copy_async(
                As[:, :],
                X[rank * 128 : rank * 128 + 128, :],
                dispatch="tma_auto",
                cta_group=2,
                mbar=leader.ptr_to([0]),
            )
    if rank == 0:
        pipe.full.wait(0, 0)
""",
            replacement="""\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.pipeline import Pipeline


@T.prim_func
def kernel(X: T.Buffer((256, 64), "float16")):
    T.device_entry()
    rank = T.cta_id_in_cluster([2])
    tid = T.thread_id([128])
    pool = T.SMEMPool()
    pipe = Pipeline(pool, 1, full="tma", empty="tcgen05")
    As = pool.alloc_tcgen05_mma_AB((128, 64), "float16")
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cluster_sync()
    if tid < 32:
        if T.cuda.elect_sync():
            leader = pipe.full.remote_view(0)
            if rank == 0:
                pipe.full.arrive(0, 32768)
            Tx.copy_async(
                As[:, :],
                X[rank * 128 : rank * 128 + 128, :],
                dispatch="tma_auto",
                cta_group=2,
                mbar=leader.ptr_to([0]),
            )
    if rank == 0:
        pipe.full.wait(0, 0)
""",
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare the sums of each barrier, where everything about it is known."""
        if view.reach is None or not view.reach.shape.cluster_known:
            return
        known = handoffs(view)
        if known.is_open:
            return
        for handoff in known.barriers:
            if not handoff.waits and not handoff.elsewhere:
                continue  # nobody waits for it (yet)
            books = ledgers(handoff, view) or []
            if not all(book.armed and book.delivered for book in books):
                continue  # what one part of the program arms, another may deliver
            wrong = [book for book in books if book.missing]
            if len({book.missing > 0 for book in wrong}) == 1:
                for book in wrong:
                    yield self._finding(view, handoff.barrier, book)

    def _finding(self, view: KernelView, barrier: KernelObject, book: Ledger) -> Finding:
        armed = sum(site.total for site in book.armed)
        delivered = sum(site.total for site in book.delivered)
        times = _arrivals(book)
        right = delivered // times if times and _is_one_barrier(view, book) else None
        advice = "Compare what each CTA expects with what reaches its barrier"
        if right is not None:
            advice = f"Expect {right:,}"
        elif not times:
            advice = "Let the arrivals add up to what is loaded"
        once = times or 1
        message = (
            f"`{barrier.name}` is told to expect {armed // once:,} bytes and the loads on it "
            f"deliver {delivered // once:,} ({_parts(book, once)}): its phase does not end, and "
            f"the wait for it never returns. {advice}"
        )
        operation = book.armed[0].reached.operation
        places = {site.reached.operation.span: site.bytes for site in book.delivered}
        others = {site.reached.operation.span for site in book.armed} - {operation.span}
        related = [Related(span, f"delivers {size:,} bytes") for span, size in places.items()]
        related += [Related(span, "expects bytes too") for span in sorted(others, key=_start)]
        related += calls_around(operation)
        fix = _fix(view, operation, right) if right is not None else None
        return self.finding(Severity.ERROR, message, operation.span, fix=fix, related=related)


def _start(span: Span) -> int:
    return span.start


def _arrivals(book: Ledger) -> int | None:
    """Return how often the one arrival that arms a barrier is executed, if it divides the bytes."""
    written = {(site.reached.operation.span, site.bytes) for site in book.armed}
    times = sum(site.times for site in book.armed)
    delivered = sum(site.total for site in book.delivered)
    return times if len(written) == 1 and delivered % times == 0 else None


def _is_one_barrier(view: KernelView, book: Ledger) -> bool:
    """Tell whether all bytes go to the barrier of the CTA that is told of them.

    Of several CTAs, each has the barrier; loads of a pair may signal that of its leader.
    """
    if view.reach is None or view.reach.shape.ctas == 1:
        return True
    shape = view.reach.shape
    who = [site.reached.participants.possible for site in book.armed]
    tellers = sum(any(one & shape.cta(rank) for one in who) for rank in range(shape.ctas))
    apart = all(given(s.reached.operation, "cta_group") is None for s in book.delivered)
    remote = any(r.operation.name == "remote_view" for r in view.reach.reached)
    return tellers == 1 or (apart and not remote)


def _parts(book: Ledger, times: int) -> str:
    """Say what each load adds per arrival: "2 × 16,384 + 16,384"."""
    totals: dict[tuple[Span, int], int] = {}
    for site in book.delivered:
        key = (site.reached.operation.span, site.bytes)
        totals[key] = totals.get(key, 0) + site.times
    parts = []
    for (_, size), count in totals.items():
        repeated = count // times
        parts.append(f"{repeated} × {size:,}" if repeated > 1 else f"{size:,}")
    return " + ".join(parts)


def _fix(view: KernelView, arrival: Operation, right: int) -> Fix | None:
    place = argument_span(view.source, arrival.span, 1, "tx_count")
    if place is None:
        return None
    edits = (Edit(place, str(right)),)
    return Fix(f"Expect {right:,} bytes", Applicability.SAFE, edits)
