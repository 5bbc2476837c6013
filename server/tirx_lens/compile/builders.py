"""Which functions of a file build kernels, and what they need to be called with.

Read from the text alone, half-typed files included; nothing is executed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.compile.registered import REGISTERED_BUILDER, read_registration
from tirx_lens.syntax.arguments import parse_arguments
from tirx_lens.syntax.tree import children_of, field_of, parse, text_of, walk_statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tree_sitter import Node

    from tirx_lens.compile.request import Scalar
    from tirx_lens.model.given import Given

COMMENT = "comment"
"""Label of the arguments that the comment above a builder says."""
CONFIGURATION = "configuration"
"""Label of the arguments that the project's configuration gives."""

_DEFINITIONS = frozenset({"function_definition"})
_IMPORTS = frozenset({"import_statement", "import_from_statement"})
_BLOCKS = frozenset(
    {"module", "block", "decorated_definition", "if_statement", "elif_clause", "else_clause"}
    | {"try_statement", "except_clause", "finally_clause", "with_statement"}
)


class BuilderKind(Enum):
    """What the name stands for in the module."""

    FUNCTION = "function"
    """A Python function that returns a kernel."""
    PRIM_FUNC = "prim_func"
    """A kernel at module level: there is nothing to call."""
    JIT = "jit"
    """A `T.jit` kernel at module level, specialized by its `T.constexpr` parameters."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a builder and the text of its default; None where it must be given."""

    name: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """Arguments that a builder can be called with, and where they are from.

    `label` tells it from the other sets of its builder whatever its values are.
    """

    label: str
    arguments: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Builder:
    """A function that builds kernels. Lines are 1-based.

    `line` is the `def` line, `first_line` that of the first decorator or of the arguments comment,
    `last_line` the last of the body. `arguments` come from the comment
    `# tirx-lens: args M=1024 ...` above, and from the project for names that it leaves out. Of
    several such comments it is the nearest; `comments` has what each of them says, the nearest
    first. `sets` has all that comments and the project give to choose from, where they differ:
    `arguments` is the first of them.
    """

    name: str
    kind: BuilderKind
    line: int
    first_line: int
    last_line: int
    kernel_names: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    arguments: Mapping[str, Scalar] = field(default_factory=dict)
    comments: tuple[Mapping[str, Scalar], ...] = ()
    sets: tuple[ArgumentSet, ...] = ()
    is_registered: bool = False
    """Whether it is the `get_kernel` of a module with `KERNEL_META` and `CONFIGS`."""
    configs: tuple[str, ...] = ()
    """Labels of `CONFIGS` that the text shows; more may be made when the module runs."""

    def with_given(self, given: Given) -> Builder:
        """Return the builder with what the project gives for those of its parameters."""
        names = [parameter.name for parameter in self.parameters]
        projects = [{n: ours[n] for n in names if n in ours} for ours in given.sets_of(self.name)]
        known, said = next(iter(projects), {}), next(iter(self.comments), {})
        sets = [
            *((COMMENT, {**known, **comment}) for comment in self.comments),
            *((CONFIGURATION, {**said, **ours}) for ours in projects if ours),
        ]
        return replace(self, arguments={**known, **said}, sets=tuple(_labelled(sets)))

    def with_set(self, label: str | None) -> Builder:
        """Return the builder with the arguments of the set of that label, else of the first."""
        chosen = next((one for one in self.sets if one.label == label), None)
        return self if chosen is None else replace(self, arguments=chosen.arguments)

    def missing(self, given: Mapping[str, Scalar]) -> tuple[str, ...]:
        """Return the parameters that neither `given`, nor `arguments`, nor a default names.

        Those of a registered kernel come from its configuration.
        """
        if self.is_registered:
            return ()
        return tuple(
            parameter.name
            for parameter in self.parameters
            if parameter.default is None
            and parameter.name not in given
            and parameter.name not in self.arguments
        )


def _labelled(sets: Iterable[tuple[str, Mapping[str, Scalar]]]) -> Iterator[ArgumentSet]:
    """Yield the sets that differ from those before them, numbered where one place has several."""
    counts: dict[str, int] = {}
    seen: list[Mapping[str, Scalar]] = []
    for place, arguments in sets:
        counts[place] = counts.get(place, 0) + 1
        if arguments not in seen:
            seen.append(arguments)
            number = f" {counts[place]}" if counts[place] > 1 else ""
            yield ArgumentSet(place + number, arguments)


def find_builders(text: str) -> tuple[Builder, ...]:
    """Return the builders and module-level kernels of a text, in its order. Never raises."""
    return tuple(
        builder
        for builder in _functions(text)
        if builder.kernel_names or builder.is_registered or builder.kind is not BuilderKind.FUNCTION
    )


def find_builder(text: str, name: str, line: int | None = None) -> Builder | None:
    """Return the module-level function of that name, whether or not it looks like a builder.

    Where cells of a notebook define it anew, the first that ends at or behind `line`, counted from
    1, is meant.
    """
    named = [item for item in _functions(text) if item.name == name]
    behind = (item for item in named if line is None or item.last_line >= line)
    return next(behind, named[-1] if named else None)


def _functions(text: str) -> Iterator[Builder]:
    data = text.encode("utf-8", "replace")
    root = parse(data).root_node
    lines = data.decode("utf-8").split("\n")
    tvm_names = frozenset(_names_from_tvm(root))
    registration = read_registration(root)
    if registration is not None and registration.imported_at is not None:
        line = registration.imported_at
        yield Builder(
            *(REGISTERED_BUILDER, BuilderKind.FUNCTION, line, line, line),
            is_registered=True,
            configs=registration.labels,
        )
    for definition in walk_statements(root, _DEFINITIONS):
        name = field_of(definition, "name")
        if name is None or not _at_module_level(definition):
            continue
        outer = definition.parent
        whole = outer if outer is not None and outer.type == "decorated_definition" else definition
        comment_line, comments = _arguments_above(lines, whole.start_point.row)
        kind = _kernel_kind(definition, tvm_names) or BuilderKind.FUNCTION
        is_registered = registration is not None and text_of(name) == REGISTERED_BUILDER
        yield Builder(
            name=text_of(name),
            kind=kind,
            line=definition.start_point.row + 1,
            first_line=comment_line + 1,
            last_line=definition.end_point.row + 1,
            kernel_names=tuple(_kernel_names(definition, kind, tvm_names)),
            parameters=tuple(_parameters(definition, kind)),
            arguments=next(iter(comments), {}),
            comments=comments,
            is_registered=is_registered,
            configs=registration.labels if registration and is_registered else (),
        )


def _at_module_level(definition: Node) -> bool:
    """Tell whether a definition binds a name of the module; an `if` or `try` may be around it."""
    node = definition.parent
    while node is not None:
        if node.type == "ERROR" and definition.start_point.column > 0:
            return False  # the function around it is being typed
        if node.type != "ERROR" and node.type not in _BLOCKS:
            return False
        node = node.parent
    return True


def _kernel_names(definition: Node, kind: BuilderKind, tvm_names: frozenset[str]) -> Iterator[str]:
    if kind is not BuilderKind.FUNCTION:
        yield text_of(definition.child_by_field_name("name") or definition)
        return
    body = field_of(definition, "body")
    for inner in walk_statements(body, _DEFINITIONS) if body is not None else ():
        name = field_of(inner, "name")
        inner_kind = _kernel_kind(inner, tvm_names)
        if name is not None and inner_kind is not None:
            yield text_of(name)
        elif inner_kind is None:
            yield from _kernel_names(inner, BuilderKind.FUNCTION, tvm_names)


def _kernel_kind(definition: Node, tvm_names: frozenset[str]) -> BuilderKind | None:
    """Return what the decorators of a definition make of it; None for plain Python."""
    outer = definition.parent
    if outer is None or outer.type != "decorated_definition":
        return None
    for decorator in outer.children:
        if decorator.type != "decorator":
            continue
        called = next(iter(children_of(decorator)), decorator)  # a comment may stand behind it
        spelled = text_of(called).lstrip("@ ").split("(")[0].strip()
        first, _, last = spelled.rpartition(".") if "." in spelled else (spelled, "", spelled)
        if last == "prim_func":
            return BuilderKind.PRIM_FUNC
        is_function = last == "function" and first in tvm_names  # what `tvm_tirx` calls it
        if is_function and "private" not in text_of(called):  # those are called by others
            return BuilderKind.PRIM_FUNC
        if last == "jit" and first.split(".")[0] in tvm_names:  # other libraries have one as well
            return BuilderKind.JIT
    return None


def _names_from_tvm(root: Node) -> Iterator[str]:
    """Return the names that imports of TVM bind."""
    for statement in walk_statements(root, _IMPORTS):
        module = field_of(statement, "module_name")
        if module is not None and not _is_tvm(text_of(module)):
            continue
        for item in statement.children_by_field_name("name"):
            alias = field_of(item, "alias")
            imported = field_of(item, "name") or item
            if module is not None or _is_tvm(text_of(imported)):
                yield text_of(alias) if alias is not None else text_of(imported).split(".")[0]


def _is_tvm(module: str) -> bool:
    return module.split(".")[0] in ("tvm", "tvm_tirx")


def _parameters(definition: Node, kind: BuilderKind) -> Iterator[Parameter]:
    parameters = field_of(definition, "parameters")
    if parameters is None or kind is BuilderKind.PRIM_FUNC:
        return
    for node in children_of(parameters):
        if kind is BuilderKind.JIT:
            annotation = field_of(node, "type")
            if annotation is None or not text_of(annotation).endswith("constexpr"):
                continue
        name = node if node.type == "identifier" else field_of(node, "name")
        if node.type == "typed_parameter":  # has no name field: the pattern is its first child
            name = next(iter(node.named_children), None)
        default = field_of(node, "value")
        if name is not None and name.type == "identifier":
            yield Parameter(text_of(name), None if default is None else text_of(default))


def _arguments_above(lines: list[str], row: int) -> tuple[int, tuple[Mapping[str, Scalar], ...]]:
    """Return the row of the first arguments comment right above `row`, and what each says.

    What the nearest one says comes first.
    """
    first, found = row, []
    above = row - 1
    while above >= 0 and lines[above].lstrip().startswith("#"):
        arguments = parse_arguments(lines[above])
        if arguments is not None:
            first = above
            found.append(arguments)
        above -= 1
    return first, tuple(found)
