"""Every operation of a kernel with the threads that reach it, in program order."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tirx_lens.model.expr import Apply, Call, Expr, Operator, Path
from tirx_lens.model.kernel import (
    Block,
    Branch,
    Exit,
    ExitKind,
    Inlined,
    Kernel,
    Loop,
    LoopKind,
    Op,
    Operation,
)
from tirx_lens.model.record import record
from tirx_lens.threads.condition import Condition, Conditions, Unsure
from tirx_lens.threads.participants import Participants, Pick, everyone
from tirx_lens.threads.shape import Shape, shape_of
from tirx_lens.threads.values import Evaluator, is_uniform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.threads.values import Value

    Compute: TypeAlias = Callable[[Operator, object, object], object]
    Question: TypeAlias = Expr | Span

T = TypeVar("T")


@record()
class Guard:
    """A branch or loop around an operation.

    `taken` is false on the `else` side. `selective` says that this guard by itself keeps some
    thread of the kernel out. `question` is what an undecided branch asks, None for loops and for
    branches that are decided: those that ask the same of a value that does not change have the
    same answer.
    """

    branch: Branch | Loop
    taken: bool
    selective: bool
    question: Question | None = field(default=None, compare=False)

    @property
    def span(self) -> Span:
        """Where the condition stands."""
        if isinstance(self.branch, Branch):
            return self.branch.condition_span
        return self.branch.header


@record()
class Reached:
    """An operation and who gets to it.

    `returned` is the set of threads that have left the kernel by then: the hardware no longer
    waits for them at a CTA-wide barrier. `guards` and `loops` are outermost first. `index` is its
    place in the map.
    """

    operation: Operation
    participants: Participants
    guards: tuple[Guard, ...]
    returned: int
    loops: tuple[Loop, ...]
    index: int = field(compare=False)


by_index = attrgetter("index")
"""What places are sorted and searched by."""


def in_order(places: Iterable[Reached]) -> list[Reached]:
    """Return places of one map in program order."""
    return sorted(places, key=by_index)


@dataclass(frozen=True)
class ReachMap:
    """The operations of one kernel, in program order, and the shape they were placed in."""

    kernel: Kernel
    shape: Shape
    reached: tuple[Reached, ...]
    conditions: Conditions
    compute: Compute
    _answers: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def spans(self) -> Mapping[int, range]:
        """The places of what is reached inside each branch and loop, by its identity."""
        starts: dict[int, int] = {}
        stops: dict[int, int] = {}
        inner: tuple[Guard, ...] = ()
        for index, reached in enumerate(self.reached):
            if reached.guards is not inner:  # else in the block of the one before
                for guard in inner:
                    stops[id(guard.branch)] = index
                inner = reached.guards
                for guard in inner:
                    starts.setdefault(id(guard.branch), index)
        for guard in inner:
            stops[id(guard.branch)] = len(self.reached)
        return {part: range(start, stops[part]) for part, start in starts.items()}

    @cached_property
    def inits(self) -> Mapping[Span, tuple[Reached, ...]]:
        """Where barriers are initialised, by the place they are made at: `init`, or a pipeline."""
        found: dict[Span, list[Reached]] = {}
        for reached in self.initialising:
            operation = reached.operation
            barrier = operation.receiver if operation.op is Op.BARRIER_INIT else operation.created
            if barrier is not None:
                found.setdefault(barrier.span, []).append(reached)
        return {span: tuple(places) for span, places in found.items()}

    @cached_property
    def initialising(self) -> Sequence[Reached]:
        """What may initialise barriers: `init`, `mbarrier.init`, and whatever makes an object."""
        inits = (Op.BARRIER_INIT, Op.MBARRIER_INIT)
        return [
            reached
            for reached in self.reached
            if reached.operation.created is not None or reached.operation.op in inits
        ]

    @cached_property
    def instructions(self) -> Sequence[Reached]:
        """The PTX instructions that are of no kind but `Op.OTHER`: `T.ptx.tcgen05.ld...`."""
        return [one for one in self.of(Op.OTHER) if one.operation.name.startswith("T.ptx.")]

    @cached_property
    def by_op(self) -> Mapping[Op, Sequence[Reached]]:
        """The operations of each kind, in program order."""
        found: dict[Op, list[Reached]] = {}
        for reached in self.reached:
            found.setdefault(reached.operation.op, []).append(reached)
        return found

    def of(self, *ops: Op) -> Sequence[Reached]:
        """Return the operations of some kinds, in program order."""
        kinds = [self.by_op[op] for op in ops if op in self.by_op]
        if len(kinds) < 2:
            return kinds[0] if kinds else ()
        return in_order(chain.from_iterable(kinds))

    @property
    def is_opaque(self) -> bool:
        """Whether something is called that may do anything: its body is not known."""
        return Op.OPAQUE in self.by_op

    @cached_property
    def by_receiver(self) -> Mapping[KernelObject, Sequence[Reached]]:
        """The calls of methods of each object, in program order."""
        found: dict[KernelObject, list[Reached]] = {}
        for reached in self.reached:
            if reached.operation.receiver is not None:
                found.setdefault(reached.operation.receiver, []).append(reached)
        return found

    @cached_property
    def by_operation(self) -> Mapping[int, Reached]:
        """The operations by their identity."""
        return {id(reached.operation): reached for reached in self.reached}

    def once(self, question: Callable[[ReachMap], T]) -> T:
        """Return the answer to a question about the map alone, worked out the first time."""
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: T = self._answers[question]
        return answer

    def inside(self, loop: Loop) -> Sequence[Reached]:
        """Return the operations in a loop, in program order."""
        places = self.spans.get(id(loop), range(0))
        return self.reached[places.start : places.stop]

    def assuming(self, answers: Mapping[Question, bool]) -> ReachMap:
        """Return the map of a run in which undecided branches come out as `answers` say."""
        return _follow(self.kernel, self.shape, self.compute, answers)

    def condition(self, expr: Expr) -> Condition:
        """Return how an expression of this kernel comes out as a condition, thread by thread."""
        return self.conditions.of(expr)

    def evaluate(self, expr: Expr) -> Value:
        """Return what an arithmetic expression of this kernel is, thread by thread."""
        return self.conditions.evaluator.value(expr)


def reach(kernel: Kernel, compute: Compute) -> ReachMap | None:
    """Follow every thread through a kernel; None when the text does not say how many there are.

    `compute` applies an operator to two plain values, as the host would.
    """
    shape = shape_of(kernel.scope_ids)
    return _follow(kernel, shape, compute, {}) if shape is not None else None


def _question(branch: Branch, outcome: Condition) -> Question | None:
    """Return what a branch asks, if the text does not decide it."""
    if not outcome.maybe or outcome.unsure not in (Unsure.UNIFORM, Unsure.UNKNOWN):
        return None
    return branch.condition if outcome.unsure is Unsure.UNIFORM else branch.condition_span


def _follow(
    kernel: Kernel, shape: Shape, compute: Compute, answers: Mapping[Question, bool]
) -> ReachMap:
    walker = _Walker(shape, compute, answers)
    walker.block(kernel.body, everyone(shape))
    return ReachMap(kernel, shape, tuple(walker.reached), walker.conditions, compute)


class _Walker:
    def __init__(self, shape: Shape, compute: Compute, answers: Mapping[Question, bool]) -> None:
        self.reached: list[Reached] = []
        self._shape = shape
        self._answers = answers
        self._evaluator = Evaluator(shape, compute)
        self.conditions = Conditions(shape, self._evaluator)
        self._guards: tuple[Guard, ...] = ()  # as the loops, one for all that stands in a block
        self._loops: tuple[Loop, ...] = ()
        self._returned = 0

    def block(self, block: Block, coming: Participants) -> Participants:
        """Walk a block and return who reaches its end."""
        current = coming
        for statement in block.statements:
            match statement:
                case Operation():
                    self._note(statement, current)
                case Branch():
                    current = self._branch(statement, current)
                case Loop():
                    current = self._loop(statement, current)
                case Exit():
                    return self._exit(statement, current)
                case Inlined():  # `return` there leaves the kernel, as TVM has it
                    current = self.block(statement.body, current)
                case Block():
                    current = self.block(statement, current)
        return current

    def _note(self, operation: Operation, who: Participants) -> None:
        index = len(self.reached)
        self.reached.append(
            Reached(operation, who, self._guards, self._returned, self._loops, index)
        )

    def _branch(self, branch: Branch, coming: Participants) -> Participants:
        condition, asked = self._outcome(branch)
        ends, around = [], self._guards
        sides = ((branch.then, condition, True), (branch.orelse, condition.negated, False))
        for side, outcome, taken in sides:
            if not side.statements:
                continue  # who gets there comes out again
            inside = coming.narrowed(outcome, self._shape)
            self._guards = (*around, Guard(branch, taken, outcome.selective, asked))
            ends.append((inside, self.block(side, inside)))
        self._guards = around
        current = coming
        for inside, end in ends:
            if end is not inside and end != inside:
                current = current.without(_gone(inside, end))
        return current

    def _outcome(self, branch: Branch) -> tuple[Condition, Question | None]:
        """Return how a branch comes out, and what it asks if the text leaves that open."""
        condition = self.conditions.of(branch.condition)
        asked = _question(branch, condition)
        answer = self._answers.get(asked) if self._answers and asked is not None else None
        if answer is None:
            return condition, asked
        yes = condition.yes | (condition.maybe if answer else 0)
        return Condition(yes, self._shape.everyone & ~yes), asked

    def _loop(self, loop: Loop, coming: Participants) -> Participants:
        inside, selective = coming, False
        if loop.kind is LoopKind.WHILE:
            condition = self.conditions.of(loop.control)
            inside, selective = coming.narrowed(condition, self._shape), condition.selective
        elif not self._runs_alike(loop.control):
            inside = Participants(coming.possible, coming.typical, Pick.SOME, coming.conditional)
        guards, loops, before = self._guards, self._loops, self._returned
        self._guards = (*guards, Guard(loop, taken=True, selective=selective))
        self._loops = (*loops, loop)
        self.block(loop.body, inside)
        self._guards, self._loops = guards, loops
        gone = self._returned & ~before  # `break` and `continue` rejoin here, `return` does not
        return coming.without(Participants(gone, gone)) if gone else coming

    def _runs_alike(self, control: Expr) -> bool:
        """Tell whether a `for` loop runs as often in every thread."""
        match control:
            case Call(callee=Path(dotted=dotted), arguments=arguments):
                if "thread_binding" in dotted:
                    return True  # each thread takes one iteration
                values = [self._evaluator.value(argument) for argument in arguments]
                return all(map(is_uniform, values))
        return not isinstance(control, Apply)

    def _exit(self, statement: Exit, current: Participants) -> Participants:
        leaves_kernel = statement.kind is ExitKind.RETURN
        if leaves_kernel and not current.conditional:  # else all leave together, or nobody does
            self._returned |= current.possible
        return Participants(0, 0, Pick.ALL, current.conditional)


def _gone(inside: Participants, end: Participants) -> Participants:
    """Return who left a block early, given who entered it and who reached its end."""
    exact = end.pick is Pick.ALL and not end.conditional
    possible = inside.possible & ~end.possible if exact or not end.possible else inside.possible
    return Participants(
        possible,
        inside.typical & ~end.typical,
        inside.pick if exact or not end.possible else Pick.SOME,
        inside.conditional or end.conditional,
    )
