"""The statements of a kernel's CUDA, as those of the kernel model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tirx_lens.cuda.expressions import CudaExpressions
from tirx_lens.cuda.grammar import assembly_in, descendants, text_of
from tirx_lens.cuda.instructions import INTRINSICS, Instruction, instruction, opcodes_of
from tirx_lens.cuda.uniform import uniform_names
from tirx_lens.cuda.variables import Launch, Scope
from tirx_lens.model.expr import Apply, Call, Const, Expr, Operator, Path, Symbol, constant_int
from tirx_lens.model.kernel import (
    Block,
    Branch,
    Exit,
    ExitKind,
    Loop,
    LoopKind,
    Op,
    Operation,
    Problem,
    Statement,
)
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from tirx_lens.cuda.helpers import Helper

_CALLS = frozenset({"call_expression"})
_EXITS = {
    "return_statement": ExitKind.RETURN,
    "break_statement": ExitKind.BREAK,
    "continue_statement": ExitKind.CONTINUE,
}
_DEEPEST = 200
_ASSIGNMENTS = frozenset({"assignment_expression", "update_expression"})


def read_body(
    body: Node, helpers: Mapping[str, Helper], launch: Launch, numbers: frozenset[str] = frozenset()
) -> tuple[Block, tuple[Problem, ...]]:
    """Read a kernel's body: its operations are the calls whose PTX synchronises or moves data.

    `numbers` are the parameters that are the same number in every thread.
    """
    reader = _BodyReader(helpers, launch)
    changing = frozenset(_assigned(body))
    scope = Scope({name: Symbol(name) for name in numbers}, changing)
    uniform = uniform_names(body, reader.expressions, scope)
    block, _ = reader.block(body, replace(scope, uniform=uniform), 0)
    return block, tuple(reader.problems)


def _assigned(body: Node) -> set[str]:
    """Return the names that are assigned after their declaration."""
    names = set()
    for node in descendants(body, _ASSIGNMENTS):
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        if target is not None and target.type == "identifier":
            names.add(text_of(target))
    return names


class _BodyReader:
    def __init__(self, helpers: Mapping[str, Helper], launch: Launch) -> None:
        self.problems: list[Problem] = []
        self.expressions = CudaExpressions(helpers, launch)
        self._helpers = helpers

    def block(self, node: Node, scope: Scope, depth: int) -> tuple[Block, Scope]:
        """Read the statements of `{ ... }`, or a single statement in its place."""
        if depth > _DEEPEST:
            self.problems.append(Problem(_span(node), "nested very deeply", cuts=True))
            return Block(), scope
        nodes = node.named_children if node.type == "compound_statement" else [node]
        statements: list[Statement] = []
        for child in nodes:
            scope = self._statement(child, scope, statements, depth)
        return Block(tuple(statements)), scope

    def _statement(self, node: Node, scope: Scope, into: list[Statement], depth: int) -> Scope:
        match node.type:
            case "compound_statement":
                inner, _ = self.block(node, scope, depth + 1)
                into += inner.statements
            case "if_statement":
                into += self._branch(node, scope, depth)
            case "for_statement":
                into.append(self._for(node, scope, depth))
            case "while_statement" | "do_statement":
                into.append(self._while(node, scope, depth))
            case "declaration":
                into += self._operations(node, scope)
                return self._declared(node, scope)
            case kind if kind in _EXITS:
                into += self._operations(node, scope)
                into.append(Exit(_EXITS[kind], _span(node)))
            case "labeled_statement" | "goto_statement" | "switch_statement":
                self.problems.append(Problem(_span(node), f"a {node.type}", cuts=True))
            case "comment" | "preproc_call":
                pass
            case _:
                into += self._operations(node, scope)
        return scope

    def _branch(self, node: Node, scope: Scope, depth: int) -> list[Statement]:
        condition = node.child_by_field_name("condition") or node
        then, _ = self.block(node.child_by_field_name("consequence") or node, scope, depth + 1)
        otherwise = Block()
        alternative = node.child_by_field_name("alternative")
        if alternative is not None:
            inner = [child for child in alternative.named_children if child.type != "comment"]
            if inner:
                otherwise, _ = self.block(inner[0], scope, depth + 1)
        branch = Branch(
            self.expressions.read(condition, scope), _span(condition), then, otherwise, _span(node)
        )
        return [*self._operations(condition, scope), branch]

    def _for(self, node: Node, scope: Scope, depth: int) -> Loop:
        body = node.child_by_field_name("body")
        block = self.block(body, scope, depth + 1)[0] if body is not None else Block()
        header = Span(node.start_byte, body.start_byte if body is not None else node.end_byte)
        return Loop(LoopKind.FOR, self._range(node, scope), block, _span(node), header)

    def _range(self, node: Node, scope: Scope) -> Expr:
        """Return `range(start, stop)` of `for (int i = start; i < stop; ++i)`."""
        first = node.child_by_field_name("initializer")
        declared = first.child_by_field_name("declarator") if first is not None else None
        start = declared.child_by_field_name("value") if declared is not None else None
        test = node.child_by_field_name("condition")
        update = node.child_by_field_name("update")
        steps_by_one = update is not None and update.type == "update_expression"
        if test is not None and text_of(test.child_by_field_name("operator")) == "<":
            ends = (
                self.expressions.read(start, scope),
                self.expressions.read(test.child_by_field_name("right"), scope),
            )
            return Call(Path("range"), ends if steps_by_one else (*ends, Const(None)))
        return Call(Path("T.cuda.loop"))

    def _while(self, node: Node, scope: Scope, depth: int) -> Loop:
        condition = node.child_by_field_name("condition") or node
        body = node.child_by_field_name("body")
        block = self.block(body, scope, depth + 1)[0] if body is not None else Block()
        control = self.expressions.read(condition, scope)
        if node.type == "do_statement":
            control = Const(value=True)  # the first round is every thread's
        elif isinstance(control, Const) and control.value and _leaves_first(block):
            leaving = block.statements[0]
            assert isinstance(leaving, Branch)
            control, block = _negated(leaving.condition), Block(block.statements[1:])
        return Loop(LoopKind.WHILE, control, block, _span(node), _span(condition))

    def _declared(self, node: Node, scope: Scope) -> Scope:
        values = dict(scope.values)
        for declarator in node.children_by_field_name("declarator"):
            name, value = _initialised(declarator)
            if name:
                values.pop(name, None)
                if value is not None:
                    values[name] = self.expressions.read(value, scope)
        return replace(scope, values=values)

    def _operations(self, node: Node, scope: Scope) -> list[Statement]:
        statement = _span(node)
        found: list[Statement] = []
        for call in descendants(node, _CALLS):
            name = text_of(call.child_by_field_name("function"))
            helper = self._helpers.get(name)
            intrinsic = INTRINSICS.get(name)
            does = helper.instructions if helper else (intrinsic,) if intrinsic else ()
            if does:
                arguments = call.child_by_field_name("arguments")
                nodes = arguments.named_children if arguments is not None else []
                given = tuple(self.expressions.read(argument, scope) for argument in nodes)
                found += [_operation(one, _span(call), statement, given) for one in does]
        for assembly in assembly_in(node):
            for opcode in opcodes_of(assembly):
                known = instruction(opcode)
                if known is not None:
                    found.append(_operation(known, statement, statement, ()))
        return found


def _leaves_first(block: Block) -> bool:
    """Tell whether a loop begins with `if (...) { break; }`: how TVM writes a `while`."""
    first = block.statements[0] if block.statements else None
    if not isinstance(first, Branch) or first.orelse.statements:
        return False
    then = first.then.statements
    return len(then) == 1 and isinstance(then[0], Exit) and then[0].kind is ExitKind.BREAK


def _negated(condition: Expr) -> Expr:
    if isinstance(condition, Apply) and condition.operator is Operator.NOT:
        return condition.operands[0]
    return Apply(Operator.NOT, (condition,))


def _operation(
    does: Instruction, span: Span, statement: Span, arguments: tuple[Expr, ...]
) -> Operation:
    op = does.op
    is_cta_wide = op is Op.NAMED_BARRIER and len(arguments) == 1 and does.opcode == "bar.sync 0"
    if is_cta_wide or (op is Op.NAMED_BARRIER and _is_zero(arguments)):
        op = Op.CTA_SYNC
    return Operation(op, does.opcode, span, statement, arguments=arguments)


def _is_zero(arguments: tuple[Expr, ...]) -> bool:
    """Tell whether the only operand of a named barrier is id 0, the CTA's own."""
    return len(arguments) == 1 and constant_int(arguments[0]) == 0


def _initialised(declarator: Node) -> tuple[str, Node | None]:
    """Return the name a declarator gives and its initial value. Pointers and arrays have none."""
    if declarator.type == "init_declarator":
        inner = declarator.child_by_field_name("declarator")
        if inner is not None and inner.type == "identifier":
            return text_of(inner), declarator.child_by_field_name("value")
    if declarator.type == "identifier":
        return text_of(declarator), None
    return "", None


def _span(node: Node) -> Span:
    return Span(node.start_byte, node.end_byte)
