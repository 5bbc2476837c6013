"""A kernel followed: its roles with all that they do, or why that cannot be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.protocol.follow.groups import groups_of
from tirx_lens.protocol.follow.steps import StepMaker
from tirx_lens.protocol.follow.unfollowed import NotFollowed, Unfollowed
from tirx_lens.protocol.follow.walk import Walker
from tirx_lens.protocol.follow.words import Words
from tirx_lens.protocol.program import Program, Role
from tirx_lens.protocol.wanted import check
from tirx_lens.rules.facts.arrival_targets import ArrivalTargets
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.loop_rounds import LoopRounds
from tirx_lens.rules.facts.phases import STATE_STORED, phase_offset
from tirx_lens.rules.facts.registers import Registers, Shared
from tirx_lens.rules.facts.tmem import tmem_load

if TYPE_CHECKING:
    from tirx_lens.rules.rule import KernelView


def follow(view: KernelView) -> Program | Unfollowed:
    """Return the instance of a kernel's handoffs; or what cannot be followed in it."""
    return view.once(_follow)


def _follow(view: KernelView) -> Program | Unfollowed:
    try:
        return _program(view)
    except NotFollowed as end:
        return end.unfollowed


def _program(view: KernelView) -> Program:
    reach = view.reach
    if reach is None:
        raise NotFollowed("how many threads it has is not known")
    if not reach.shape.cluster_known:
        raise NotFollowed("how many CTAs its cluster has is not known")
    if view.mentions(STATE_STORED):
        raise NotFollowed("a pipeline state is moved by hand")
    found = handoffs(view)
    if found.is_open:
        raise NotFollowed("something may use its barriers that is not seen")
    words = Words(reach, found)
    offsets = {handoff.barrier: phase_offset(handoff) for handoff in found.barriers}
    loads = (tmem_load(reached.operation) for reached in reach.reached)
    loaded = frozenset(part.buffer for one in loads if one for part in one.registers)
    maker = StepMaker(reach, words, ArrivalTargets(reach.shape.ctas), offsets, loaded)
    walker = Walker(reach, LoopRounds(found), maker)
    body = view.kernel.body
    shared = Shared(reach)
    roles: list[Role] = []
    for group in groups_of(reach, walker.places(body)):
        check(view.run_while)
        thread = Registers(shared, group.number, group.threads)
        steps = walker.follow(body, group, thread)
        roles.append(Role(group.name, group.cta, group.size, steps, group.family, group.lanes))
    return Program(tuple(words.words), tuple(roles))
