"""A kernel's structure, looked up by place: what `queries` finds by walking, found at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from tirx_lens.model.expr import is_host
from tirx_lens.model.kernel import Branch
from tirx_lens.model.queries import (
    blocks_of,
    bound_names,
    statement_span,
    under_undecided_host_branch,
)
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Block


class Outline:
    """Which statement stands where. Made once for a kernel: its findings may be many."""

    def __init__(self, body: Block) -> None:
        self._body = body
        self._spans = [statement_span(statement) or Span(0, 0) for statement in body.statements]
        self._starts = [span.start for span in self._spans]
        self._blocks: dict[Span, Block] = {}
        self._undecided: dict[Span, bool] = {}
        self._parents: dict[int, Branch | None] = {}
        self.bound_names = frozenset(bound_names(body))
        self._enter(body, None, undecided=False)

    def top_level(self, place: Span) -> int | None:
        """Return the index of the statement of the kernel's body that holds a place."""
        last = bisect_right(self._starts, place.start) - 1
        if last < 0:
            return None
        first = bisect_left(self._starts, self._starts[last])
        inside = (i for i in range(first, last + 1) if self._spans[i].contains(place))
        return next(inside, None)

    def block_of(self, place: Span) -> Block | None:
        """Return the innermost block with a statement that is exactly this source range."""
        return self._blocks.get(place)

    def branch_around(self, block: Block) -> Branch | None:
        """Return the branch that a block is a side of."""
        return self._parents.get(id(block))

    def is_under_undecided_host_branch(self, place: Span) -> bool:
        """Tell whether a place stands under a condition of the host that the text leaves open."""
        known = self._undecided.get(place)
        return under_undecided_host_branch(self._body, place) if known is None else known

    def _enter(self, block: Block, within: Span | None, *, undecided: bool) -> None:
        for statement in block.statements:
            span = statement_span(statement)
            # The body of an inlined function is written elsewhere: it is no part of this statement.
            is_here = span is not None and (within is None or within.contains(span))
            if span is not None and is_here:
                self._blocks.setdefault(span, block)
                self._undecided.setdefault(span, undecided)
            branch = statement if isinstance(statement, Branch) else None
            below = undecided or (branch is not None and is_host(branch.condition))
            for inner in blocks_of(statement):
                if inner is not statement:
                    self._parents[id(inner)] = branch
                self._enter(inner, span if is_here else Span(0, 0), undecided=below)
