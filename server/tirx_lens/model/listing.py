"""A kernel's statements in program order, walked once for all who look for some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import Bind, Exit, Loop, LoopKind, Operation
from tirx_lens.model.queries import blocks_of

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Block, Statement


class Listing:
    """The statements of a kernel, whatever guards them, and those of some kinds."""

    def __init__(self, body: Block) -> None:
        self.statements: list[Statement] = []
        self.operations: list[Operation] = []
        self.loops: list[Loop] = []  # an outer one before those inside it
        self.outer_whiles: list[Loop] = []  # that stand in no other `while`
        self.binds: list[Bind] = []
        self.has_exit = False  # by `return`, `break` or `continue`
        self._enter(body, is_in_while=False)

    def _enter(self, block: Block, *, is_in_while: bool) -> None:
        for statement in block.statements:
            self.statements.append(statement)
            if isinstance(statement, Operation):  # as most are
                self.operations.append(statement)
            elif isinstance(statement, Loop):
                is_while = statement.kind is LoopKind.WHILE
                self.loops.append(statement)
                if is_while and not is_in_while:
                    self.outer_whiles.append(statement)
                self._enter(statement.body, is_in_while=is_in_while or is_while)
            elif isinstance(statement, Bind):
                self.binds.append(statement)
            elif isinstance(statement, Exit):
                self.has_exit = True
            else:
                for inner in blocks_of(statement):
                    self._enter(inner, is_in_while=is_in_while)
