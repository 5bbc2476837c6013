"""One role's way through a kernel, from the top to the end, as a flat list of steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Branch, Exit, ExitKind, Loop, Op, Operation
from tirx_lens.model.objects import ObjectKind
from tirx_lens.model.queries import blocks_of
from tirx_lens.protocol.follow.steps import ACCESSES, CONTROL
from tirx_lens.protocol.follow.unfollowed import NotFollowed
from tirx_lens.protocol.program import Spin
from tirx_lens.rules.facts.tiles import scheduler_of
from tirx_lens.threads.condition import Unsure
from tirx_lens.threads.participants import Pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.kernel import Block, Statement
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.protocol.follow.groups import Group
    from tirx_lens.protocol.follow.steps import StepMaker
    from tirx_lens.protocol.program import Step
    from tirx_lens.rules.facts.loop_rounds import LoopRounds
    from tirx_lens.rules.facts.registers import Registers
    from tirx_lens.threads.reach import Reached, ReachMap

_MOST_STEPS = 20_000
_MOST_TURNS = 50_000  # of all loops and roles together
_SPINS = 3  # as often as its tiles goes round a loop that never moves on


class Walker:
    """Follows groups through the body of one kernel; knows which statements matter."""

    def __init__(self, reach: ReachMap, loops: LoopRounds, maker: StepMaker) -> None:
        self._reach = reach
        self._loops = loops
        self._maker = maker
        self._at = reach.by_operation
        self._inside: dict[int, tuple[Operation, ...]] = {}
        self._matter: dict[int, tuple[Statement, ...]] = {}
        self._left = _MOST_STEPS
        self._turns = 0
        self._stepped: dict[KernelObject, int] = {}

    def places(self, body: Block) -> Iterator[Reached]:
        """Yield the operations that matter, each with who comes."""
        for operation in self._relevant(body):
            reached = self._at.get(id(operation))
            if reached is None:
                raise NotFollowed("a statement that no thread reaches", operation.span)
            yield reached

    def follow(self, body: Block, group: Group, thread: Registers) -> tuple[Step, ...]:
        """Return the steps of a group."""
        steps: list[Step] = []
        self._block(body, group, thread, steps)
        self._left -= len(steps)
        return tuple(steps)

    def _relevant(self, block: Block) -> tuple[Operation, ...]:
        known = self._inside.get(id(block))
        if known is None:
            known = self._inside[id(block)] = tuple(self._relevant_in(block))
        return known

    def _relevant_in(self, block: Block) -> Iterator[Operation]:
        for statement in block.statements:
            if isinstance(statement, Operation):
                if _matters(statement):
                    yield statement
            else:
                for inner in blocks_of(statement):
                    yield from self._relevant(inner)

    def _statements(self, block: Block) -> tuple[Statement, ...]:
        """Return the statements of a block that are, or hold, what matters."""
        known = self._matter.get(id(block))
        if known is None:
            here = set(map(id, self._relevant(block)))
            known = self._matter[id(block)] = tuple(
                statement
                for statement in block.statements
                if isinstance(statement, Exit)
                or id(statement) in here
                or any(map(self._statements, blocks_of(statement)))
            )
        return known

    def _block(
        self, block: Block, group: Group, thread: Registers, steps: list[Step]
    ) -> ExitKind | None:
        """Follow a block; return how it is left, if not at its end."""
        for statement in self._statements(block):
            left: ExitKind | None = None
            match statement:
                case Operation():
                    self._operation(statement, group, thread, steps)
                case Branch():
                    side = self._side(statement, group, thread)
                    if side is not None:
                        left = self._block(side, group, thread, steps)
                case Loop():
                    left = self._loop(statement, group, thread, steps)
                case Exit(kind=kind):
                    return kind
                case _:
                    for inner in blocks_of(statement):
                        left = left or self._block(inner, group, thread, steps)
            if left is not None:
                return left
        return None

    def _operation(
        self, operation: Operation, group: Group, thread: Registers, steps: list[Step]
    ) -> None:
        reached = self._at[id(operation)]
        if not reached.participants.typical & group.threads:
            return
        thread.at = operation
        if operation.op is Op.NEXT_TILE:
            if operation.receiver is not None:
                self._stepped[operation.receiver] = self._stepped.get(operation.receiver, 0) + 1
            return
        state = _state_of(operation)
        if state is not None:
            thread.move(state, operation)
            return
        if reached.participants.pick is Pick.SOME or not operation.complete:
            if operation.op in CONTROL:
                raise NotFollowed("which threads come here is not known", operation.span)
            if operation.op is not Op.TILE_OP and operation.op is not Op.COPY:
                raise NotFollowed("which threads come here is not known", operation.span)
            return
        steps.extend(self._maker.steps_of(reached, group, thread))
        if len(steps) > self._left:
            raise NotFollowed(f"its roles take more than {_MOST_STEPS} steps", operation.span)

    def _loop(
        self, loop: Loop, group: Group, thread: Registers, steps: list[Step]
    ) -> ExitKind | None:
        if not any(self._comes(operation, group) for operation in self._relevant(loop.body)):
            return None
        values = self._loops.values(loop)
        if values is None:
            raise NotFollowed("how often a loop runs is not known", loop.header)
        scheduler = scheduler_of(loop)
        if scheduler is not None:
            return self._tiles(loop, scheduler, len(values), group, thread, steps)
        counters = tuple(place.start for place in loop.variables)
        for value in values:
            self._turn(loop)
            for place in counters:
                thread.counters[place] = value
            left = self._block(loop.body, group, thread, steps)
            if left is ExitKind.BREAK:
                break
            if left is ExitKind.RETURN:
                return left
        return None

    def _turn(self, loop: Loop) -> None:
        """Count a turn of a loop: also those in which a role does nothing take their time."""
        self._turns += 1
        if self._turns > _MOST_TURNS:
            raise NotFollowed(f"its loops take more than {_MOST_TURNS} turns", loop.header)

    def _tiles(
        self,
        loop: Loop,
        scheduler: KernelObject,
        tiles: int,
        group: Group,
        thread: Registers,
        steps: list[Step],
    ) -> ExitKind | None:
        """Follow a loop over the tiles of a scheduler, which each role steps through by itself."""
        self._stepped[scheduler] = 0
        for _ in range(_SPINS * tiles):
            if self._stepped[scheduler] >= tiles:
                break
            self._turn(loop)
            left = self._block(loop.body, group, thread, steps)
            if left is ExitKind.BREAK:
                break
            if left is ExitKind.RETURN:
                return left
        if not self._stepped[scheduler]:
            steps.append(Spin(loop.header))
        return None

    def _side(self, branch: Branch, group: Group, thread: Registers) -> Block | None:
        """Return the side of a branch that a group takes; None where nothing there matters."""
        outcome = self._reach.condition(branch.condition)
        if not group.threads & ~outcome.yes:
            return branch.then
        if not group.threads & ~outcome.no:
            return branch.orelse
        sides = (branch.then, branch.orelse)
        if outcome.unsure in (Unsure.ELECTED, Unsure.NOT_ELECTED) or outcome.yes or outcome.no:
            # Who is elected comes to what stands inside, unless a guard there keeps it out.
            for side in sides:
                if any(self._comes(operation, group) for operation in self._relevant(side)):
                    return side
            return None
        thread.at = None
        taken = thread.value(branch.condition)
        if taken is not None:
            return branch.then if taken else branch.orelse
        inside = [op for side in sides for op in self._relevant(side) if self._comes(op, group)]
        exits = any(_leaves(side) for side in sides)
        if exits or any(operation.op not in (Op.COPY, Op.TILE_OP) for operation in inside):
            raise NotFollowed("a condition that the text does not decide", branch.condition_span)
        return None

    def _comes(self, operation: Operation, group: Group) -> bool:
        return bool(self._at[id(operation)].participants.typical & group.threads)


def _matters(operation: Operation) -> bool:
    made = operation.created
    return (
        operation.op in CONTROL
        or operation.op in ACCESSES
        or _state_of(operation) is not None
        or (made is not None and made.kind is ObjectKind.PIPELINE)
    )


def _leaves(block: Block) -> bool:
    return any(
        isinstance(statement, Exit) or any(map(_leaves, blocks_of(statement)))
        for statement in block.statements
    )


def _state_of(operation: Operation) -> KernelObject | None:
    """Return the pipeline state that an operation makes or moves."""
    state = operation.created or operation.receiver
    return state if state is not None and state.kind is ObjectKind.PIPELINE_STATE else None
