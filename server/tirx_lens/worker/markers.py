"""Which statement printed which line: the kernel printed once more, with marks around statements.

The marks are calls of functions that do not exist, so the marked text is never compiled. Taken out
again, they must leave the very text that is compiled: else nothing may be concluded from them.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .statements import Copier, bodies_of, kind_of

if TYPE_CHECKING:
    from .spans import Chain, Spans

_NAME = "tirx_lens_mark"
_MARK = re.compile(rf"^\s*{_NAME}_(begin|end)\((\d+)\);$")


class MarkError(Exception):
    """The marked text is not the compiled text with marks; the message says what is wrong."""


@dataclass(slots=True)
class Node:
    """A statement of the device code, with the call stack of its own span.

    `children` are in program order, over all its bodies; `then` is how many of them are in the
    first body; `name` is that of what the statement binds.
    """

    kind: str
    chain: Chain
    parent: int | None
    name: str = ""
    children: list[int] = field(default_factory=list)
    then: int = 0


class Marker:
    """Marks the statements of one device module.

    The marks of a function are all alike but for its number: as statements are printed in their
    order, the n-th mark belongs to the n-th statement. So they cost next to nothing to make.
    """

    def __init__(self, spans: Spans) -> None:
        self.functions: list[list[Node]] = []
        self._spans = spans
        self._copier = Copier()
        self._tvm: Any = importlib.import_module("tvm")
        self._tirx: Any = importlib.import_module("tvm.tirx")
        self._begin: Any = None
        self._end: Any = None

    def marked(self, module: Any) -> Any:
        """Return the module with marks; `functions` holds the statements they stand for."""
        functions = {}
        for variable, function in module.functions.items():
            number = len(self.functions)
            self.functions.append([])
            self._begin, self._end = self._mark("begin", number), self._mark("end", number)
            body = self._block(function.body, None)
            functions[variable] = function.with_body(body, function.span)
        return self._tvm.IRModule(functions, attrs=module.attrs)

    def _block(self, statement: Any, parent: int | None) -> Any:
        return self._copier.sequence(self._statements(statement, parent))

    def _statements(self, statement: Any, parent: int | None) -> list[Any]:
        kind = kind_of(statement)
        if kind == "SeqStmt":
            return [one for item in statement.seq[:] for one in self._statements(item, parent)]
        if kind == "AttrStmt":  # prints nothing itself
            body = self._block(statement.body, parent)
            return [self._copier.with_bodies(statement, [body], statement.span)]
        nodes = self.functions[-1]
        number = len(nodes)
        node = Node(kind, self._spans.chain(statement.span), parent, _bound_name(kind, statement))
        nodes.append(node)
        if parent is not None:
            nodes[parent].children.append(number)
        bodies = bodies_of(statement)
        if bodies:
            first = self._block(bodies[0], number)
            node.then = len(node.children)
            others = [None if body is None else self._block(body, number) for body in bodies[1:]]
            statement = self._copier.with_bodies(statement, [first, *others], statement.span)
        return [self._begin, statement, self._end]

    def _mark(self, side: str, number: int) -> Any:
        return self._tirx.Evaluate(self._tirx.call_extern("int32", f"{_NAME}_{side}", number))


def _bound_name(kind: str, statement: Any) -> str:
    if kind == "Bind":
        return str(statement.var.name)
    if kind in ("AllocBuffer", "DeclBuffer"):
        return str(statement.buffer.name)
    return ""


def statements_of_lines(
    marked: str, compiled: str, functions: list[list[Node]]
) -> list[tuple[int, int] | None]:
    """Return the function and statement that printed each line of the compiled text.

    Raises MarkError unless the marked text is the compiled text with a mark for each statement.
    """
    lines: list[str] = []
    found: list[tuple[int, int] | None] = []
    seen = [0] * len(functions)
    open_marks: list[tuple[int, int]] = []
    for line in marked.split("\n"):
        mark = _MARK.match(line)
        if mark is None:
            lines.append(line)
            found.append(open_marks[-1] if open_marks else None)
            continue
        function = int(mark[2])
        if mark[1] == "end":
            if not open_marks or open_marks.pop()[0] != function:
                raise MarkError("a statement ends that has not begun")
            continue
        number = seen[function]
        seen[function] += 1
        parent = open_marks[-1][1] if open_marks else None
        if number >= len(functions[function]) or functions[function][number].parent != parent:
            raise MarkError(f"statement {number} is printed in another place")
        open_marks.append((function, number))
    if open_marks or seen != [len(nodes) for nodes in functions]:
        raise MarkError("not every statement is printed")
    if "\n".join(lines) != compiled:
        raise MarkError(_difference(lines, compiled.split("\n")))
    return found


def _difference(lines: list[str], compiled: list[str]) -> str:
    for number, (one, other) in enumerate(zip(lines, compiled, strict=False), 1):
        if one != other:
            return f"with marks, line {number} of the CUDA is printed differently"
    return f"with marks, the CUDA has {len(lines)} lines instead of {len(compiled)}"
