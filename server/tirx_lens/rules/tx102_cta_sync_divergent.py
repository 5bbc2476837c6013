"""TX102: a CTA-wide or cluster-wide barrier that some threads never execute."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.alignment import unmatched
from tirx_lens.threads.contracts import Demand, demand_of
from tirx_lens.threads.describe import describe, place
from tirx_lens.threads.named import free_ids, named_barrier_uses
from tirx_lens.threads.participants import Pick, only_warpgroup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.threads.reach import Reached, ReachMap

_FIRST_CHOICE = 10  # the low ids are those that authors count up from


class CtaSyncDivergent(Rule):
    """A CTA-wide or cluster-wide barrier stands where some of its threads never come.

    ## What it does
    Finds `T.cuda.cta_sync()` behind guards that keep some threads of the CTA out, and
    `T.cuda.cluster_sync()` behind guards that keep some threads of the cluster out, unless those
    threads reach a matching one of their own: the same number of barriers on every way.

    ## Why it is bad
    `cta_sync` is `__syncthreads()`: the hardware holds every thread that arrives until all threads
    of the CTA that have not returned are there. In `if wg_id == 0:` the 128 threads of warpgroup 0
    wait for threads that are busy elsewhere and never come: the kernel hangs, and the process has
    to be killed. TVM compiles it without a word.

    ## Example
    ```python
    if wg_id == 0:
        Tx.copy(Ds[row, :], registers[:])
        T.cuda.cta_sync()  # warpgroup 1 never comes
    ```

    ## Use instead
    ```python
    if wg_id == 0:
        Tx.copy(Ds[row, :], registers[:])
        T.cuda.warpgroup_sync(10)  # the 128 threads of this warpgroup, by a barrier id of their own
    ```

    ## Fix
    Where exactly one warpgroup comes, `cta_sync()` becomes `warpgroup_sync(id)` with an id of 1 to
    15 that nothing else in the kernel uses. Where some id in the kernel is not known there is no
    fix: it might be taken.

    ## When not to
    A guard on a Python constant, or on an id that has only one value (`T.warpgroup_id([1])`), is no
    guard, and a barrier in every branch is matched: none of these is reported. Threads that have
    returned are not waited for.

    ## References
    - PTX ISA, *Parallel Synchronization and Communication Instructions: bar, barrier* and
      *barrier.cluster*
    - CUDA C++ Programming Guide, *Synchronization Functions*
    """

    code: ClassVar[str] = "TX102"
    name: ClassVar[str] = "cta-sync-divergent"
    levels: ClassVar[str] = "error"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.CRASH)
    fix_title: ClassVar[str | None] = "Synchronise the warpgroup only"

    VALID = (
        in_kernel("""
            T.cuda.cta_sync()
            if wg_id == 0:
                T.cuda.warpgroup_sync(10)
            T.cuda.cta_sync()
        """),
        # A reduction over the CTA meets twice.
        in_kernel("""
            part = T.alloc_shared([8], "float32")
            total: T.f32
            total = T.cuda.cta_sum(T.float32(1), 8, part.ptr_to([0]))
            if wg_id == 0:
                total = T.cuda.cta_sum(total, 8, part.ptr_to([0]))
            else:
                T.cuda.cta_sync()
                T.cuda.cta_sync()
        """),
        # Every sibling branch has one.
        in_kernel("""
            if wg_id == 0:
                T.cuda.cta_sync()
            elif wg_id == 1 and warp_id == 0:
                T.cuda.cta_sync()
            else:
                T.cuda.cta_sync()
        """),
        # Two branches one after the other, together the whole CTA.
        in_kernel("""
            if wg_id == 0:
                T.cuda.cta_sync()
            if wg_id == 1:
                T.cuda.cta_sync()
        """),
        # A host constant, and a value that all threads of the CTA share.
        in_kernel("""
            DEBUG = 2 > 1
            if DEBUG:
                T.cuda.cta_sync()
            if bx == 0:
                T.cuda.cta_sync()
        """),
        # A guard that lets every thread through.
        in_kernel("""
            if wg_id < 2 and 0 <= lane_id:
                T.cuda.cta_sync()
        """),
        # Threads that have returned are not waited for.
        in_kernel("""
            if wg_id == 1:
                return
            T.cuda.cta_sync()
        """),
        # A loop that runs alike in every thread.
        in_kernel("""
            for k in range(8):
                if k == 0:
                    T.cuda.cta_sync()
        """),
        # Branches that are not decided: whichever side runs, both warpgroups pass one.
        in_kernel("""
            for k in range(8):
                if wg_id == 0:
                    if k == 7:
                        T.cuda.cta_sync()
                    else:
                        T.cuda.cta_sync()
                else:
                    T.cuda.cta_sync()
            for k in range(8):
                if wg_id == 0:
                    if k == 3:
                        T.cuda.cta_sync()
                        continue
                    T.cuda.cta_sync()
                else:
                    T.cuda.cta_sync()
        """),
        # Other spellings of the same barrier, and calls that may hold one.
        in_kernel("""
            if wg_id == 0:
                T.ptx.bar.sync(0, 256)
            else:
                T.cuda.cta_sync()
            if wg_id == 0:
                T.ptx["barrier.cta.sync.aligned"](0)
            else:
                T.cuda.cta_sync()
            if wg_id == 0:
                T.cuda.func_call("meet", source_code="")
            else:
                T.cuda.cta_sync()
        """),
        "from tasks import make_task\n\n\ndef meet():\n    return T.cuda.cta_sync()\n\n\n"
        + in_kernel("""
            if wg_id == 0:
                meet()
            else:
                T.cuda.cta_sync()
            task = make_task()
            if wg_id == 0:
                task.run()
            else:
                T.cuda.cta_sync()
        """),
        # As many on every way, counted out.
        in_kernel("""
            if wg_id == 0:
                for k in T.unroll(4):
                    T.cuda.cta_sync()
            else:
                T.cuda.cta_sync()
                for k in range(1, 4):
                    T.cuda.cta_sync()
            if wg_id == 0:
                for k in range(0):
                    T.cuda.cta_sync()
        """),
        # In a cluster, one CTA of two synchronises: all of that CTA's threads come.
        """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    rank = T.cta_id_in_cluster([2])
    tid = T.thread_id([256])
    if rank == 0:
        T.cuda.cta_sync()
    T.cuda.cluster_sync()
""",
        # One warpgroup only.
        """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([1])
    if wg_id == 0:
        T.cuda.cta_sync()
""",
        # How many warpgroups there are is not known: silent.
        """\
from tvm.script import tirx as T


def build(WARPGROUPS):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([WARPGROUPS])
        if wg_id == 0:
            T.cuda.cta_sync()

    return kernel
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    T.cuda.cta_sync()  # <-
            """),
            replacement=in_kernel("""
                if wg_id == 0:
                    T.cuda.warpgroup_sync(10)
            """),
        ),
        # A reduction of the whole CTA, by half of it.
        Invalid(
            in_kernel("""
                part = T.alloc_shared([8], "float32")
                if wg_id == 0:
                    T.evaluate(T.cuda.cta_max(T.float32(1), 8, part.ptr_to([0])))  # <-
            """)
        ),
        # Two roles, and an id that is taken.
        Invalid(
            in_kernel("""
                if wg_id == 0:
                    T.cuda.warpgroup_sync(10)
                    T.cuda.cta_sync()  # <-
                T.cuda.cta_sync()
                if wg_id == 1:
                    for k in range(4):
                        T.cuda.cta_sync()  # <-
            """),
            replacement=in_kernel("""
                if wg_id == 0:
                    T.cuda.warpgroup_sync(10)
                    T.cuda.warpgroup_sync(11)
                T.cuda.cta_sync()
                if wg_id == 1:
                    for k in range(4):
                        T.cuda.warpgroup_sync(12)
            """),
        ),
        # An alias, `T.filter`, arithmetic on the thread number.
        Invalid(
            in_kernel("""
                tid = T.thread_id([256])
                is_writer = T.meta_var(tid // 128 == 1)
                if T.filter(tid, is_writer):
                    T.cuda.cta_sync()  # <-
            """),
            replacement=in_kernel("""
                tid = T.thread_id([256])
                is_writer = T.meta_var(tid // 128 == 1)
                if T.filter(tid, is_writer):
                    T.cuda.warpgroup_sync(10)
            """),
        ),
        # One warp, one elected lane: a narrower barrier is the author's to choose.
        Invalid(
            in_kernel("""
                if warp_id == 3:
                    T.cuda.cta_sync()  # <-
                if T.cuda.elect_sync():
                    T.cuda.cta_sync()  # <-
            """)
        ),
        # Only one branch of several has it, inside a loop over tiles.
        Invalid(
            in_kernel("""
                sched = ClusterPersistentScheduler2D("tiles", 8, 8)
                if wg_id == 1:
                    while sched.valid():
                        sched.next_tile()
                elif wg_id == 0:
                    while sched.valid():
                        T.cuda.cta_sync()  # <-
                        sched.next_tile()
            """),
            replacement=in_kernel("""
                sched = ClusterPersistentScheduler2D("tiles", 8, 8)
                if wg_id == 1:
                    while sched.valid():
                        sched.next_tile()
                elif wg_id == 0:
                    while sched.valid():
                        T.cuda.warpgroup_sync(10)
                        sched.next_tile()
            """),
        ),
        # Inside a T.inline function, called from one role.
        Invalid(
            in_kernel("""
                @T.inline
                def flush():
                    T.cuda.cta_sync()  # <-

                if wg_id == 0:
                    flush()
            """)
        ),
        # A cluster-wide barrier in one CTA of the pair.
        Invalid(
            """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    rank = T.cta_id_in_cluster([2])
    tid = T.thread_id([128])
    if rank == 0:
        T.cuda.cluster_sync()  # <-
"""
        ),
        # A role of `with`.
        Invalid(
            """\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.warp_role import WarpgroupRole


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    writer = WarpgroupRole(wg_id, 1)
    with writer:
        T.cuda.cta_sync()  # <-
""",
            replacement="""\
from tvm.script import tirx as T
from tvm.backend.cuda.lang.warp_role import WarpgroupRole


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([2])
    writer = WarpgroupRole(wg_id, 1)
    with writer:
        T.cuda.warpgroup_sync(10)
""",
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Compare, for each group of threads, the barriers on its way."""
        if view.reach is None:
            return
        for demand in (Demand.WHOLE_CTA, Demand.WHOLE_CLUSTER):
            found = list(unmatched(view.reach, demand))
            ids = _free_ids(view.reach, found) if found else {}
            for reached in found:
                yield self._finding(view, view.reach, reached, ids)

    def _finding(
        self, view: KernelView, reach: ReachMap, reached: Reached, ids: dict[int, int]
    ) -> Finding:
        operation, shape = reached.operation, reach.shape
        cluster = demand_of(operation, shape) is Demand.WHOLE_CLUSTER
        name = operation.name.rpartition(".")[2]
        unit = "cluster" if cluster else "CTA"
        total = shape.total if cluster else shape.threads
        guards = [guard for guard in reversed(reached.guards) if guard.selective]
        behind = f" behind the guard on line {view.line(guards[0].span)}" if guards else ""
        message = (
            f"`{name}` waits for all {total} threads of the {unit} and only "
            f"{describe(reached.participants, shape)} can get here{behind}: the others execute no "
            f"barrier to match it, and the kernel hangs. {_advice(reached, reach)}"
        )
        return self.finding(
            Severity.ERROR,
            message,
            operation.span,
            fix=_narrowed(view, reach, reached, ids),
            related=guards_and_calls(reached),
        )


def _advice(reached: Reached, reach: ReachMap) -> str:
    warpgroup = only_warpgroup(reached.participants, reach.shape)
    plain = reached.operation.name.endswith(("cta_sync", "storage_sync"))
    if plain and warpgroup is not None:
        return f"For warpgroup {warpgroup} alone use `T.cuda.warpgroup_sync(id)`"
    if plain and reached.participants.pick is Pick.ALL:
        where = place(reached.participants.possible, reach.shape)
        if where.startswith("warp "):
            return "For one warp alone use `T.cuda.warp_sync()`"
    return "Move it to where all of them pass"


def _free_ids(reach: ReachMap, found: Sequence[Reached]) -> dict[int, int]:
    """Return a free named barrier id for each warpgroup that needs one, from 10 up if it can be."""
    free = free_ids(list(named_barrier_uses(reach))) or []
    groups = [only_warpgroup(reached.participants, reach.shape) for reached in found]
    needed = sorted({group for group in groups if group is not None})
    preferred = sorted(free, key=lambda number: (number < _FIRST_CHOICE, number))
    return dict(zip(needed, preferred, strict=False))


def _narrowed(
    view: KernelView, reach: ReachMap, reached: Reached, ids: dict[int, int]
) -> Fix | None:
    """Turn a CTA-wide barrier that one warpgroup reaches into that warpgroup's own."""
    operation = reached.operation
    warpgroup = only_warpgroup(reached.participants, reach.shape)
    written = view.source.slice(operation.span)
    callee, _, rest = written.partition("(")
    spelled = callee.rstrip().endswith("cta_sync") and rest.strip() == ")"
    if warpgroup is None or warpgroup not in ids or operation.stack or not spelled:
        return None
    start = operation.span.start + len(callee.rstrip().encode()) - len("cta_sync")
    call = f"warpgroup_sync({ids[warpgroup]})"
    known = not reach.is_opaque  # a call whose body is not known may use any id
    return Fix(
        f"Synchronise warpgroup {warpgroup} only: `{call}`",
        Applicability.SAFE if known else Applicability.UNSAFE,
        (Edit(Span(start, operation.span.end), call),),
    )
