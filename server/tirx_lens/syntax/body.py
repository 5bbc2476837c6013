"""The body of one kernel -> statements of the model, `T.inline` functions read at their calls."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Call,
    Const,
    Expr,
    Id,
    IdKind,
    Item,
    Member,
    Operator,
    Path,
    Ref,
    Sequence,
    Unknown,
    Variable,
    is_host,
)
from tirx_lens.model.kernel import (
    Block,
    Branch,
    Exit,
    ExitKind,
    Inlined,
    Loop,
    LoopKind,
    Op,
    Operation,
    Other,
    Problem,
    Statement,
)
from tirx_lens.model.objects import KernelObject, ObjectKind
from tirx_lens.syntax import operations
from tirx_lens.syntax.expressions import ExpressionReader
from tirx_lens.syntax.fold import fold
from tirx_lens.syntax.names import LANG_CLASSES
from tirx_lens.syntax.objects import ObjectTable
from tirx_lens.syntax.scope import Function, Scope
from tirx_lens.syntax.signature import bind_arguments
from tirx_lens.syntax.tree import children_of, field_of, span_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from tirx_lens.model.span import Span
    from tirx_lens.syntax.calls import Arguments

_ID_FUNCTIONS = {f"T.{kind.value}": kind for kind in IdKind}
_BUFFER_FUNCTIONS = ("T.alloc_", "T.decl_buffer", "T.match_buffer", "T.buffer", "T.local_scalar")
_DEEPEST_INLINE = 12
_DEEPEST_BLOCK = 40
_MOST_ALTERNATIVES = 64
_MOST_STATEMENTS = 40_000  # after inlining; beyond it the kernel is cut short, with a Problem
_EXITS = {
    "return_statement": ExitKind.RETURN,
    "break_statement": ExitKind.BREAK,
    "continue_statement": ExitKind.CONTINUE,
}


class BodyReader:
    """Reads one kernel's statements in program order. Use once."""

    def __init__(self, scope: Scope, is_inline: Callable[[Node, Scope], bool]) -> None:
        self.scope_ids: list[Id] = []
        self.problems: list[Problem] = []
        self._objects = ObjectTable()
        self._reader = ExpressionReader(scope, self)
        self._is_inline = is_inline
        self._statements: list[Statement] = []
        self._statement: Span | None = None
        self._stack: list[Span] = []
        self._calling: list[int] = []
        self._target = ""
        self._depth = 0
        self._count = 0

    # Blocks and statements

    def block(self, node: Node | None, *, scoped: bool = True) -> Block:
        """Read a block of statements, in a scope of its own unless the host chose it."""
        outer = self._statements
        self._statements = []
        try:
            if node is not None and self._may_descend(node):
                self._depth += 1
                with self._inner_scope() if scoped else _same_scope():
                    for child in children_of(node):
                        self._read_statement(child)
                self._depth -= 1
            return Block(tuple(self._statements))
        finally:
            self._statements = outer

    def _may_descend(self, node: Node) -> bool:
        if self._depth >= _DEEPEST_BLOCK:
            self._cut(node, "blocks are nested too deeply")
        return self._depth < _DEEPEST_BLOCK

    def _cut(self, node: Node, reason: str) -> None:
        self.problems.append(Problem(span_of(node), reason, cuts=True))

    def _read_statement(self, node: Node) -> None:
        self._count += 1
        if self._count > _MOST_STATEMENTS:
            if self._count == _MOST_STATEMENTS + 1:
                self._cut(node, "the kernel is too long once inlined")
            return
        before = len(self._statements)
        outer, self._statement = self._statement, span_of(node)
        match node.type:
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
                self._statements.append(Exit(_EXITS[node.type], span_of(node)))
            case "ERROR":
                self.problems.append(Problem(span_of(node), "syntax error"))
            case "assert_statement":
                for child in children_of(node)[:1]:
                    self._reader.read(child)
        if len(self._statements) == before:
            self._statements.append(Other(span_of(node)))
        self._statement = outer

    def _if(self, node: Node) -> None:
        condition_node = field_of(node, "condition")
        condition = self._reader.read(condition_node)
        alternatives = node.children_by_field_name("alternative")
        if isinstance(
            condition, Const
        ):  # decided when the kernel is built: TVM reads one side only
            if condition.value:
                self._splice(field_of(node, "consequence"))
            else:
                self._alternatives(alternatives, host=True)
            return
        scoped = not is_host(condition)
        before = dict(self._reader.scope.names)
        then = self.block(field_of(node, "consequence"), scoped=scoped)
        between = dict(self._reader.scope.names)
        if not scoped:
            self._reader.scope.names = dict(before)
        outer = self._statements
        self._statements = []
        self._alternatives(alternatives, host=not scoped)
        orelse = Block(tuple(self._statements))
        self._statements = outer
        if not scoped:
            self._merge(before, between)
        where = span_of(condition_node) if condition_node is not None else span_of(node)
        self._statements.append(Branch(condition, where, then, orelse, span_of(node)))

    def _alternatives(self, clauses: list[Node], *, host: bool) -> None:
        """Read `elif` and `else` clauses into the current statements."""
        if not clauses:
            return
        if len(clauses) > _MOST_ALTERNATIVES:
            self._cut(clauses[0], "too many `elif` branches")
            return
        first, rest = clauses[0], clauses[1:]
        if first.type == "else_clause":
            self._statements.extend(self.block(field_of(first, "body"), scoped=not host).statements)
            return
        condition_node = field_of(first, "condition")
        condition = self._reader.read(condition_node)
        if isinstance(condition, Const):
            if condition.value:
                self._splice(field_of(first, "consequence"))
            else:
                self._alternatives(rest, host=True)
            return
        then = self.block(field_of(first, "consequence"), scoped=not is_host(condition))
        outer = self._statements
        self._statements = []
        self._alternatives(rest, host=is_host(condition))
        orelse = Block(tuple(self._statements))
        self._statements = outer
        where = span_of(condition_node) if condition_node is not None else span_of(first)
        self._statements.append(Branch(condition, where, then, orelse, span_of(first)))

    def _splice(self, node: Node | None) -> None:
        self._statements.extend(self.block(node, scoped=False).statements)

    def _merge(self, before: dict[str, Expr], other: dict[str, Expr]) -> None:
        """Join the bindings of the two sides of a host branch: what differs is not known."""
        names = self._reader.scope.names
        for name in {**other, **names}:
            if names.get(name) is not other.get(name) and names.get(name) != other.get(name):
                names[name] = before.get(name, Unknown(f"`{name}` differs between host branches"))

    def _for(self, node: Node) -> None:
        control_node = field_of(node, "right")
        control = self._loop_control(control_node)
        with self._inner_scope():
            self._bind_loop_variables(field_of(node, "left"), control)
            body = self.block(field_of(node, "body"), scoped=False)
        header = span_of(control_node) if control_node is not None else span_of(node)
        self._statements.append(Loop(LoopKind.FOR, control, body, span_of(node), header))

    def _loop_control(self, node: Node | None) -> Expr:
        """Read the iterable, keeping `range(...)` a call: its bounds say how often it runs."""
        if node is not None and node.type == "call":
            callee = self._reader.read(field_of(node, "function"))
            if isinstance(callee, Path):
                arguments = self._reader.arguments(field_of(node, "arguments"))
                return Call(callee, arguments.positional, arguments.keywords, span=span_of(node))
        return self._reader.read(node)

    def _bind_loop_variables(self, target: Node | None, control: Expr) -> None:
        if target is None:
            return
        bound = "thread_binding" in _callee_path(control)
        targets = [target] if target.type == "identifier" else children_of(target)
        for variable in targets:
            if variable.type == "identifier":
                value = Variable(text_of(variable), variable.start_byte, uniform=not bound)
                self._reader.scope.bind(text_of(variable), value)

    def _while(self, node: Node) -> None:
        condition_node = field_of(node, "condition")
        condition = self._reader.read(condition_node)
        body = self.block(field_of(node, "body"))
        header = span_of(condition_node) if condition_node is not None else span_of(node)
        self._statements.append(Loop(LoopKind.WHILE, condition, body, span_of(node), header))

    def _with(self, node: Node) -> None:
        items = [
            item
            for clause in children_of(node)
            if clause.type == "with_clause"
            for item in children_of(clause)
        ]
        guards: list[tuple[Expr, Span]] = []
        for item in items:
            value_node = field_of(item, "value")
            if value_node is not None and value_node.type == "as_pattern":
                value_node = next(iter(children_of(value_node)), None)
            value = self._reader.read(value_node)
            if isinstance(value, Ref) and value_node is not None:
                guard = _role_guard(value.target)
                if guard is not None:
                    guards.append((guard, span_of(value_node)))
        body = self.block(field_of(node, "body"))
        for guard, where in reversed(guards):
            body = Block((Branch(guard, where, body, Block(), span_of(node)),))
        self._statements.extend(body.statements)

    def _function(self, node: Node) -> None:
        definition = field_of(node, "definition") if node.type == "decorated_definition" else node
        name = field_of(definition, "name") if definition is not None else None
        if definition is None or name is None:
            return
        scope = self._reader.scope
        inline = self._is_inline(node, scope)
        scope.bind(text_of(name), Function(text_of(name), definition, scope, inline))

    def _expression(self, node: Node) -> None:
        for child in children_of(node):
            if child.type == "assignment":
                self._assignment(child)
            elif child.type == "augmented_assignment":
                self._reader.read(field_of(child, "right"))
                self._store(field_of(child, "left"))
            else:
                self._reader.read(child)

    def _assignment(self, node: Node) -> None:
        left, right = field_of(node, "left"), field_of(node, "right")
        if left is None:
            return
        self._target = text_of(left) if left.type == "identifier" else ""
        value = self._reader.read(right) if right is not None else Unknown("no value yet")
        self._target = ""
        annotation = field_of(node, "type")
        if annotation is not None and left.type == "identifier":
            kind = self._reader.read(annotation)
            base = kind.base if isinstance(kind, Item) else kind
            if not (isinstance(base, Path) and base.dotted == "T.let"):
                value = Variable(text_of(left), left.start_byte)  # a scalar that may change
        elif left.type == "identifier":
            current = self._reader.scope.lookup(text_of(left))
            if isinstance(current, Variable) or _is_buffer(current):
                return  # a store to a scalar: it stays the variable it was
        self._bind(left, value)

    def _bind(self, target: Node, value: Expr) -> None:
        if target.type == "identifier":
            self._reader.scope.bind(text_of(target), value)
        elif target.type in ("pattern_list", "tuple_pattern", "list_pattern", "tuple"):
            parts = children_of(target)
            known = (
                value.items
                if isinstance(value, Sequence) and len(value.items) == len(parts)
                else None
            )
            for index, part in enumerate(parts):
                self._bind(part, known[index] if known else Unknown("part of an unknown value"))

    def _store(self, target: Node | None) -> None:
        if target is not None and target.type == "identifier":
            name = text_of(target)
            if not isinstance(self._reader.scope.lookup(name), Variable):
                self._reader.scope.bind(name, Variable(name, target.start_byte))

    # Effects of expressions

    def member(self, target: KernelObject, name: str) -> Expr | None:
        """Return a member of a typed object, if the model knows it."""
        return self._objects.member(target, name)

    def call(self, node: Node, callee: Expr, arguments: Arguments) -> Expr:
        """Note what a call does and return its value."""
        span = span_of(node)
        match callee:
            case Function(inline=True):
                return self._inline(callee, arguments, span)
            case Function():
                return Unknown(f"a value that `{callee.name}` computes", span=span)
            case Path(dotted=dotted) if dotted in _ID_FUNCTIONS:
                return self._declare_id(_ID_FUNCTIONS[dotted], arguments, span)
            case Path(dotted=dotted) if dotted.startswith("lang.") and dotted[5:] in LANG_CLASSES:
                built = self._objects.construct(dotted[5:], self._target, span, arguments)
                self._emit(Op.CONSTRUCT, dotted, span, arguments, created=built)
                return Ref(built, span=span)
            case Path(dotted=dotted):
                if dotted.startswith(("T.", "Tx.")):
                    op = operations.of_call(dotted, arguments.positional)
                    self._emit(op, dotted, span, arguments)
                if dotted.startswith(_BUFFER_FUNCTIONS):
                    return Ref(self._objects.buffer(self._target, span), span=span)
            case Member(base=Ref(target=target), name=method):
                op = operations.of_method(target.kind, method)
                made = self._objects.buffer(self._target, span) if op is Op.POOL_ALLOC else None
                self._emit(op, method, span, arguments, receiver=target, created=made)
                if made is not None:
                    return Ref(made, span=span)
                if method == "remote_view":
                    return Ref(target, span=span)
        return Call(callee, arguments.positional, arguments.keywords, span=span)

    def _declare_id(self, kind: IdKind, arguments: Arguments, span: Span) -> Expr:
        given = arguments.get(0, "extents")
        extents = given.items if isinstance(given, Sequence) else ()
        if given is not None and not isinstance(given, Sequence) and not _is_none(given):
            extents = (Unknown("extents that are not a list"),)
        ids = tuple(Id(kind, extents, index, span=span) for index in range(max(1, len(extents))))
        self.scope_ids.extend(ids[:1])
        return ids[0] if len(ids) == 1 else Sequence(ids, span=span)

    def _emit(
        self,
        op: Op,
        name: str,
        span: Span,
        arguments: Arguments,
        *,
        receiver: KernelObject | None = None,
        created: KernelObject | None = None,
    ) -> None:
        self._statements.append(
            Operation(
                op=op,
                name=name,
                span=span,
                statement=self._statement or span,
                receiver=receiver,
                created=created,
                arguments=arguments.positional,
                keywords=arguments.keywords,
                stack=tuple(self._stack),
            )
        )

    def _inline(self, function: Function, arguments: Arguments, span: Span) -> Expr:
        """Read the body of a `T.inline` function as if it stood at the call."""
        if function.node.id in self._calling or len(self._stack) >= _DEEPEST_INLINE:
            self.problems.append(Problem(span, f"`{function.name}` calls itself"))
            return Unknown("a recursive call", span=span)
        reader = self._reader
        caller, statement, target = reader.scope, self._statement, self._target
        inner = function.scope.inner(host=False)
        bind_arguments(function, arguments, inner, reader)
        self._stack.append(span)
        self._calling.append(function.node.id)
        reader.scope, self._target = inner, ""
        try:
            body = self.block(field_of(function.node, "body"), scoped=False)
        finally:
            reader.scope, self._statement, self._target = caller, statement, target
            self._calling.pop()
            self._stack.pop()
        self._statements.append(Inlined(function.name, body, statement or span))
        return Unknown(f"`{function.name}` returns nothing", span=span)

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


def _callee_path(expr: Expr) -> str:
    match expr:
        case Call(callee=Path(dotted=dotted)):
            return dotted
    return ""


def _is_none(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None


def _is_buffer(expr: Expr | None) -> bool:
    return isinstance(expr, Ref) and expr.target.kind is ObjectKind.BUFFER


def _role_guard(role: KernelObject) -> Expr | None:
    """Return the condition that a `with WarpRole(...)` block guards its body by."""
    if role.kind is ObjectKind.WARP_ROLE:
        variable, value = role.argument(0, "warp_id_var"), role.argument(1, "warp_id_val")
    elif role.kind is ObjectKind.WARPGROUP_ROLE:
        variable, value = role.argument(0, "wg_id_var"), role.argument(1, "wg_id_val")
    else:
        return None
    if variable is None or value is None:
        return Unknown("a role without its id")
    if isinstance(value, Sequence) and len(value.items) == 2:
        start, stop = value.items
        return fold(
            Operator.AND,
            fold(Operator.LESS_EQUAL, start, variable),
            fold(Operator.LESS, variable, stop),
        )
    return fold(Operator.EQUAL, variable, value)
