"""TX114: register counts that a warpgroup cannot set, or that the SM does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.expr import constant_int
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.related import guards_and_calls
from tirx_lens.rules.rule import Invalid, KernelView, Rule
from tirx_lens.threads.describe import describe
from tirx_lens.threads.participants import Pick
from tirx_lens.threads.shape import WARPGROUP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirx_lens.threads.reach import Reached, ReachMap

_REGISTERS = 65536  # 32-bit registers of an SM, and the most that one CTA can have


class SetmaxnregBudget(Rule):
    """`setmaxnreg` is executed by part of a warpgroup, or asks for more registers than there are.

    ## What it does
    Finds `setmaxnreg` behind a guard that lets only some threads of a warpgroup through while the
    others execute none, and register counts of the warpgroups that add up to more than 64K.

    ## Why it is bad
    `setmaxnreg` changes the registers of a whole warpgroup, and all its warps must execute the same
    one: what a part of it does is undefined, in practice a wait that does not end. `setmaxnreg.inc`
    waits until the CTA's pool has the registers; with 65,536 in an SM, a pool that is asked for
    more than that never has.

    ## Example
    ```python
    if wg_id == 1:
        if warp_id == 0:
            T.ptx.setmaxnreg.dec.sync.aligned.u32(40)  # one warp of four
    ```

    ## Use instead
    ```python
    if wg_id == 1:
        T.ptx.setmaxnreg.dec.sync.aligned.u32(40)
        if warp_id == 0:
            ...
    ```

    ## When not to
    Where a warpgroup sets its registers more than once the smallest count is taken, and warpgroups
    that set none are not counted: the sum that is reported is a lower bound. The pool is as large
    as the launch made it, which only the compiler knows, so that a smaller sum may be too much
    as well.

    ## References
    - PTX ISA, *setmaxnreg*
    - CUDA C++ Programming Guide, *Technical specifications per compute capability*: 64K registers
      per SM
    """

    code: ClassVar[str] = "TX114"
    name: ClassVar[str] = "setmaxnreg-budget"
    levels: ClassVar[str] = "warning"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.DEADLOCK, Symptom.CRASH, Symptom.SLOW)

    VALID = (
        # The two APIs, by whole warpgroups: 128 * (40 + 232) = 34,816 registers.
        in_kernel("""
            if wg_id == 1:
                T.ptx.setmaxnreg.dec.sync.aligned.u32(40)
            else:
                T.ptx["setmaxnreg.inc.sync.aligned.u32"](232)
        """),
        in_kernel("""
            if wg_id == 1:
                T.ptx.setmaxnreg(False, 40)
            elif wg_id == 0:
                T.ptx.setmaxnreg(True, 232)
        """),
        # By all four warps, each in a branch of its own.
        in_kernel("""
            if wg_id == 1:
                if warp_id == 0:
                    T.ptx.setmaxnreg.dec.sync.aligned.u32(40)
                else:
                    T.ptx.setmaxnreg.dec.sync.aligned.u32(40)
        """),
        # A count that the host gives; a guard on one.
        """\
from tvm.script import tirx as T


def build(REGS, BIG):
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16")):
        T.device_entry()
        wg_id = T.warpgroup_id([4])
        if wg_id < 3:
            T.ptx.setmaxnreg.inc.sync.aligned.u32(REGS)
        else:
            if BIG:
                T.ptx.setmaxnreg.inc.sync.aligned.u32(240)

    return kernel
""",
        # Three at 160, one gives back first: 128 * (3 * 160 + 32) = 65,536, just enough.
        """\
from tvm.script import tirx as T


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([4])
    if wg_id < 3:
        T.ptx.setmaxnreg.inc.sync.aligned.u32(160)
    else:
        T.ptx.setmaxnreg.dec.sync.aligned.u32(32)
""",
    )

    INVALID = (
        Invalid(
            in_kernel("""
                if wg_id == 1:
                    if warp_id == 0:
                        T.ptx.setmaxnreg.dec.sync.aligned.u32(40)  # <-
            """),
            severity=Severity.WARNING,
        ),
        # One lane; half of the warps; an older spelling; inside T.inline; T.filter and `and`.
        Invalid(
            in_kernel("""
                NREG = T.meta_var(40)

                @T.inline
                def shrink():
                    T.ptx.setmaxnreg(False, 40)  # <-

                if wg_id == 1:
                    if T.cuda.elect_sync():
                        T.ptx["setmaxnreg.dec.sync.aligned.u32"](NREG)  # <-
                if T.filter(warp_id, warp_id < 2) and wg_id == 0:
                    shrink()
            """),
            severity=Severity.WARNING,
        ),
        # 128 * (3 * 168 + 40) = 69,632.
        Invalid(
            """\
from tvm.script import tirx as T

CONSUMER, PRODUCER = 168, 40


@T.prim_func
def kernel(A: T.Buffer((64,), "float16")):
    T.device_entry()
    wg_id = T.warpgroup_id([4])
    if wg_id == 3:
        T.ptx.setmaxnreg.dec.sync.aligned.u32(PRODUCER)
    else:
        T.ptx.setmaxnreg.inc.sync.aligned.u32(CONSUMER)  # <-
""",
            severity=Severity.WARNING,
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Look at who sets registers, then at how many are set in all."""
        if view.reach is None:
            return
        setters = view.reach.of(Op.SETMAXNREG)
        for setter in setters:
            partial = _partial_warpgroup(setter, view.reach)
            if partial is not None:
                message = (
                    f"`setmaxnreg` is for all {WARPGROUP} threads of a warpgroup together; "
                    f"{describe(setter.participants, view.reach.shape)} execute this one and the "
                    f"other threads of warpgroup {partial} none: what happens is undefined, most "
                    "likely they wait for ever. Move it above the guard"
                )
                related = guards_and_calls(setter)
                yield self.finding(
                    Severity.WARNING, message, setter.operation.span, related=related
                )
        yield from self._budget(view.reach, setters)

    def _budget(self, reach: ReachMap, setters: Sequence[Reached]) -> Iterator[Finding]:
        counts: dict[int, tuple[int, Reached]] = {}
        for number in range(reach.shape.warpgroups):
            group = reach.shape.warpgroup(number)
            mine = [setter for setter in setters if setter.participants.possible & group]
            sets = [(_registers(setter), setter) for setter in mine if _is_sure(setter, group)]
            known = [(count, setter) for count, setter in sets if count is not None]
            if known and len(known) == len(mine):
                counts[number] = min(known, key=lambda one: one[0])
        total = WARPGROUP * sum(count for count, _ in counts.values())
        if total <= _REGISTERS:
            return
        largest, setter = max(counts.values(), key=lambda one: one[0])
        parts = " + ".join(str(count) for count, _ in counts.values())
        message = (
            f"the warpgroups ask for {WARPGROUP} * ({parts}) = {total:,} registers and the SM has "
            f"{_REGISTERS:,}: the {largest} that are asked for here are never free, and "
            "`setmaxnreg.inc` waits for ever. Lower the counts"
        )
        others = {s.operation.span: c for c, s in counts.values() if s is not setter}
        related = [Related(span, f"{count} here") for span, count in others.items()]
        yield self.finding(Severity.WARNING, message, setter.operation.span, related=related)


def _partial_warpgroup(setter: Reached, reach: ReachMap) -> int | None:
    """Return a warpgroup of which some threads set registers here and others never do."""
    who, shape = setter.participants, reach.shape
    elsewhere = 0
    for other in reach.of(Op.SETMAXNREG, Op.OPAQUE):  # one whose body is not known may set them too
        if other is not setter:
            elsewhere |= other.participants.possible
    for cta in range(shape.ctas):
        for number in range(shape.warpgroups):
            group = shape.warpgroup(number, cta)
            if not who.possible & group:
                continue
            few = who.pick in (Pick.ONE_PER_WARP, Pick.ALL_BUT_ONE)
            if group & ~who.possible & ~elsewhere or (few and not elsewhere & group):
                return number
    return None


def _is_sure(setter: Reached, group: int) -> bool:
    who = setter.participants
    return who.pick is Pick.ALL and not who.conditional and who.possible & group == group


def _registers(setter: Reached) -> int | None:
    """Return the count, which is the last operand in both APIs."""
    operation = setter.operation
    given = operation.arguments[-1] if operation.arguments else operation.argument(9, "nreg")
    return constant_int(given)
