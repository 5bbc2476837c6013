"""The ways in which authors write the same thing: ids, guards, roles, states, helpers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .writing import Under, under

if TYPE_CHECKING:
    from .spelling import Spelling
    from .writing import Code

HEADER = """\
import tvm
from tvm.backend.cuda.lang.pipeline import MBarrier, Pipeline, PipelineState, TCGen05Bar, TMABar
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D
from tvm.backend.cuda.lang.warp_role import WarpgroupRole, WarpRole
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import tmem_datapath_layout
"""


class Ids(Enum):
    """Which scope ids a kernel declares."""

    WARPGROUP = "wg_id, warp_id in it, lane_id"
    WARP = "warp_id in the CTA, lane_id"
    THREAD = "thread_id alone"
    ALL = "wg_id, warp_id, lane_id and thread_id"


class Guards(Enum):
    """How one condition on a warpgroup and a warp is written."""

    NESTED = "an if in an if"
    JOINED = "and"
    CHAINED = "elif and else"
    META = "a meta_var for the condition"
    ROLE = "WarpgroupRole"


class Counter(Enum):
    """How a role knows its slot and phase."""

    STATE = "PipelineState"
    ROUND = "from the number of the round"
    MIRRORED = "a state of the other phase, turned round at each wait"


@dataclass(frozen=True)
class Role:
    """What some threads do: a warpgroup (or all others), perhaps one warp or one thread of it."""

    name: str
    warpgroup: int
    body: Code
    warp: int | None = None
    one_thread: bool = False


@dataclass(frozen=True)
class Style:
    """One author's habits."""

    spelling: Spelling
    ids: Ids
    guards: Guards
    counter: Counter
    elects: bool  # else `lane_id == 0`
    swapped: bool  # `0 == wg_id`
    helpers: frozenset[str]  # roles whose body is a T.inline function
    reversed_roles: bool

    @property
    def elected(self) -> str:
        """The condition that lets one thread of a warp through."""
        return self.spelling.elect if self.elects else self._equal(self.lane, 0)

    @property
    def wg(self) -> str:
        return {Ids.WARP: "(warp_id // 4)", Ids.THREAD: "(tid // 128)"}.get(self.ids, "wg_id")

    @property
    def warp(self) -> str:
        """The number of the warp in its warpgroup."""
        return {Ids.WARP: "(warp_id % 4)", Ids.THREAD: "(tid // 32 % 4)"}.get(self.ids, "warp_id")

    @property
    def lane(self) -> str:
        return "(tid % 32)" if self.ids is Ids.THREAD else "lane_id"

    @property
    def row(self) -> str:
        """The number of the thread in its warpgroup."""
        return "(tid % 128)" if self.ids is Ids.THREAD else f"({self.warp} * 32 + lane_id)"

    def declared_ids(self, warpgroups: int) -> Code:
        """Declare the ids of a CTA of so many warpgroups."""
        in_wg = [
            f"wg_id = T.warpgroup_id([{warpgroups}])",
            "warp_id = T.warp_id_in_wg([4])",
            "lane_id = T.lane_id([32])",
        ]
        thread = f"tid = T.thread_id([{warpgroups * 128}])"
        in_cta = [f"warp_id = T.warp_id([{warpgroups * 4}])", "lane_id = T.lane_id([32])"]
        return {
            Ids.WARPGROUP: in_wg,
            Ids.WARP: in_cta,
            Ids.THREAD: [thread],
            Ids.ALL: [*in_wg, thread],
        }[self.ids]

    def _equal(self, left: str, right: int) -> str:
        return f"{right} == {left}" if self.swapped else f"{left} == {right}"

    def one_thread(self, body: Code, *, warp: int | None = 0) -> Code:
        """Let one thread of a warp of the warpgroup do it."""
        conditions = [] if warp is None else [self._equal(self.warp, warp)]
        return self.guarded([*conditions, self.elected], body)

    def guarded(self, conditions: list[str], body: Code) -> Code:
        """Put a body under conditions."""
        if self.guards is Guards.JOINED:
            # An election is a number, not a truth value: TVM refuses it beside `and`.
            joined = [c for c in conditions if c != self.spelling.elect]
            elected = [c for c in conditions if c == self.spelling.elect]
            conditions = [*([" and ".join(joined)] if joined else []), *elected]
        return under([f"if {condition}" for condition in conditions], body)

    def roles(self, roles: list[Role], warpgroups: int) -> Code:
        """Write roles one after another, each in its threads, in a CTA of so many warpgroups."""
        code: Code = []
        if self.reversed_roles:
            roles = roles[::-1]
        bodies = {}
        for role in roles:
            if role.name in self.helpers:
                code += ["@T.inline", Under(f"def {role.name}()", role.body), ""]
                bodies[role.name] = [f"{role.name}()"]
            else:
                bodies[role.name] = role.body
        if self.guards is Guards.CHAINED:
            return code + self._chained(roles, bodies, warpgroups)
        for role in roles:
            conditions = self._conditions(role)
            if self.guards is Guards.META:
                first = f"is_{role.name}"
                code.append(f"{first} = T.meta_var({conditions[0]})")
                code += under([f"if {c}" for c in [first, *conditions[1:]]], bodies[role.name])
            elif self.guards is Guards.ROLE and self.ids in (Ids.WARPGROUP, Ids.ALL):
                header = f"with WarpgroupRole(wg_id, {role.warpgroup})"
                inner = [f"if {condition}" for condition in conditions[1:]]
                code += under([header, *inner], bodies[role.name])
            else:
                code += self.guarded(conditions, bodies[role.name])
        return code

    def _conditions(self, role: Role) -> list[str]:
        conditions = [self._equal(self.wg, role.warpgroup)]
        if role.warp is not None:
            conditions.append(self._equal(self.warp, role.warp))
        return [*conditions, self.elected] if role.one_thread else conditions

    def _chained(self, roles: list[Role], bodies: dict[str, Code], count: int) -> Code:
        code: Code = []
        warpgroups = list(dict.fromkeys(role.warpgroup for role in roles))
        for index, warpgroup in enumerate(warpgroups):
            inner: Code = []
            for role in (role for role in roles if role.warpgroup == warpgroup):
                body = bodies[role.name]
                if role.one_thread:
                    body = [Under(f"if {self.elected}", body)]
                if role.warp is None:
                    inner += body
                else:
                    word = "elif" if inner and isinstance(inner[-1], Under) else "if"
                    inner.append(Under(f"{word} {self._equal(self.warp, role.warp)}", body))
            if index and index == count - 1:
                code.append(Under("else", inner))
            else:
                word = "elif" if index else "if"
                code.append(Under(f"{word} {self._equal(self.wg, warpgroup)}", inner))
        return code


@dataclass(frozen=True)
class Turn:
    """A role's way through a ring: what stands before its loop, its slot and phase, the step."""

    before: Code
    stage: str
    phase: str
    step: Code


def turn(style: Style, name: str, depth: str, first: int, number: str | None) -> Turn:
    """Go through a ring of `depth` slots, the first phase being `first`.

    `number` is the expression that counts the rounds; without one there must be a state.
    """
    if style.counter is Counter.ROUND and number is not None:
        number = f"({number})" if " " in number else number
        phase = f"{number} // {depth} % 2"
        if first:
            phase = f"({phase}) ^ 1"
        return Turn([], f"{number} % {depth}", phase, [])
    if style.counter is Counter.MIRRORED:
        before: Code = [f"{name} = PipelineState({depth}, phase={1 - first})"]
        return Turn(before, f"{name}.stage", f"{name}.phase ^ 1", [f"{name}.advance()"])
    before = [f"{name} = PipelineState({depth}, phase={first})"]
    return Turn(before, f"{name}.stage", f"{name}.phase", [f"{name}.advance()"])
