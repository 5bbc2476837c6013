"""The worksheet of one kernel: its four tables, and its shape beside the reference's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.protocol.worksheet.cells import Said
from tirx_lens.protocol.worksheet.handoff import BarrierRow, barriers
from tirx_lens.protocol.worksheet.lifetime import Lifetimes, lifetimes
from tirx_lens.protocol.worksheet.meetings import MeetingRow, meetings
from tirx_lens.protocol.worksheet.roles import RoleRow, roles
from tirx_lens.protocol.worksheet.runs import runs, unfollowed
from tirx_lens.protocol.worksheet.skeleton import StepRow, skeleton
from tirx_lens.protocol.worksheet.storage import Storage, storage
from tirx_lens.protocol.worksheet.unfollowed import undecided

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView


@dataclass(frozen=True, slots=True)
class KernelSheet:
    """What is known of one kernel.

    `builder` is the function around it. `threads` are those of a CTA and `ctas` the CTAs of a
    cluster, None where the text does not say. `is_whole` is false where statements of it could not
    be read: its tables are then empty. `undecided` are reasons why something is left open.
    `unfollowed` says why the kernel could not be run, None where it was; `runs` are the instances
    that were run, and how each ended.
    """

    name: str
    builder: str | None
    place: Span
    threads: int | None
    ctas: int | None
    is_whole: bool
    roles: tuple[RoleRow, ...] = ()
    storage: Storage = field(default_factory=Storage)
    barriers: tuple[BarrierRow, ...] = ()
    meetings: tuple[MeetingRow, ...] = ()
    lifetimes: Lifetimes = field(default_factory=Lifetimes)
    skeleton: tuple[StepRow, ...] = ()
    undecided: tuple[Said, ...] = ()
    unfollowed: Said | None = None
    runs: tuple[Said, ...] = ()


def broken_sheet(kernel: Kernel, reason: str) -> KernelSheet:
    """Return the worksheet of a kernel on which a part of TIRx Lens itself broke."""
    said = Said(f"the worksheet could not be filled in, which is a bug of TIRx Lens: {reason}")
    return KernelSheet(
        *(kernel.name, kernel.builder, kernel.name_span, None, None, False), undecided=(said,)
    )


def kernel_sheet(view: KernelView) -> KernelSheet:
    """Fill in the worksheet of a kernel.

    Of one that was not wholly read there is nothing but the reasons: its tables would leave out
    what the missing statements do.
    """
    kernel, shape = view.kernel, view.reach.shape if view.reach is not None else None
    threads = shape.threads if shape is not None else None
    ctas = shape.ctas if shape is not None and shape.cluster_known else None
    empty = KernelSheet(
        *(kernel.name, kernel.builder, kernel.name_span, threads, ctas, kernel.is_whole),
        undecided=undecided(view),
    )
    if not kernel.is_whole:
        return empty
    return KernelSheet(
        *(kernel.name, kernel.builder, kernel.name_span, threads, ctas, kernel.is_whole),
        roles(view),
        storage(view),
        barriers(view),
        meetings(view),
        lifetimes(view),
        skeleton(view),
        undecided(view),
        unfollowed(view),
        runs(view),
    )
