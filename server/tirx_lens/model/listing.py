"""A kernel's statements in program order, walked once for all who look for some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Bind, Exit, Loop, Operation
from tirx_lens.model.queries import statements

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.model.kernel import Block, Statement


class Listing:
    """The statements of a kernel, whatever guards them, and those of some kinds."""

    def __init__(self, body: Block) -> None:
        self.statements: Sequence[Statement] = tuple(statements(body))
        self.operations: list[Operation] = []
        self.loops: list[Loop] = []  # an outer one before those inside it
        self.binds: list[Bind] = []
        self.has_exit = False  # by `return`, `break` or `continue`
        for statement in self.statements:
            match statement:
                case Operation():
                    self.operations.append(statement)
                case Loop():
                    self.loops.append(statement)
                case Bind():
                    self.binds.append(statement)
                case Exit():
                    self.has_exit = True
