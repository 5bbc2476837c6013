"""A kernel's statements in program order, walked once for all who look for some of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Exit, Loop, Operation
from tirx_lens.model.queries import statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.kernel import Block, Statement


class Listing:
    """The statements of a kernel, whatever guards them, and those of some kinds."""

    def __init__(self, body: Block) -> None:
        self.statements: Sequence[Statement] = tuple(statements(body))

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """The operations."""
        return tuple(one for one in self.statements if isinstance(one, Operation))

    @cached_property
    def loops(self) -> Sequence[Loop]:
        """The loops, an outer one before those inside it."""
        return tuple(one for one in self.statements if isinstance(one, Loop))

    @cached_property
    def has_exit(self) -> bool:
        """Whether there is a `return`, `break` or `continue`."""
        return any(isinstance(one, Exit) for one in self.statements)
