"""The body of one kernel -> statements of the model, `T.inline` functions read at their calls."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Call,
    Const,
    Expr,
    Id,
    Item,
    Path,
    Ref,
    Sequence,
    Unknown,
    Variable,
    is_host,
    parts_of,
)
from tirx_lens.model.kernel import (
    Bind,
    Block,
    Branch,
    Exit,
    ExitKind,
    Inlined,
    Loop,
    LoopKind,
    Other,
    Problem,
)
from tirx_lens.model.span import Span
from tirx_lens.syntax.damage import is_damaged
from tirx_lens.syntax.effects import KernelEffects
from tirx_lens.syntax.expressions import ExpressionReader
from tirx_lens.syntax.gathered import MOST_EVENTS, MOST_STATEMENTS
from tirx_lens.syntax.guards import callee_path, part_of_scope, role_guard
from tirx_lens.syntax.lists import apply_change, change_by
from tirx_lens.syntax.opaque import is_opaque
from tirx_lens.syntax.plain import NotFollowedError, PlainReader
from tirx_lens.syntax.scope import Class, Function, Instance, Method, Module, Scope, Table
from tirx_lens.syntax.signature import bind_arguments
from tirx_lens.syntax.stores import names_stored_by, stored_again
from tirx_lens.syntax.tree import children_of, field_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from tirx_lens.model.kernel import Mention, WrittenCall
    from tirx_lens.syntax.calls import Arguments
    from tirx_lens.syntax.memory import KernelMemory
    from tirx_lens.syntax.rereading import Rereading

    _Fields = list[tuple[Instance, dict[str, Expr]]]

_DEEPEST_INLINE = 12
_DEEPEST_BLOCK = 40
_MOST_ALTERNATIVES = 64
# Statements of Python for which TVM's parser raises: of such a kernel it says so itself.
_REFUSED = frozenset(
    {
        "match_statement",
        "try_statement",
        "import_statement",
        "import_from_statement",
        "raise_statement",
        "delete_statement",
        "global_statement",
        "class_definition",
    }
)
_META = (Ref, Path, Function, Sequence, Class, Instance, Method, Module, Table)
DAMAGED = "a syntax error: statements may belong elsewhere"
_EXITS = {
    "return_statement": ExitKind.RETURN,
    "break_statement": ExitKind.BREAK,
    "continue_statement": ExitKind.CONTINUE,
}


class BodyReader:
    """Reads one kernel's statements in program order. Use once."""

    def __init__(
        self,
        scope: Scope,
        function: Callable[[Node, Node, Scope], Function],
        stored_again: frozenset[str],
    ) -> None:
        """Take `function`, which makes functions: of a definition, what it decorates, its scope.

        `stored_again` are the kernel's names that are given more than one value.
        """
        self.plain_functions: list[Span] = []
        self._at = KernelEffects(self)
        self._gathered = self._at.gathered
        self._reader = ExpressionReader(scope, self._at, self._gathered)
        self._rereading: Rereading | None = None
        self._make_function = function
        self._stored_again = stored_again
        self._bound: list[str] = []
        self._is_let = False
        self._calling: list[int] = []
        self._depth = 0
        self._is_cut_short = False

    @property
    def scope_ids(self) -> tuple[Id, ...]:
        """The scope ids declared so far, in order."""
        return tuple(self._gathered.scope_ids)

    @property
    def unbound(self) -> tuple[Span, ...]:
        """The names read so far that nothing binds."""
        return tuple(self._gathered.unbound)

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """The places so far that name an object of the kernel."""
        return tuple(self._gathered.mentions)

    @property
    def calls(self) -> tuple[WrittenCall, ...]:
        """The calls so far of TVM's functions, as the text spells them, in its order."""
        return tuple(sorted(self._gathered.calls, key=lambda call: call.callee.start))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be understood so far."""
        return tuple(self._gathered.problems)

    def kernel(self, definition: Node, memory: KernelMemory | None = None) -> Block:
        """Read the body of a kernel; with a `memory`, what has changed of it."""
        body = field_of(definition, "body")
        if is_damaged(definition):
            self._cut(self._span(definition), DAMAGED)
            memory = None
        if memory is None:
            return self.block(body, scoped=False)
        self._rereading = memory.begin(definition, self._stored_again, self._reader.scope)
        block = self.block(body, scoped=False)
        memory.end(self._rereading)
        return block

    def block(self, node: Node | None, *, scoped: bool = True) -> Block:
        """Read a block of statements, in a scope of its own unless the host chose it."""
        outer = self._at.statements
        self._at.statements = []
        try:
            if node is not None and self._may_descend(node):
                self._depth += 1
                with self._inner_scope() if scoped else _same_scope():
                    for child in children_of(node):
                        self._read_statement(child)
                self._depth -= 1
            return Block(tuple(self._at.statements))
        finally:
            self._at.statements = outer

    def _may_descend(self, node: Node) -> bool:
        if self._depth >= _DEEPEST_BLOCK:
            self._cut(self._span(node), "blocks are nested too deeply")
        return self._depth < _DEEPEST_BLOCK

    def _span(self, node: Node) -> Span:
        return self._reader.span(node)

    def _cut(self, where: Span, reason: str) -> None:
        self._gathered.problems.append(Problem(where, reason, cuts=True))

    def _read_statement(self, node: Node) -> None:
        gathered = self._gathered
        if gathered.statements >= MOST_STATEMENTS or gathered.events > MOST_EVENTS:
            if not self._is_cut_short:
                self._is_cut_short = True
                self._cut(self._span(node), "the kernel is too long once inlined")
        elif self._rereading is not None and not self._at.stack:
            self._rereading.read(node, self._reader, self._at, self._statement)
        else:
            self._statement(node)

    def _statement(self, node: Node) -> None:
        self._gathered.statements += 1
        before = len(self._at.statements)
        outer, self._at.statement = self._at.statement, self._span(node)
        match node.type:
            case "expression_statement" | "return_statement" if node.has_error:
                self._half_typed(node)
            case "if_statement":
                self._if(node)
            case "for_statement":
                self._for(node)
            case "while_statement":
                self._while(node)
            case "with_statement":
                self._with(node)
            case "function_definition" | "decorated_definition":
                self._function(node)
            case "expression_statement":
                self._expression(node)
            case "return_statement" | "break_statement" | "continue_statement":
                self._at.statements.append(Exit(_EXITS[node.type], self._span(node)))
            case "ERROR":
                self._half_typed(node)
            case _ if node.type in _REFUSED:
                self._cut(self._span(node), "TVM's parser takes no such statement")
            case "assert_statement":
                for child in children_of(node)[:1]:
                    self._reader.read(child)
        if self._bound:
            self._at.statements.append(Bind(tuple(self._bound), self._span(node), self._is_let))
            self._bound, self._is_let = [], False
        elif len(self._at.statements) == before:
            self._at.statements.append(Other(self._span(node)))
        self._at.statement = outer

    def _half_typed(self, node: Node) -> None:
        """Take a line with a syntax error for a call of anything, and its names for unknown."""
        self._gathered.problems.append(Problem(self._span(node), "syntax error"))
        self._at.note_opaque("half-typed", self._span(node))
        for name in sorted(names_stored_by(node)):
            self._bound.append(name)
            self._reader.scope.bind(name, Unknown("half-typed"))

    def _if(self, node: Node) -> None:
        clauses = node.children_by_field_name("alternative")
        if len(clauses) > _MOST_ALTERNATIVES:
            self._cut(self._span(clauses[0]), "too many `elif` branches")
        else:
            self._clauses([node, *clauses], host=False)

    def _clauses(self, clauses: list[Node], *, host: bool) -> None:
        """Read an `if` and what follows it: an `elif` becomes an `if` alone on the other side.

        A constant condition was decided when the kernel was built: TVM reads one side only. Names
        bound under a condition of the host stay bound afterwards, as `host` says of an `else`.
        """
        if not clauses:
            return
        first, rest = clauses[0], clauses[1:]
        if first.type == "else_clause":
            body = self.block(field_of(first, "body"), scoped=not host)
            self._at.statements += body.statements
            return
        condition_node = field_of(first, "condition")
        condition = self._reader.read(condition_node)
        if isinstance(condition, Const):
            self._chosen(first, rest, holds=bool(condition.value))
            return
        of_host = is_host(condition)
        scope = self._reader.scope
        before = dict(scope.names)
        fields = self._fields() if of_host else []
        then = self.block(field_of(first, "consequence"), scoped=not of_host)
        between = dict(scope.names)
        between_fields = self._fields(back_to=fields) if of_host else []
        scope.names = dict(before)
        outer, self._at.statements = self._at.statements, []
        self._clauses(rest, host=of_host)
        orelse = Block(tuple(self._at.statements))
        self._at.statements = outer
        if of_host:
            self._merge(before, between)
            self._merge_fields(between_fields)
        where = self._span(condition_node) if condition_node is not None else self._span(first)
        self._at.statements.append(Branch(condition, where, then, orelse, self._span(first)))

    def _chosen(self, clause: Node, rest: list[Node], *, holds: bool) -> None:
        """Read the side that the host chose; it stays a block, as it stands in the source."""
        if holds:
            chosen = self.block(field_of(clause, "consequence"), scoped=False)
        else:
            outer, self._at.statements = self._at.statements, []
            self._clauses(rest, host=True)
            chosen = Block(tuple(self._at.statements))
            self._at.statements = outer
        self._at.statements.append(Block(chosen.statements, self._span(clause)))

    def _fields(self, back_to: _Fields | None = None) -> _Fields:
        """Return the fields of every object, and set them back to what they were."""
        now = [(instance, dict(instance.fields)) for instance in self._at.instances]
        for instance, fields in back_to or ():
            instance.fields.clear()
            instance.fields.update(fields)
        return now

    def _merge_fields(self, other: _Fields) -> None:
        """Join the fields after the two sides of a host branch: what differs is not known."""
        for instance, fields in other:
            for name in {**fields, **instance.fields}:
                if instance.fields.get(name) != fields.get(name):
                    instance.fields[name] = Unknown(f"`{name}` differs between host branches")

    def _merge(self, before: dict[str, Expr], other: dict[str, Expr]) -> None:
        """Join the bindings of the two sides of a host branch: what differs is not known."""
        names = self._reader.scope.names
        for name in {**other, **names}:
            if names.get(name) is not other.get(name) and names.get(name) != other.get(name):
                names[name] = before.get(name, Unknown(f"`{name}` differs between host branches"))

    def _for(self, node: Node) -> None:
        control_node = field_of(node, "right")
        control = self._loop_control(control_node)
        if isinstance(control, (Sequence, Const)):
            self._cut(self._span(node), "TVM's parser loops over no Python values")
        with self._inner_scope():
            variables = self._bind_loop_variables(field_of(node, "left"), control)
            body = self.block(field_of(node, "body"), scoped=False)
        header = self._span(control_node) if control_node is not None else self._span(node)
        loop = Loop(LoopKind.FOR, control, body, self._span(node), header, variables)
        self._at.statements.append(loop)

    def _loop_control(self, node: Node | None) -> Expr:
        """Read the iterable, keeping `range(...)` a call: its bounds say how often it runs."""
        if node is not None and node.type == "call":
            callee = self._reader.read(field_of(node, "function"))
            if isinstance(callee, Path):
                arguments = self._reader.arguments(field_of(node, "arguments"))
                return Call(callee, arguments.positional, arguments.keywords, span=self._span(node))
        return self._reader.read(node)

    def _bind_loop_variables(self, target: Node | None, control: Expr) -> tuple[Span, ...]:
        if target is None:
            return ()
        bound = "thread_binding" in callee_path(control)
        launched = self._at.bind_threads(control) if isinstance(control, Call) else None
        targets = [target] if target.type == "identifier" else children_of(target)
        variables = [variable for variable in targets if variable.type == "identifier"]
        for variable in variables:
            value: Expr = Variable(text_of(variable), self._span(variable), uniform=not bound)
            if launched is not None and len(variables) == 1:
                value = launched
            self._reader.scope.bind(text_of(variable), value)
        return tuple(self._span(variable) for variable in variables)

    def _while(self, node: Node) -> None:
        condition_node = field_of(node, "condition")
        condition = self._reader.read(condition_node)
        body = self.block(field_of(node, "body"))
        header = self._span(condition_node) if condition_node is not None else self._span(node)
        self._at.statements.append(Loop(LoopKind.WHILE, condition, body, self._span(node), header))

    def _with(self, node: Node) -> None:
        items = [
            item
            for clause in children_of(node)
            if clause.type == "with_clause"
            for item in children_of(clause)
        ]
        guards: list[tuple[Expr, Span]] = []
        entered: list[tuple[Node, Expr]] = []
        for item in items:
            value_node = field_of(item, "value")
            alias = None
            if value_node is not None and value_node.type == "as_pattern":
                alias = field_of(value_node, "alias")
                value_node = next(iter(children_of(value_node)), None)
            value = self._reader.read(value_node)
            entered += [(target, value) for target in children_of(alias)] if alias else []
            if isinstance(value, Ref) and value_node is not None:
                guard = role_guard(value.target)
                if guard is not None:
                    guards.append((guard, self._span(value_node)))
            elif value_node is not None and (part := part_of_scope(value)) is not None:
                guards.append((part, self._span(value_node)))
        with self._inner_scope():
            for target, value in entered:
                self._enter(target, value)
            body = self.block(field_of(node, "body"), scoped=False)
        for guard, where in reversed(guards):
            body = Block((Branch(guard, where, body, Block(), self._span(node)),))
        self._at.statements.append(Block(body.statements, self._span(node)))

    def _enter(self, target: Node, value: Expr) -> None:
        """Bind what `with ... as` names: an id that is launched is what it stands for."""
        if target.type == "identifier":
            name = text_of(target)
            known = value if isinstance(value, (Id, Ref)) else Variable(name, self._span(target))
            self._reader.scope.bind(name, known)
        else:
            for part in children_of(target):
                self._enter(part, Unknown("part of what is entered"))

    def _function(self, node: Node) -> None:
        definition = field_of(node, "definition") if node.type == "decorated_definition" else node
        name = field_of(definition, "name") if definition is not None else None
        if definition is None or name is None:
            return
        scope = self._reader.scope
        self._gathered.unrepeatable += 1  # it holds nodes of this version, and its scope
        if definition is node and scope.text is None:
            self.plain_functions.append(self._span(name))
        self._bound.append(text_of(name))
        scope.bind(text_of(name), self._make_function(node, definition, scope))

    def _expression(self, node: Node) -> None:
        for child in children_of(node):
            if child.type == "assignment":
                self._assignment(child)
            elif child.type == "augmented_assignment":
                self._reader.read(field_of(child, "right"))
                self._store(field_of(child, "left"))
            elif child.type == "call" and (change := change_by(child, self._reader)) is not None:
                self._gathered.unrepeatable += 1  # other names may hold the same list
                apply_change(change, self._reader, here=False)
            else:
                self._reader.read(child)

    def _assignment(self, node: Node) -> None:
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is None:
            return
        self._at.target = text_of(left) if left.type == "identifier" else ""
        value = self._reader.read(right) if right is not None else Unknown("no value yet")
        self._at.target = ""
        if left.type == "attribute":
            self._store_member(left)
            return
        annotation = field_of(node, "type")
        if annotation is not None and left.type == "identifier":
            kind = self._reader.read(annotation)
            base = kind.base if isinstance(kind, Item) else kind
            if isinstance(base, Path) and base.dotted == "T.let":
                self._bound.append(text_of(left))
                self._is_let = True
                # It cannot be stored to.
                self._reader.scope.bind(
                    text_of(left), _taken(value, text_of(left), self._span(left))
                )
                return
            if right is None:
                value = Variable(text_of(left), self._span(left))
        self._bind(left, value)

    def _bind(self, target: Node, value: Expr) -> None:
        if target.type == "identifier":
            name = text_of(target)
            self._bound.append(name)
            self._reader.note_mention(target, value)
            if name in self._stored_again and not _is_meta(value):
                base = self._reader.scope.base
                value = Variable(name, Span(base, base))  # what it holds depends on when one asks
            self._reader.scope.bind(name, value)
        elif target.type in ("pattern_list", "tuple_pattern", "list_pattern", "tuple"):
            parts = children_of(target)
            items = value.items if isinstance(value, Sequence) else ()
            for index, part in enumerate(parts):
                unknown = Unknown("part of an unknown value")
                self._bind(part, items[index] if len(items) == len(parts) else unknown)

    def _store_member(self, target: Node) -> None:
        base = self._reader.read(field_of(target, "object"))
        name = field_of(target, "attribute")
        if isinstance(base, Instance) and name is not None:
            field, place = text_of(name), self._span(target)
            if not isinstance(base.member(field), (Ref, Variable)):  # else a scalar is stored to
                base.fields[field] = Variable(f"{base.name}.{field}", place)
        if isinstance(base, Ref) and name is not None:
            self._at.store_member(base.target, text_of(name), self._span(target))

    def _store(self, target: Node | None) -> None:
        if target is not None and target.type == "identifier":
            name = text_of(target)
            self._bound.append(name)
            if not isinstance(self._reader.scope.lookup(name), Variable):
                self._reader.scope.bind(name, Variable(name, self._span(target)))

    def inline(self, function: Function, arguments: Arguments, span: Span) -> Expr:
        """Read the body of a `T.inline` function as if it stood at the call."""
        outer = self._stored_again, self._at.is_plain
        with self._called(function, arguments, span) as may_read:
            if may_read:
                self._stored_again |= stored_again(function.node)
                self._at.is_plain = False
                body = self.block(field_of(function.node, "body"), scoped=False)
                self._at.statements += body.statements
        self._stored_again, self._at.is_plain = outer
        return Unknown(f"`{function.name}` returns nothing", span=span)

    def plain(self, function: Function, arguments: Arguments, span: Span) -> Expr:
        """Run the body of a plain function as Python does when the kernel is built."""
        outer = self._stored_again, self._at.is_plain
        value: Expr | None = None
        with self._called(function, arguments, span) as may_read:
            if may_read:
                self._stored_again, self._at.is_plain = frozenset(), True
                runner = PlainReader(self._reader, self._at, self._begin_plain)
                with suppress(NotFollowedError):
                    value = runner.run(field_of(function.node, "body"))
        self._stored_again, self._at.is_plain = outer
        if value is not None:
            return value
        given = [*arguments.positional, *(value for _, value in arguments.keywords)]
        for instance in given:
            if isinstance(instance, Instance):
                instance.forget()
        if is_opaque(function) or any(isinstance(one, (Ref, Instance)) for one in given):
            self._at.note_opaque(function.name, span)
        return Unknown(f"a value that `{function.name}` computes", span=span)

    def _begin_plain(self, node: Node) -> None:
        self._gathered.statements += 1
        if self._gathered.statements > MOST_STATEMENTS or self._gathered.is_exhausted:
            raise NotFollowedError
        self._at.statement = self._span(node)

    @contextmanager
    def _called(self, function: Function, arguments: Arguments, span: Span) -> Iterator[bool]:
        """Go into a function at a call of it; what is read there stands in an `Inlined`.

        Gives whether there may be read: not where a function calls itself, nor too much.
        """
        self._gathered.statements += 1
        self._gathered.unrepeatable += 1  # it depends on the function, and on names of its scope
        if is_damaged(function.node):
            self._cut(span, DAMAGED)
        if self._gathered.statements > MOST_STATEMENTS or self._gathered.is_exhausted:
            self._cut(span, "the kernel is too long once inlined")
            yield False
            return
        if function.node.id in self._calling or len(self._at.stack) >= _DEEPEST_INLINE:
            self._gathered.problems.append(Problem(span, f"`{function.name}` calls itself"))
            yield False
            return
        reader, at = self._reader, self._at
        caller, statement, target, statements = reader.scope, at.statement, at.target, at.statements
        around = caller if function.is_late else function.scope
        inner = Scope(parent=around, text=function.scope.text)
        bind_arguments(function, arguments, inner, reader)
        at.stack.append(span)
        self._calling.append(function.node.id)
        reader.scope, at.target, at.statements = inner, "", []
        try:
            yield True
        finally:
            body = Block(tuple(at.statements))
            reader.scope, at.statement, at.target = caller, statement, target
            at.statements = statements
            self._calling.pop()
            at.stack.pop()
        if body.statements or function.inline:
            at.statements.append(Inlined(function.name, body, statement or span, span))

    @contextmanager
    def _inner_scope(self) -> Iterator[None]:
        outer = self._reader.scope
        self._reader.scope = outer.inner(host=False)
        try:
            yield
        finally:
            self._reader.scope = outer


@contextmanager
def _same_scope() -> Iterator[None]:
    yield


def _taken(value: Expr, name: str, place: Span) -> Expr:
    """Return what a `T.let` holds of a value: of a pipeline state, where it stood then."""
    if isinstance(value, Variable):
        return replace(value, let_at=place) if "." in value.name else value
    return Variable(name, place) if _reads_state(value) else value


def _reads_state(value: Expr) -> bool:
    if isinstance(value, Variable):
        return "." in value.name
    return any(map(_reads_state, parts_of(value)))


def _is_meta(expr: Expr) -> bool:
    """Tell whether a value is an object of the parser's, which a name can be bound to again."""
    return isinstance(expr, _META)
