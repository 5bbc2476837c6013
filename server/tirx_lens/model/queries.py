"""Questions about a kernel's structure that need no knowledge of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.expr import is_host
from tirx_lens.model.kernel import Bind, Block, Branch, Inlined, Loop, Op, Operation, Statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.span import Span


def operations(block: Block) -> Iterator[Operation]:
    """Yield every operation in program order, whatever guards it."""
    return (one for one in statements(block) if isinstance(one, Operation))


def statements(block: Block) -> Iterator[Statement]:
    """Yield every statement of a block and below it, in program order."""
    pending = list(reversed(block.statements))
    while pending:
        statement = pending.pop()
        yield statement
        if isinstance(statement, Operation):  # as most are
            continue
        for inner in reversed(blocks_of(statement)):
            pending.extend(reversed(inner.statements))


def blocks_of(statement: Statement) -> tuple[Block, ...]:
    """Return the blocks directly inside a statement."""
    if isinstance(statement, Branch):
        return (statement.then, statement.orelse)
    if isinstance(statement, (Loop, Inlined)):
        return (statement.body,)
    return (statement,) if isinstance(statement, Block) else ()


def statement_span(statement: Statement) -> Span | None:
    """Return the source range of a statement; an operation gives the statement it stands in."""
    match statement:
        case Operation(statement=span):
            return span
        case Block(statements=statements, span=span):
            return span or (statement_span(statements[0]) if statements else None)
        case _:
            return statement.span


def top_level(block: Block, place: Span) -> int | None:
    """Return the index of the statement of a block that holds a place of the source."""
    for index, statement in enumerate(block.statements):
        span = statement_span(statement)
        if span is not None and span.contains(place):
            return index
    return None


def enclosing_block(block: Block, place: Span) -> Block | None:
    """Return the innermost block with a statement that is exactly this source range."""
    for statement in block.statements:
        span = statement_span(statement)
        if span == place:
            return block
        if span is not None and span.contains(place):
            for inner in blocks_of(statement):
                found = enclosing_block(inner, place)
                if found is not None:
                    return found
    return None


def uses(block: Block, *ops: Op) -> bool:
    """Tell whether a block has one of these operations at its own level or below."""
    return any(operation.op in ops for operation in operations(block))


def bound_names(block: Block) -> Iterator[str]:
    """Yield the names that statements of a block, or below it, bind or store to."""
    for statement in block.statements:
        if isinstance(statement, Bind):
            yield from statement.names
        for inner in blocks_of(statement):
            yield from bound_names(inner)


def under_undecided_host_branch(block: Block, place: Span) -> bool:
    """Tell whether a place stands under a condition of the host that the text does not decide."""
    for statement in block.statements:
        span = statement_span(statement)
        if span is not None and span.contains(place):
            if isinstance(statement, Branch) and is_host(statement.condition):
                return True
            return any(under_undecided_host_branch(inner, place) for inner in blocks_of(statement))
    return False
