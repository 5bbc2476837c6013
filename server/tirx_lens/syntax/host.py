"""The Python around kernels: modules and builders, followed far enough to know their constants.

Nothing is executed: assignments of constants, arithmetic, tuples and straight-line helper functions
are computed, everything else becomes a symbol.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Item,
    Member,
    Operator,
    Path,
    Select,
    Sequence,
    Symbol,
    Unknown,
    constant_int,
)
from tirx_lens.model.given import Given
from tirx_lens.model.kernel import Kernel
from tirx_lens.syntax import names
from tirx_lens.syntax.arguments import called_arguments, insisted_arguments, named_arguments
from tirx_lens.syntax.body import BodyReader
from tirx_lens.syntax.expressions import ExpressionReader
from tirx_lens.syntax.fold import fold
from tirx_lens.syntax.imports import imports_of
from tirx_lens.syntax.lists import Change, apply_change, change_by
from tirx_lens.syntax.marks import marks_of, mentions_kernel
from tirx_lens.syntax.parameters import kernel_parameter
from tirx_lens.syntax.patterns import (
    guard_of,
    match_pattern,
    names_bound_by,
    pattern_of,
    subject_of,
)
from tirx_lens.syntax.reparse import is_of_module
from tirx_lens.syntax.scope import Class, Deferred, Function, Scope, Table, forget_names
from tirx_lens.syntax.signature import bind_arguments, parameters_of
from tirx_lens.syntax.stores import names_stored_by, stored_again
from tirx_lens.syntax.tree import children_of, field_of, text_of, walk
from tirx_lens.syntax.usage import is_used

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from tree_sitter import Node

    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.span import Span
    from tirx_lens.syntax.calls import Arguments
    from tirx_lens.syntax.library import Library
    from tirx_lens.syntax.memory import TextMemories

INLINE = frozenset({"T.inline", "T.macro"})
"""What makes a function one whose body stands at its calls."""

_FUNCTION = "T.function"
"""What `tvm_tirx` alone calls its decorator; a private one is for other kernels to call."""

_KERNEL_DECORATORS = frozenset({"T.prim_func", "T.jit", _FUNCTION})
_DEEPEST_CALL = 6
_DEEPEST_BLOCK = 40
_MOST_CALLS = 500  # of host functions computed for one builder, or for the code around them
_LOOPS = ("for_statement", "while_statement", "try_statement")
_COMPUTING = frozenset({"expression_statement", "pass_statement"})
_MOST_ROUNDS = 64
_TARGETS = frozenset({"as_pattern_target"})
_AUGMENTED = {f"{operator.value}=": operator for operator in Operator}


class HostReader:
    """Reads the host code of one file and collects its kernels. Use once."""

    def __init__(
        self,
        roots: tuple[Node, ...],
        data: bytes,
        unwanted: Container[int] = (),
        *,
        given: Given | None = None,
        library: Library | None = None,
        scope: Scope | None = None,
        memories: TextMemories | None = None,
    ) -> None:
        """Read into `scope`, if there is one, which is then the caller's to forget: see `defining`.

        `unwanted` are the starts of statements of the file whose kernels are left unread. Without
        `library` nothing is known of what the file imports. With `memories` of its last version,
        of a kernel that was edited only the change is read.
        """
        self._kernels: list[Kernel] = []
        self._given = given or Given()
        self._unwanted = unwanted
        self._is_wanted = True
        self._roots = roots
        self._data = data
        self._marks = marks_of(data)
        self._library = library
        self._memories = memories
        self._is_own = scope is None
        self.defining: list[Scope] = []
        """The scopes that functions were defined in: each holds its functions, and they hold it."""
        self._reader = ExpressionReader(scope or Scope(host=True), self)
        self._builder: str | None = None
        self._numbers: tuple[tuple[str, int], ...] = ()
        self._depth = 0
        self._nesting = 0
        self._computed = 0
        self._returned: Expr | None = None

    def read(self) -> Iterator[tuple[int, tuple[Kernel, ...]]]:
        """Yield the start of each statement of the file and the kernels in it, in order."""
        statements = (
            node for root in self._roots for node in children_of(root) if is_of_module(node, root)
        )
        try:
            for node in statements:
                self._is_wanted = node.start_byte not in self._unwanted
                self._statements([node])
                yield node.start_byte, tuple(self._kernels)
                self._kernels.clear()
        finally:
            if self._is_own:
                forget_names(self.defining)

    # Statements

    def _statements(self, nodes: list[Node]) -> None:
        if self._nesting >= _DEEPEST_BLOCK:
            return
        self._nesting += 1
        for node in nodes:
            self._statement(node)
        self._nesting -= 1

    def _statement(self, node: Node) -> None:
        match node.type:
            case "import_statement" | "import_from_statement":
                self._import(node)
            case "expression_statement":
                for child in children_of(node):
                    self._expression(child)
            case "function_definition" | "decorated_definition":
                self._definition(node)
            case "class_definition":
                self._class(node)
            case "if_statement":
                self._if(node)
            case "return_statement" if self._depth:
                if self._returned is None:
                    parts = children_of(node)
                    self._returned = self._value(parts[0]) if parts else Const(None)
            case "for_statement" if (rounds := self._rounds(node)) is not None:
                self._for(node, rounds)
            case "match_statement":
                self._match(node)
            case "with_statement":
                self._with(node)
            case _ if node.type in _LOOPS:
                self._uncertain(node)

    def _import(self, node: Node) -> None:
        scope = self._reader.scope
        for item in imports_of(node):
            if self._library is not None:
                for name, value in self._library.bindings(item, scope.text):
                    scope.bind(name, value)
            elif item.bound:
                scope.bind(item.bound, names.path_of(item))

    def _expression(self, node: Node) -> None:
        if node.type == "assignment":
            left, right = field_of(node, "left"), field_of(node, "right")
            if left is not None and right is not None:
                chained = right.type == "assignment"
                if chained:
                    self._expression(right)
                self._bind(left, self._value(field_of(right, "left") if chained else right))
        elif node.type == "augmented_assignment":
            left, operator = field_of(node, "left"), node.child_by_field_name("operator")
            if left is not None and left.type == "identifier" and operator is not None:
                kind = _AUGMENTED.get(operator.type)
                operand = self._value(field_of(node, "right"))
                current = self._reader.scope.lookup(text_of(left))
                if kind is None or current is None:
                    self._bind(left, self._symbol(left))
                else:
                    self._bind(left, fold(kind, current, operand))
        elif node.type == "call":  # no other call gives anything that a kernel can name
            change = change_by(node, self._reader)
            if change is not None:
                settled = Change(change.old, self._settle(change.new, node))
                apply_change(settled, self._reader, here=True)
        elif node.type == "named_expression":
            self._reader.read(node)

    def _value(self, node: Node | None) -> Expr:
        """Read a host expression: what is not known is a symbol, the same in every thread."""
        value = self._reader.read(node)
        return self._settle(value, node)

    def _settle(self, value: Expr, node: Node | None) -> Expr:
        match value:
            case Unknown() | Call() | Member() | Item() if node is not None:
                return self._symbol(node)
            case Apply(operator=operator, operands=operands):
                return Apply(operator, tuple(self._settle(o, node) for o in operands))
            case Select(condition=condition, then=then, otherwise=otherwise):
                parts = (self._settle(part, node) for part in (condition, then, otherwise))
                return Select(*parts)
            case Sequence(items=items):
                settled = tuple(self._settle(item, node) for item in items)
                same = all(new is old for new, old in zip(settled, items, strict=True))
                return value if same else Sequence(settled)  # a list stays the same list
        return value

    def _symbol(self, node: Node) -> Symbol:
        return Symbol(f"{text_of(node)[:60]} ({self._line(node)})", span=self._reader.span(node))

    def _line(self, node: Node) -> str:
        """Name the line of a node: values of two texts are not the same for having one number."""
        text = self._reader.scope.text
        line = f"line {node.start_point[0] + 1}"
        return line if text is None else f"{line} of {text.module.path}"

    def _bind(self, target: Node, value: Expr) -> None:
        if target.type == "identifier":
            self._reader.scope.bind(text_of(target), value)
        elif target.type in ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list"):
            parts = children_of(target)
            known = value.items if isinstance(value, Sequence) else ()
            for index, part in enumerate(parts):
                item = known[index] if len(known) == len(parts) else self._symbol(part)
                self._bind(part, item)
        elif target.type in ("subscript", "attribute"):  # what it is part of is not what it was
            owner = field_of(target, "value") or field_of(target, "object")
            if owner is not None and owner.type == "identifier":
                self._reader.scope.bind(text_of(owner), self._symbol(owner))

    def _if(self, node: Node) -> None:
        """Follow the side that constant conditions choose, else all: names then become symbols."""
        for clause in [node, *node.children_by_field_name("alternative")]:
            if clause.type == "else_clause":
                self._statements(_block(clause, "body"))
                return
            condition = self._reader.read(field_of(clause, "condition"))
            if not isinstance(condition, Const):
                self._uncertain(node)
                return
            if condition.value:
                self._statements(_block(clause, "consequence"))
                return

    def _rounds(self, node: Node) -> tuple[Expr, ...] | None:
        """Return the values of a loop that runs over few known ones, and only computes."""
        body = field_of(node, "body")
        if body is None or field_of(node, "alternative") is not None:
            return None
        if any(child.type not in _COMPUTING for child in children_of(body)):
            return None
        values = self._reader.read(field_of(node, "right"))
        known = isinstance(values, Sequence) and len(values.items) <= _MOST_ROUNDS
        return values.items if known and isinstance(values, Sequence) else None

    def _for(self, node: Node, rounds: tuple[Expr, ...]) -> None:
        target = field_of(node, "left")
        for value in rounds:
            if target is not None:
                self._bind(target, self._settle(value, target))
            self._statements(_block(node, "body"))

    def _match(self, node: Node) -> None:
        """Follow the case that a known subject chooses, else all as `_if` does."""
        subject = self._settle(subject_of(node, self._reader), field_of(node, "subject"))
        for clause in _block(node, "body"):
            pattern = pattern_of(clause)
            found = match_pattern(pattern, subject, self._reader) if pattern is not None else None
            if found is None or found.holds is None:
                break
            if not found.holds:
                continue
            for name, value in found.bound.items():
                self._reader.scope.bind(name, value)
            guard = guard_of(clause)
            condition = self._reader.read(guard) if guard is not None else Const(True)
            if not isinstance(condition, Const):
                break
            if condition.value:
                self._statements(_block(clause, "consequence"))
                return
        else:
            return
        self._uncertain(node)

    def _with(self, node: Node) -> None:
        """Read the body of a `with`, which always runs; of what it enters nothing is known."""
        for target in walk(node, _TARGETS):
            if target.start_byte < (field_of(node, "body") or node).start_byte:
                for part in children_of(target):
                    self._bind(part, self._symbol(part))
        self._statements(_block(node, "body"))

    def _uncertain(self, node: Node) -> None:
        """Read statements that may or may not run: the names they bind are symbols afterwards."""
        outer = self._reader.scope
        self._reader.scope = outer.inner(host=True)
        self._nested(node)
        bound = self._reader.scope.names
        self._reader.scope = outer
        for name, value in bound.items():
            current = outer.lookup(name)
            if current is None and isinstance(value, (Function, Path, Deferred)):
                outer.bind(name, value)
            elif current != value:
                outer.bind(name, Symbol(f"{name} (set at {self._line(node)})"))

    def _nested(self, node: Node) -> None:
        if node.type in ("for_statement", "while_statement"):  # an earlier round may have run
            for name in names_stored_by(node):
                self._reader.scope.bind(name, Symbol(f"{name} (in the loop at {self._line(node)})"))
        if node.type == "for_statement":
            target = field_of(node, "left")
            if target is not None:
                self._bind(target, Unknown("a loop variable of the host"))
        for child in children_of(node):
            if child.type == "case_pattern":
                for name in names_bound_by(child):
                    self._reader.scope.bind(name, self._symbol(child))
            elif child.type in ("block", "module"):
                self._statements(children_of(child))
                for clause in children_of(child):
                    if clause.type == "case_clause":
                        self._nested(clause)
            elif child.type.endswith("_clause"):
                self._nested(child)
            elif child.type == "as_pattern":  # of an `except`
                for target in walk(child, _TARGETS):
                    for part in children_of(target):
                        self._bind(part, self._symbol(part))

    # Definitions

    def _definition(self, node: Node) -> None:
        definition = field_of(node, "definition") if node.type == "decorated_definition" else node
        if definition is not None and definition.type == "class_definition":
            decorators = self._decorators(node, self._reader.scope)
            self._class(definition, is_meta="T.meta_class" in decorators)
            return
        name = field_of(definition, "name") if definition is not None else None
        if definition is None or name is None:
            return
        scope = self._reader.scope
        decorators = self._decorators(node, scope)
        if decorators.keys() & _KERNEL_DECORATORS and not _is_private(decorators):
            self._kernel(node, definition, name)
            scope.bind(text_of(name), Unknown("a kernel"))
            return
        function = self.function(node, definition, scope)
        plain = function.inline or node.type == "function_definition"
        scope.bind(text_of(name), function if plain else Unknown("what a decorator returns"))
        body = definition.text or b""
        if not function.inline and mentions_kernel(body, self._marks):
            self._follow_builder(function)

    def _decorators(self, node: Node, scope: Scope) -> dict[str, Arguments]:
        """Return the decorators of TVM's on a definition, by name, with what each is given."""
        found: dict[str, Arguments] = {}
        if node.type == "decorated_definition":
            reader = ExpressionReader(scope, self)
            for child in children_of(node):
                if child.type == "decorator":
                    expression = next(iter(children_of(child)), None)
                    given = None
                    if expression is not None and expression.type == "call":
                        given = field_of(expression, "arguments")
                        expression = field_of(expression, "function")
                    value = reader.read(expression)
                    if isinstance(value, Path) and _is_known(value):
                        found[value.dotted] = reader.arguments(given)
        return found

    def function(self, node: Node, definition: Node, scope: Scope) -> Function:
        """Return the function that a definition, decorated or not, makes in a scope."""
        decorators = self._decorators(node, scope)
        name = text_of(field_of(definition, "name") or definition)
        macro = decorators.get("T.macro")
        late = macro is not None and macro.get(0, "hygienic") == Const(False)
        self.defining.append(scope)
        return Function(name, definition, scope, bool(decorators.keys() & INLINE), late)

    @contextmanager
    def _own_budget(self) -> Iterator[None]:
        """Compute as much as any other: what one builder takes is not another's loss."""
        outer, self._computed = self._computed, 0
        try:
            with self._reader.own_budget():
                yield
        finally:
            self._computed = outer

    def _follow_builder(self, builder: Function) -> None:
        """Read a builder's body with the arguments the file names for it."""
        if self._is_wanted:
            with self._own_budget():
                self._follow(builder)

    def _follow(self, builder: Function) -> None:
        outer, outer_builder = self._reader.scope, self._builder
        outer_numbers = self._numbers
        given = named_arguments(builder.node, self._given)
        if not given:
            order = [parameter.name for parameter in parameters_of(builder.node)]
            given = called_arguments(order, builder.node, self._data, self._roots, self._reader)
        given = {**given, **insisted_arguments(builder.node, self._given)}
        inner = builder.scope.inner(host=True)
        for parameter in parameters_of(builder.node):
            value = given.get(parameter.name)
            if value is None and parameter.default is not None:
                value = self._value(parameter.default)
            inner.bind(parameter.name, value if value is not None else Symbol(parameter.name))
            if self._builder is None and (number := constant_int(value)) is not None:
                self._numbers = (*self._numbers, (parameter.name, number))
        self._reader.scope = inner
        self._builder = outer_builder or builder.name
        try:
            body = field_of(builder.node, "body")
            if body is not None:
                self._statements(children_of(body))
        finally:
            self._reader.scope, self._builder = outer, outer_builder
            self._numbers = outer_numbers

    def _class(self, node: Node, *, is_meta: bool = False) -> None:
        """Read a class body: its constants can be named, and kernels may stand in it."""
        name, body = field_of(node, "name"), field_of(node, "body")
        if name is None or body is None:
            return
        outer = self._reader.scope
        written = field_of(node, "superclasses")
        bases = [self._reader.read(base) for base in children_of(written)] if written else []
        inner = outer.inner()
        self._reader.scope = inner
        self._statements(children_of(body))
        self._reader.scope = outer
        known = tuple(base for base in bases if isinstance(base, Class))
        # Only kernels can call an inline method: `T.meta_var(C())` makes instances of such classes.
        for_kernels = any(isinstance(one, Function) and one.inline for one in inner.names.values())
        if is_meta or known or for_kernels:
            members = {
                # In Python a method does not see the names of its class.
                key: replace(value, scope=outer) if isinstance(value, Function) else value
                for key, value in inner.names.items()
            }
            self.defining.append(outer)
            whole = len(known) == len(bases) and all(base.is_whole for base in known)
            inherited = _inherited(known)
            outer.bind(text_of(name), Class(text_of(name), {**inherited, **members}, whole))
            return
        constants = {
            key: value
            for key, value in inner.names.items()
            if isinstance(value, (Const, Symbol, Sequence, Apply, Table))
        }
        outer.bind(text_of(name), Table(True, constants))

    def _kernel(self, node: Node, definition: Node, name: Node) -> None:
        if self._is_wanted:
            with self._own_budget():
                self._kernels.append(self._read_kernel(node, definition, name))

    def _read_kernel(self, node: Node, definition: Node, name: Node) -> Kernel:
        scope = self._reader.scope.inner(host=False)
        given: dict[str, Expr] = {}
        if not self._builder:
            given.update(named_arguments(definition, self._given))
            given.update(insisted_arguments(definition, self._given))
        for parameter in parameters_of(definition):
            value = kernel_parameter(parameter, self._reader, given.get(parameter.name))
            scope.bind(parameter.name, value)
        body = BodyReader(scope, self.function, stored_again(definition))
        memories = self._memories
        memory = memories.of(self._builder, text_of(name)) if memories is not None else None
        block = body.kernel(definition, memory)
        return Kernel(
            name=text_of(name),
            span=self._reader.span(node),
            name_span=self._reader.span(name),
            body=block,
            scope_ids=body.scope_ids,
            builder=self._builder,
            problems=body.problems,
            plain_functions=tuple(body.plain_functions),
            is_used=is_used(node, text_of(name)),
            unbound=body.unbound,
            arguments=self._numbers,
            mentions=body.mentions,
            calls=body.calls,
        )

    # Effects of host expressions

    def member(self, target: KernelObject, name: str) -> Expr | None:
        """No typed object lives on the host."""
        del target, name
        return None

    def call(self, span: Span, callee: Expr, arguments: Arguments) -> Expr:
        """Compute a call of a small function of this file; any other keeps its name."""
        if isinstance(callee, Table) and callee.calls and not arguments.positional:
            return Table(False, {**callee.names, **dict(arguments.keywords)})
        self._computed += 1
        within = self._depth < _DEEPEST_CALL and self._computed <= _MOST_CALLS
        if isinstance(callee, Function) and not callee.inline and within:
            return self._compute(callee, arguments)
        return Call(callee, arguments.positional, arguments.keywords, span=span)

    def _compute(self, function: Function, arguments: Arguments) -> Expr:
        body = field_of(function.node, "body")
        simple = ("expression_statement", "return_statement")
        if body is None or any(child.type not in simple for child in children_of(body)):
            return Unknown(f"a value that `{function.name}` computes")
        outer, outer_returned = self._reader.scope, self._returned
        inner = function.scope.inner(host=True)
        bind_arguments(function, arguments, inner, self._reader)
        self._reader.scope, self._returned = inner, None
        self._depth += 1
        try:
            self._statements(children_of(body))
            return self._returned if self._returned is not None else Const(None)
        finally:
            self._depth -= 1
            self._reader.scope, self._returned = outer, outer_returned


def _inherited(bases: tuple[Class, ...]) -> dict[str, Expr]:
    """Return the members that a class has from its bases; which base's is not always known."""
    members: dict[str, Expr] = {}
    for base in bases:
        for name, value in base.names.items():
            if members.setdefault(name, value) is not value:
                members[name] = Unknown("a member of several base classes")
    return members


def _block(clause: Node, name: str) -> list[Node]:
    body = field_of(clause, name)
    return children_of(body) if body is not None else []


def _is_known(decorator: Path) -> bool:
    """Tell whether a decorator is one of those of its package."""
    return decorator.dotted != _FUNCTION or decorator.written.startswith("tvm_tirx.")


def _is_private(decorators: dict[str, Arguments]) -> bool:
    given = decorators.get(_FUNCTION)
    return given is not None and any(name == "private" for name, _ in given.keywords)
