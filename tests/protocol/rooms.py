"""Whether threads may leave a meeting where a history says that they do.

A history tells when a role that waits at a meeting goes on, not when it came: that is any time
after the step before. So each meeting is followed in all the states in which it may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class State(NamedTuple):
    """Complete generations, threads that have come in the next one, who waits, since which."""

    complete: int = 0
    threads: int = 0
    waiting: frozenset[tuple[int, int]] = frozenset()

    def come(self, threads: int, expected: int) -> State | None:
        """Return the state after some have come; None if they would be too many."""
        come = self.threads + threads
        if come < expected:
            return self._replace(threads=come)
        if come == expected:
            return self._replace(threads=0, complete=self.complete + 1)
        return None


@dataclass
class Room:
    """The states that one meeting may be in.

    Where `all_come`, those who ever come are just as many as a generation takes: when each came
    then makes no difference, and they are taken to come at once.
    """

    expected: int
    threads_of: Callable[[int], int]
    all_come: bool = False
    states: set[State] = field(default_factory=lambda: {State()})

    def arrives(self, role: int, at_door: set[int]) -> bool:
        """Let a role come that does not wait; tell whether it can."""
        after = {state.come(self.threads_of(role), self.expected) for state in self.any(at_door)}
        self.states = {state for state in after if state is not None}
        return bool(self.states)

    def leaves(self, role: int, at_door: set[int]) -> bool:
        """Let a role that waits go on; tell whether its generation may be complete."""
        self.states = {
            state._replace(waiting=state.waiting - {(role, generation)})
            for state in self.any(at_door)
            for waiter, generation in state.waiting
            if waiter == role and generation < state.complete
        }
        return bool(self.states)

    def missing(self, at_door: set[int]) -> set[int]:
        """Return how many threads may be missing where all of these wait, and go on waiting."""
        return {
            self.expected - state.threads
            for state in self.any(at_door)
            if {role for role, _ in state.waiting} == at_door
            and all(generation == state.complete for _, generation in state.waiting)
        }

    def any(self, at_door: set[int]) -> set[State]:
        """Return the states after any of these roles have come in."""
        if self.all_come:
            return {self._with_all(state, at_door) for state in self.states}
        found, open_ = set(self.states), list(self.states)
        while open_:
            state = open_.pop()
            for role in at_door - {role for role, _ in state.waiting}:
                after = state.come(self.threads_of(role), self.expected)
                if after is not None:
                    came = after._replace(waiting=after.waiting | {(role, state.complete)})
                    if came not in found:
                        found.add(came)
                        open_.append(came)
        return found

    def _with_all(self, state: State, at_door: set[int]) -> State:
        for role in sorted(at_door - {role for role, _ in state.waiting}):
            after = state.come(self.threads_of(role), self.expected)
            assert after is not None
            state = after._replace(waiting=after.waiting | {(role, state.complete)})
        return state
