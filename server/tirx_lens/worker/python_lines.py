"""Which lines of a Python file belong together: statements, and the compound ones around them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.AsyncFor, ast.AsyncWith)
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True)
class Region:
    """A statement: of a compound one, its header. Lines are 1-based and inclusive.

    `around` are the guards and loops that enclose it inside its function, outermost first.
    """

    line: int
    end_line: int
    around: tuple[int, ...]


class PythonLines:
    """The statements of one syntax tree; None, of a text that Python cannot read, has none."""

    def __init__(self, tree: ast.Module | None) -> None:
        self._regions: dict[int, Region] = {}
        if tree is not None:
            self._add(tree.body, ())

    def region(self, line: int) -> Region | None:
        """Return the innermost statement on a line."""
        return self._regions.get(line)

    def guard_of_all(self, lines: Iterable[int]) -> int | None:
        """Return the line of the innermost guard or loop around all these lines."""
        paths = [region.around if (region := self.region(line)) else () for line in lines]
        found = None
        for level in zip(*paths, strict=False):
            if any(line != level[0] for line in level):
                break
            found = level[0]
        return found

    def _add(self, body: Iterable[ast.AST], around: tuple[int, ...]) -> None:
        for node in body:
            line, end = getattr(node, "lineno", None), _last_line(node)
            inner = around
            if line is not None:
                guards = isinstance(node, _COMPOUND) and not _is_branch_of_builder(node)
                region = Region(line, max(end, line), around)
                for covered in range(region.line, region.end_line + 1):
                    self._regions[covered] = region
                if guards:
                    inner = (*around, line)
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    inner = ()
            for name in _BODIES:
                nested = getattr(node, name, None)
                if isinstance(nested, list):
                    self._add(nested, inner)


def _last_line(node: ast.AST) -> int:
    """Return the last line of a simple statement, or of a compound one's header."""
    if isinstance(node, (ast.If, ast.While)):
        return node.test.end_lineno or 0
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter.end_lineno or 0
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return node.items[-1].context_expr.end_lineno or 0
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return max(node.lineno, node.body[0].lineno - 1)
    nested = [part for name in _BODIES for part in (getattr(node, name, None) or ())]
    if nested and isinstance(nested[0], ast.AST):
        return 0  # a `try` or `match`: its first line
    return getattr(node, "end_lineno", None) or 0


def _is_branch_of_builder(node: ast.AST) -> bool:
    """Tell whether a `with` is `T.Then()` or `T.Else()` alone: `T.If` around it is the guard."""
    if not isinstance(node, (ast.With, ast.AsyncWith)):
        return False
    calls = [getattr(item.context_expr, "func", None) for item in node.items]
    names = [getattr(call, "attr", "") for call in calls]
    return any(name in ("Then", "Else") for name in names) and "If" not in names
