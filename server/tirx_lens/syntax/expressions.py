"""Expression nodes -> model expressions, names replaced by what they stand for.

The reader walks as TVM's parser does: it evaluates with the names bound so far, so a call that
makes an object or executes something is reported, through `Effects`, when it is met.
"""

from __future__ import annotations

import functools
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from tirx_lens.model.expr import (
    Apply,
    Const,
    Elect,
    Expr,
    Id,
    Item,
    Member,
    Operator,
    Path,
    Ref,
    Sequence,
    Slice,
    Unknown,
)
from tirx_lens.model.kernel import Mention, WrittenCall
from tirx_lens.model.span import Span
from tirx_lens.syntax import literals, names
from tirx_lens.syntax.calls import Arguments, known_call
from tirx_lens.syntax.fold import HEAVIEST_VALUE, LONGEST_TEXT, bounded, fold, select, sequence
from tirx_lens.syntax.gathered import MOST_NODES, Gathered
from tirx_lens.syntax.operations import canonical_opcode
from tirx_lens.syntax.precedence import MIXED, mixed_chain
from tirx_lens.syntax.scope import Class, Function, Instance, Module, Table
from tirx_lens.syntax.tree import (
    children_of,
    field_of,
    is_perhaps_unread,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.syntax.scope import Scope

_DEEPEST = 120  # nesting of expressions; real code stays below 20
_LONGEST_COMPREHENSION = 32
_MOST_ITEMS = 1024
_BUILTINS = frozenset(
    {"dict", "range", "min", "max", "len", "int", "abs", "tuple", "list", "bool", "print"}
)

_BINARY = {operator.value: operator for operator in Operator}
_NEVER_NONE = (Apply, Class, Elect, Function, Id, Instance, Ref, Sequence, Table)
_BINARY["@"] = Operator.MULTIPLY


class Effects(Protocol):
    """What reading an expression does besides giving a value."""

    def call(self, span: Span, callee: Expr, arguments: Arguments) -> Expr:
        """Take note of a call at a place and return its value."""

    def member(self, target: KernelObject, name: str) -> Expr | None:
        """Return a member of a typed object, if it is one the model knows."""


class ExpressionReader:
    """Reads expression nodes in a scope. The effects are kept by whoever made the reader."""

    def __init__(self, scope: Scope, effects: Effects, gathered: Gathered | None = None) -> None:
        """`gathered` is what is being read for: a kernel; without it, what is met is for nobody."""
        self.scope = scope
        self.gathered = gathered if gathered is not None else Gathered()
        self._places = self.gathered.places
        # A function may be called twice: each place counts once.
        self._mentioned: set[tuple[int, int, int]] = set()
        self._called: set[int] = set()
        # Weak: the effects hold their reader, and what it read would wait for a look at cycles.
        self._effects: Effects = weakref.proxy(effects)
        self._depth = 0

    @contextmanager
    def own_budget(self) -> Iterator[None]:
        """Count what is read meanwhile by itself: no part of a text is cut for another's length."""
        outer, self.gathered.nodes = self.gathered.nodes, 0
        try:
            yield
        finally:
            self.gathered.nodes = outer

    def read(self, node: Node | None) -> Expr:
        """Return the value of a node; what cannot be read is `Unknown`, never an exception."""
        if node is None or node.is_missing:
            return Unknown("nothing here")
        gathered = self.gathered
        gathered.nodes += 1
        if self._depth >= _DEEPEST or gathered.nodes > MOST_NODES:
            return Unknown("nested too deeply, or too much to read", span=self.span(node))
        reads = _READERS.get(node.type)
        if reads is None:
            return Unknown(node.type.replace("_", " "), span=self.span(node))
        self._depth += 1
        try:
            value = reads(self, node)
        finally:
            self._depth -= 1
        return value if value.weight <= HEAVIEST_VALUE else bounded(value)

    def span(self, node: Node) -> Span:
        """Return the place of a node of the text that is being read."""
        base = self.scope.base
        span = Span(base + node.start_byte, base + node.end_byte)
        self._places.append(span)
        return span

    def note_mention(self, node: Node, value: Expr) -> None:
        """Note that a node names an object, if its value is one."""
        if isinstance(value, Ref):
            span = self.span(node)
            place = span.start, span.end, value.target.serial
            if place not in self._mentioned:
                self._mentioned.add(place)
                self.gathered.mentions.append(Mention(span, value.target))

    def _number(self, node: Node) -> Expr:
        return literals.number(node, self.span(node))

    def _string(self, node: Node) -> Expr:
        return literals.string(node, self.span(node), self.read)

    def _truth(self, node: Node) -> Expr:
        return Const(node.type == "true", span=self.span(node))

    def _none(self, node: Node) -> Expr:
        return Const(None, span=self.span(node))

    def _inside(self, node: Node) -> Expr:
        inner = children_of(node)
        return self.read(inner[0]) if len(inner) == 1 else Unknown("syntax error")

    def _items(self, node: Node) -> Expr:
        items = children_of(node)
        if len(items) > _MOST_ITEMS:
            return Unknown("a literal that is too long", span=self.span(node))
        return sequence(tuple(map(self.read, items)))

    def _not(self, node: Node) -> Expr:
        return fold(Operator.NOT, self.read(field_of(node, "argument")))

    def _name(self, node: Node) -> Expr:
        name = text_of(node)
        value = self.scope.lookup(name)
        if value is not None:
            if isinstance(value, Ref):
                self.note_mention(node, value)
            return value
        if name in _BUILTINS:
            return Path(name)
        path = names.unbound(name)
        if path is None and self.scope.text is None and not is_perhaps_unread(node):
            self.gathered.unbound.append(self.span(node))
        return (
            path
            if path is not None
            else Unknown(f"`{name}` is not bound here", span=self.span(node))
        )

    def _joined(self, node: Node) -> Expr:
        parts = [self.read(child) for child in children_of(node)]
        if all(isinstance(part, Const) and isinstance(part.value, str) for part in parts):
            text = "".join(str(part.value) for part in parts if isinstance(part, Const))
            if len(text) <= LONGEST_TEXT:
                return Const(text)
        return Unknown("a string whose parts are not known", span=self.span(node))

    def _attribute(self, node: Node) -> Expr:
        owner, attribute = _ends(node, "object", "attribute")
        base = self.read(owner)
        if attribute is None:
            return Unknown("half-typed name", span=self.span(node))
        name = text_of(attribute)
        match base:
            case Path(dotted=dotted) if dotted == "T.ptx" or dotted.startswith("T.ptx."):
                written = f"{base.written}.{name}" if base.written else ""
                return Path(f"{dotted}.{canonical_opcode(name)}", written, span=self.span(node))
            case Path():
                return names.member(base, name)
            case Table(names=members) if name in members:
                return members[name]
            case Module():
                return base.member(name)
            case Class() | Instance():
                member = base.member(name)
                if member is not None:
                    self.note_mention(attribute, member)
                    return member
            case Const() if name == "value":  # of a member of an enumeration
                return base
            case Ref(target=target):
                known = self._effects.member(target, name)
                if known is not None:
                    self.note_mention(attribute, known)
                    return known
        return Member(base, name, span=self.span(node))

    def _subscript(self, node: Node) -> Expr:
        base = self.read(field_of(node, "value"))
        indices = tuple(self.read(child) for child in node.children_by_field_name("subscript"))
        index = indices[0] if len(indices) == 1 else Sequence(indices)
        match base, index:
            case Table(names=members), Const(value=str(key)) if key in members:
                return members[key]
            case Path(dotted=dotted), Const(value=str(chain)) if dotted.startswith("T.ptx"):
                written = f"{base.written}.[{chain}]" if base.written else ""
                return Path(f"{dotted}.{canonical_opcode(chain)}", written, span=self.span(node))
            case Sequence(items=items), Const(value=int(position)):
                if -len(items) <= position < len(items):
                    self.note_mention(node, items[position])
                    return items[position]
        return Item(base, index, span=self.span(node))

    def _dictionary(self, node: Node) -> Expr:
        names: dict[str, Expr] = {}
        for pair in children_of(node):
            if pair.type == "dictionary_splat":
                spread = self.read(next(iter(children_of(pair)), None))
                if not isinstance(spread, Table):
                    return Unknown("a dictionary whose items are not known", span=self.span(node))
                names.update(spread.names)
                continue
            key = self.read(field_of(pair, "key"))
            if not (isinstance(key, Const) and isinstance(key.value, str)):
                return Unknown("a dictionary without names", span=self.span(node))
            names[key.value] = self.read(field_of(pair, "value"))
        return Table(False, names)

    def _slice(self, node: Node) -> Expr:
        parts: list[Expr | None] = [None]
        for child in node.children:
            if child.type == ":":
                parts.append(None)
            elif child.is_named and child.type != "comment":
                parts[-1] = self.read(child)
        start, stop, step, *_ = (*parts, None, None)
        return Slice(start, stop, step, span=self.span(node))

    def _call(self, node: Node) -> Expr:
        function, given = _ends(node, "function", "arguments")
        callee = self.read(function)
        arguments = self.arguments(given)
        span = self.span(node)
        self._note_call(span, function, callee, arguments)
        known = known_call(callee, arguments, span)
        if known is not None:
            return known
        return self._effects.call(span, callee, arguments)

    def _note_call(
        self, span: Span, function: Node | None, callee: Expr, arguments: Arguments
    ) -> None:
        """Note how something of TVM's is called, once for each place."""
        match callee:
            case Path(written=name) if name:
                pass
            case Member(base=Ref(target=target), name=method) if target.class_name:
                name = f"{names.LANG}.{target.class_name}.{method}"
            case _:
                return
        if function is None:
            return
        place = self.span(function)
        if place.start not in self._called:
            self._called.add(place.start)
            keywords = tuple(keyword for keyword, _ in arguments.keywords)
            given, complete = len(arguments.positional), arguments.complete
            self.gathered.calls.append(WrittenCall(name, place, span, given, keywords, complete))

    def arguments(self, node: Node | None) -> Arguments:
        """Return what an argument list gives."""
        positional: list[Expr] = []
        keywords: list[tuple[str, Expr]] = []
        complete = True
        for child in children_of(node) if node is not None else ():
            if child.type == "keyword_argument":
                name, value = _ends(child, "name", "value")
                if name is not None:
                    keywords.append((text_of(name), self.read(value)))
            elif child.type in ("list_splat", "dictionary_splat"):
                spread = self.read(next(iter(children_of(child)), None))
                if isinstance(spread, Table):
                    keywords += spread.names.items()
                elif isinstance(spread, Sequence):
                    positional += spread.items
                else:
                    complete = False
            elif child.type == "ERROR":
                complete = False
            else:
                positional.append(self.read(child))
        return Arguments(tuple(positional), tuple(keywords), complete)

    def _binary(self, node: Node) -> Expr:
        operator_node = field_of(node, "operator")
        sign = operator_node.type if operator_node is not None else ""
        chain = mixed_chain(node) if sign in MIXED else None
        if chain is not None:
            return self._mixed(*chain)
        operator = _BINARY.get(sign)
        first, second = _ends(node, "left", "right")
        left, right = self.read(first), self.read(second)
        if operator is None:
            return Unknown("an operator that is not known", span=self.span(node))
        return fold(operator, left, right)

    def _mixed(self, operands: list[Node], signs: list[str]) -> Expr:
        """Combine a chain of `&` and `^`: what stands between two `^` belongs together."""
        parts = [self.read(operands[0])]
        for sign, operand in zip(signs, operands[1:], strict=True):
            value = self.read(operand)
            if sign == "&":
                parts[-1] = fold(Operator.BIT_AND, parts[-1], value)
            else:
                parts.append(value)
        return functools.reduce(functools.partial(fold, Operator.BIT_XOR), parts)

    def _unary(self, node: Node) -> Expr:
        operator_node = node.child_by_field_name("operator")
        operand = self.read(field_of(node, "argument"))
        match operator_node.type if operator_node is not None else "":
            case "-":
                return fold(Operator.NEGATE, operand)
            case "~":
                return fold(Operator.INVERT, operand)
            case "+":
                return operand
        return Unknown("an operator that is not known", span=self.span(node))

    def _comparison(self, node: Node) -> Expr:
        operands = [self.read(child) for child in children_of(node)]
        signs = [child.type for child in node.children_by_field_name("operators")]
        if len(operands) != len(signs) + 1:
            return Unknown("half-typed comparison", span=self.span(node))
        parts: list[Expr] = []
        for left, sign, right in zip(operands, signs, operands[1:], strict=False):
            part = _compare(left, sign, right)
            if part is None:
                return Unknown(f"a comparison with `{sign}`", span=self.span(node))
            parts.append(part)
        return parts[0] if len(parts) == 1 else fold(Operator.AND, *parts)

    def _conditional(self, node: Node) -> Expr:
        parts = children_of(node)
        if len(parts) != 3:
            return Unknown("half-typed conditional", span=self.span(node))
        then, condition, otherwise = map(self.read, parts)
        return select(condition, then, otherwise)

    def _named(self, node: Node) -> Expr:
        name = field_of(node, "name")
        value = self.read(field_of(node, "value"))
        if name is not None:
            self.scope.bind(text_of(name), value)
        return value

    def _comprehension(self, node: Node) -> Expr:
        """Read `[BODY for NAME in VALUES if CONDITION]` with few known values, item by item."""
        body = field_of(node, "body")
        clauses = [child for child in children_of(node) if body is None or child.id != body.id]
        items: list[Expr] = []
        outer = self.scope
        try:
            known = body is not None and self._collect(body, clauses, items)
        finally:
            self.scope = outer
        if not known:
            return Unknown("a comprehension", span=self.span(node))
        return Sequence(tuple(items), span=self.span(node))

    def _collect(self, body: Node, clauses: list[Node], items: list[Expr]) -> bool:
        """Add what the clauses of a comprehension let through; tell whether all of it is known."""
        if not clauses:
            items.append(self.read(body))
            return len(items) <= _LONGEST_COMPREHENSION
        first, rest = clauses[0], clauses[1:]
        if first.type == "if_clause":
            condition = self.read(next(iter(children_of(first)), None))
            if not isinstance(condition, Const):
                return False
            return not condition.value or self._collect(body, rest, items)
        values = self.read(field_of(first, "right"))
        target = field_of(first, "left")
        if first.type != "for_in_clause" or target is None or not isinstance(values, Sequence):
            return False
        if len(values.items) > _MOST_ITEMS:
            return False
        outer = self.scope
        for value in values.items:
            self.scope = outer.inner()
            if not self._take(target, value) or not self._collect(body, rest, items):
                return False
        return True

    def _take(self, target: Node, value: Expr) -> bool:
        """Bind what a comprehension runs over; tell whether it fits the names."""
        if target.type == "identifier":
            self.scope.bind(text_of(target), value)
            return True
        parts = children_of(target)
        if not isinstance(value, Sequence) or len(value.items) != len(parts):
            return False
        return all(self._take(p, v) for p, v in zip(parts, value.items, strict=True))


_READERS: dict[str, Callable[[ExpressionReader, Node], Expr]] = {
    "identifier": ExpressionReader._name,
    "attribute": ExpressionReader._attribute,
    "call": ExpressionReader._call,
    "binary_operator": ExpressionReader._binary,
    "boolean_operator": ExpressionReader._binary,
    "subscript": ExpressionReader._subscript,
    "integer": ExpressionReader._number,
    "float": ExpressionReader._number,
    "string": ExpressionReader._string,
    "concatenated_string": ExpressionReader._joined,
    "true": ExpressionReader._truth,
    "false": ExpressionReader._truth,
    "none": ExpressionReader._none,
    "parenthesized_expression": ExpressionReader._inside,
    "type": ExpressionReader._inside,
    "tuple": ExpressionReader._items,
    "list": ExpressionReader._items,
    "expression_list": ExpressionReader._items,
    "pattern_list": ExpressionReader._items,
    "unary_operator": ExpressionReader._unary,
    "not_operator": ExpressionReader._not,
    "comparison_operator": ExpressionReader._comparison,
    "conditional_expression": ExpressionReader._conditional,
    "named_expression": ExpressionReader._named,
    "dictionary": ExpressionReader._dictionary,
    "slice": ExpressionReader._slice,
    "list_comprehension": ExpressionReader._comprehension,
}
"""How each type of node is read."""


def _ends(node: Node, first: str, last: str) -> tuple[Node | None, Node | None]:
    """Return two fields that are the first and the last child where nothing is wrong or between."""
    children = node.children
    if len(children) in (2, 3) and not node.has_error:
        return children[0], children[-1]
    return field_of(node, first), field_of(node, last)


def _compare(left: Expr, sign: str, right: Expr) -> Expr | None:
    if sign in ("is", "is not"):
        if right == Const(None) and isinstance(left, _NEVER_NONE):
            return Const(sign == "is not")
        if isinstance(left, Const) and isinstance(right, Const):
            return Const((left.value is right.value) == (sign == "is"))
        return None
    if sign in ("in", "not in"):
        if not isinstance(right, Sequence):
            return None
        found = fold(
            Operator.OR, Const(False), *(fold(Operator.EQUAL, left, i) for i in right.items)
        )
        return found if sign == "in" else fold(Operator.NOT, found)
    operator = _BINARY.get("!=" if sign == "<>" else sign)
    return None if operator is None else fold(operator, left, right)
