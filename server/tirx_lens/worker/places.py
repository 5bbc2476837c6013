"""The place in Python of every statement of the device code, also of the compiler's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .enclosure import COMPOUND
from .messages import Via
from .spans import Point, user_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .markers import Node
    from .python_lines import PythonLines
    from .spans import Chain
    from .texts import Texts

_SHARED_VALUE = "cse_"
"""How TVM names a value that several statements use, which it computes ahead of the first."""


class Places:
    """Where each of the statements of one function comes from, and how that is known."""

    def __init__(self, nodes: Sequence[Node], texts: Texts) -> None:
        self._nodes = nodes
        self._texts = texts
        self._chains: list[Chain] = [user_points(node.chain) for node in nodes]
        self._via: list[Via] = [Via.STATEMENT] * len(nodes)
        self._place_guards()
        self._place_the_rest()

    def place(self, number: int) -> tuple[Chain, Via] | None:
        """Return the call stack of a statement, which is not empty; None where nothing is known."""
        chain = self._chains[number]
        return (chain, self._via[number]) if chain else None

    def _place_guards(self) -> None:
        """Place guards and loops of the compiler's own by what they enclose, inner ones first."""
        for number in reversed(range(len(self._nodes))):
            node = self._nodes[number]
            if self._chains[number] or node.kind not in COMPOUND:
                continue
            first_body = node.children[: node.then]
            inside = [self._chains[child] for child in first_body if self._chains[child]]
            if inside:
                self._set(number, self._around(inside), Via.INSIDE)

    def _around(self, inside: list[Chain]) -> Chain:
        """Return the place of a guard around statements: the call they share, or the `if` there."""
        common = _common(inside)
        if any(len(chain) == len(common) for chain in inside):
            return common
        heads = [chain[len(common)] for chain in inside]
        lines = self._lines(heads)
        guard = lines.guard_of_all(head.line for head in heads) if lines else None
        return common if guard is None else (*common, Point(heads[0].file, guard, guard))

    def _lines(self, points: list[Point]) -> PythonLines | None:
        files = {point.file for point in points}
        return self._texts.lines(files.pop()) if len(files) == 1 else None

    def _place_the_rest(self) -> None:
        """Place what has no span with the next statement beside it, else with what is around."""
        blocks: dict[int | None, list[int]] = {}
        for number, node in enumerate(self._nodes):
            blocks.setdefault(node.parent, []).append(number)
        # Parents have smaller numbers, and dictionaries keep their order: outer blocks come first.
        for parent, numbers in blocks.items():
            following: Chain = ()
            for number in reversed(numbers):
                if self._chains[number]:
                    following = self._chains[number]
                elif following:
                    shared = self._nodes[number].name.startswith(_SHARED_VALUE)
                    self._set(number, following, Via.SHARED if shared else Via.NEXT)
                elif parent is not None:
                    self._set(number, self._chains[parent], Via.ENCLOSING)

    def _set(self, number: int, chain: Chain, via: Via) -> None:
        if chain:
            self._chains[number], self._via[number] = chain, via


def _common(chains: list[Chain]) -> Chain:
    """Return the calls that all the stacks begin with."""
    common = chains[0]
    for chain in chains[1:]:
        length = 0
        while length < min(len(common), len(chain)) and common[length] == chain[length]:
            length += 1
        common = common[:length]
    return common
