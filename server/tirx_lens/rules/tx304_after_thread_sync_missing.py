"""TX304: an accumulator read after a wait, with no tcgen05 fence between."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.span import Span
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.edits import indentation, whole_lines
from tirx_lens.rules.changes.spelling import is_older, tirx_name
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.course import apart, meets
from tirx_lens.rules.facts.tmem import issuers_of, tmem_loads
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.warps import warps_touched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.threads.reach import Reached, ReachMap
    from tirx_lens.threads.shape import Shape

_SETTING = """
    acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
    pool = T.SMEMPool()
    done = TCGen05Bar(pool, 1)
    f32 = T.wg_reg_tile(64)
    done.init(1)
    T.cuda.cta_sync()
    if wg_id == {group} and warp_id == 0 and lane_id == 0:
        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
        done.arrive(0)
    if wg_id == 0:
"""
_LOAD = 'Tx.wg.copy_async(f32[:, :], acc[:, 0:64], dispatch="tmem<->local")'
_WAIT = "T.ptx.tcgen05.wait__ld.sync.aligned()"
_FENCE = "T.ptx.tcgen05.fence__after_thread_sync()"


def _reader(*lines: str, issuer: int = 1) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return in_kernel(_SETTING.replace("{group}", str(issuer)) + body)


class AfterThreadSyncMissing(Rule):
    """An accumulator is read after the wait for its MMAs with no tcgen05 fence between.

    ## What it does
    Finds loads from TMEM that follow a wait on a tcgen05 barrier, where the reading threads execute
    no `tcgen05.fence::after_thread_sync` between the two; a fence counts for the warps that execute
    it. Where the MMAs are issued by another
    warpgroup that is a warning; where one warpgroup issues and reads, information.

    ## Why it is bad
    A tcgen05 instruction is ordered behind a synchronisation of threads only by this fence. Without
    it the compiler and the hardware may start the load before the wait is over, and it reads an
    accumulator that is not finished. No run that went wrong is known to us for that reason, and
    many kernels in use lack the fence: but nothing promises that they work.

    ## Example
    ```python
    acc_full.wait(0, phase)
    Tx.wg.copy_async(acc_f32[:, :], acc[:, 0:64], dispatch="tmem<->local")
    ```

    ## Use instead
    ```python
    acc_full.wait(0, phase)
    T.ptx.tcgen05.fence__after_thread_sync()
    Tx.wg.copy_async(acc_f32[:, :], acc[:, 0:64], dispatch="tmem<->local")
    ```

    ## Fix
    Inserts the fence after the wait.

    ## When not to
    Only waits on `TCGen05Bar` and the `"tcgen05"` side of a `Pipeline` are looked at: what a raw
    barrier word stands for is not known.

    ## References
    - PTX ISA, *TensorCore 5th Generation Instructions: tcgen05.fence*, and *Memory Consistency
      Model for 5th generation of TensorCore operations*
    """

    code: ClassVar[str] = "TX304"
    name: ClassVar[str] = "after-thread-sync-missing"
    levels: ClassVar[str] = "warning; information where one warpgroup issues and reads"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.NAN)
    fix_title: ClassVar[str | None] = "Insert the fence"

    VALID = (
        _reader("done.wait(0, 0)", _FENCE, _LOAD, _WAIT),
        # 0.26; the fence stands for all loads that follow.
        _reader(
            "done.wait(0, 0)",
            "T.ptx.tcgen05.fence.after_thread_sync()",
            "for i in T.unroll(2):",
            f"    {_LOAD}",
            "    T.ptx.tcgen05.wait.ld()",
        ),
        # A wait for something else; a function that may fence.
        in_kernel("""
            acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
            pool = T.SMEMPool()
            full = TMABar(pool, 1)
            f32 = T.wg_reg_tile(64)
            if wg_id == 1 and warp_id == 0 and lane_id == 0:
                Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
            if wg_id == 0:
                full.wait(0, 0)
                Tx.wg.copy_async(f32[:, :], acc[:, 0:64], dispatch="tmem<->local")
                T.ptx.tcgen05.wait__ld.sync.aligned()
        """),
        "from kernels import fence\n\n\n" + _reader("done.wait(0, 0)", "fence()", _LOAD, _WAIT),
        # Every warp fences, each in a branch of its own; one lane of each.
        _reader(
            "done.wait(0, 0)",
            "if warp_id == 0:",
            f"    {_FENCE}",
            "elif lane_id == 0:",
            f"    {_FENCE}",
            _LOAD,
            _WAIT,
        ),
        # The other side of a branch.
        _reader("if bx == 0:", "    done.wait(0, 0)", "else:", f"    {_LOAD}", f"    {_WAIT}"),
    )

    INVALID = (
        Invalid(
            _reader("done.wait(0, 0)", f"{_LOAD}  # <-", _WAIT),
            severity=Severity.WARNING,
            replacement=_reader("done.wait(0, 0)", _FENCE, _LOAD, _WAIT),
        ),
        # 0.26; the fence before the wait orders nothing; other work between.
        Invalid(
            _reader(
                "T.ptx.tcgen05.fence.after_thread_sync()",
                "done.wait(0, 0)",
                "T.cuda.warpgroup_sync(1)",
                "for i in T.unroll(2):",
                f"    {_LOAD}  # <-",
                "    T.ptx.tcgen05.wait.ld()",
            ),
            severity=Severity.WARNING,
            replacement=_reader(
                "T.ptx.tcgen05.fence.after_thread_sync()",
                "done.wait(0, 0)",
                "T.ptx.tcgen05.fence.after_thread_sync()",
                "T.cuda.warpgroup_sync(1)",
                "for i in T.unroll(2):",
                f"    {_LOAD}",
                "    T.ptx.tcgen05.wait.ld()",
            ),
        ),
        # One warp of the four fences.
        Invalid(
            _reader(
                "done.wait(0, 0)", "if warp_id == 0:", f"    {_FENCE}", f"{_LOAD}  # <-", _WAIT
            ),
            severity=Severity.WARNING,
            replacement=_reader(
                "done.wait(0, 0)", _FENCE, "if warp_id == 0:", f"    {_FENCE}", _LOAD, _WAIT
            ),
        ),
        # One warpgroup does both.
        Invalid(
            _reader("done.wait(0, 0)", f"{_LOAD}  # <-", _WAIT, issuer=0),
            severity=Severity.INFORMATION,
            replacement=_reader("done.wait(0, 0)", _FENCE, _LOAD, _WAIT, issuer=0),
        ),
        # The fence of another role, inside T.inline functions.
        Invalid(
            in_kernel("""
                @T.inline
                def drain(columns):
                    Tx.wg.copy_async(f32[:, :], acc[:, 0:columns], dispatch="tmem<->local")  # <-
                    T.ptx.tcgen05.wait__ld.sync.aligned()

                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 1, full="tcgen05", empty="mbar")
                f32 = T.wg_reg_tile(64)
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0):
                    pipe.full.wait(0, 0)
                    drain(64)
                elif warp_id == 0:
                    if T.cuda.elect_sync():
                        T.ptx.tcgen05.fence__after_thread_sync()
                        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                        pipe.full.arrive(0)
            """),
            severity=Severity.WARNING,
            replacement=in_kernel("""
                @T.inline
                def drain(columns):
                    Tx.wg.copy_async(f32[:, :], acc[:, 0:columns], dispatch="tmem<->local")
                    T.ptx.tcgen05.wait__ld.sync.aligned()

                acc = T.decl_buffer((128, 128), "float32", scope="tmem", allocated_addr=0)
                pool = T.SMEMPool()
                pipe = Pipeline(pool, 1, full="tcgen05", empty="mbar")
                f32 = T.wg_reg_tile(64)
                T.cuda.cta_sync()
                if T.filter(wg_id, wg_id == 0):
                    pipe.full.wait(0, 0)
                    T.ptx.tcgen05.fence__after_thread_sync()
                    drain(64)
                elif warp_id == 0:
                    if T.cuda.elect_sync():
                        T.ptx.tcgen05.fence__after_thread_sync()
                        Tx.gemm_async(acc[:, :], A, A, dispatch="tcgen05")
                        pipe.full.arrive(0)
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look from each load back to the wait before it."""
        reach = view.reach
        if reach is None:
            return
        for identity, load in reach.once(tmem_loads).items():
            if load.source is None:
                continue
            reached = reach.by_operation[identity]
            wait = _unfenced_wait(reach, reached.index)
            issuers = view.once(issuers_of).get(load.source) if wait is not None else None
            if wait is not None and issuers:
                yield self._finding(view, reach, reached, wait, issuers)

    def _finding(
        self,
        view: KernelView,
        reach: ReachMap,
        load: Reached,
        wait: Reached,
        issuers: list[Reached],
    ) -> Finding:
        shape = reach.shape
        mine = _warpgroups(load.participants.possible, shape)
        other = next((r for r in issuers if r.participants.possible & ~mine), None)
        who = describe((other or issuers[0]).participants, shape)
        consequence = (
            "the load may start before the wait is over"
            if other is not None
            else "it works as things are, but nothing orders the load behind the wait"
        )
        message = (
            f"this reads what MMAs of {who} wrote, after the wait on line "
            f"{view.line(wait.operation.span)} and with no `tcgen05.fence::after_thread_sync` "
            f"between: {consequence}. Put the fence after the wait"
        )
        related = [Related(wait.operation.span, "the wait"), *guards_and_calls(load)]
        return self.finding(
            Severity.WARNING if other is not None else Severity.INFORMATION,
            message,
            load.operation.span,
            fix=_insert(view, wait),
            related=related,
        )


def _unfenced_wait(reach: ReachMap, index: int) -> Reached | None:
    """Return the wait that a load follows with no fence between, if it is one for MMAs.

    The lanes of a warp load together: what one of them fences is fenced for all.
    """
    load = reach.reached[index]
    unfenced = load.participants.typical
    for position in range(index - 1, -1, -1):
        reached = reach.reached[position]
        operation = reached.operation
        if operation.op is Op.OPAQUE:
            return None
        if not meets(reached, load) or apart(reached, load):
            continue
        if operation.op is Op.FENCE_AFTER_THREAD_SYNC:
            unfenced &= ~warps_touched(reached.participants.possible, reach.shape)
        if id(operation) in reach.once(tmem_loads) or not unfenced:
            return None
        if operation.op is Op.BARRIER_WAIT and reached.participants.typical & unfenced:
            barrier = operation.receiver
            tcgen05 = barrier is not None and barrier.kind is ObjectKind.TCGEN05_BARRIER
            return reached if tcgen05 else None
    return None


def _warpgroups(threads: int, shape: Shape) -> int:
    """Return all threads of the warpgroups that a set touches."""
    groups = (
        shape.warpgroup(number, cta)
        for cta in range(shape.ctas)
        for number in range(shape.warpgroups)
    )
    return sum(group for group in groups if group & threads)


def _insert(view: KernelView, wait: Reached) -> Fix | None:
    operation = wait.operation
    lines = whole_lines(view.source, operation.statement)
    if lines is None or operation.stack or not view.source.slice(lines).endswith("\n"):
        return None
    call = "fence.after_thread_sync()" if is_older(view) else "fence__after_thread_sync()"
    indent = indentation(view.source, operation.statement)
    text = f"{indent}{tirx_name(view)}.ptx.tcgen05.{call}\n"
    place = Span(lines.end, lines.end)
    return Fix("Insert the fence", Applicability.SAFE, (Edit(place, text),))
