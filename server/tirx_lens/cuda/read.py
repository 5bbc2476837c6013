"""Generated CUDA -> its helpers and kernels, never failing: what cannot be read is left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.cuda.body import read_body
from tirx_lens.cuda.grammar import descendants, parse, text_of
from tirx_lens.cuda.helpers import Helper, read_helpers
from tirx_lens.cuda.variables import Launch
from tirx_lens.model.kernel import Kernel
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from tirx_lens.model.source import SourceText

_PARAMETER = frozenset({"parameter_declaration"})
_FUNCTION = frozenset({"function_definition"})
_NAME = frozenset({"identifier"})


@dataclass(frozen=True, slots=True)
class CudaText:
    """What one generated text holds. `preamble` is all that stands before its first kernel."""

    source: SourceText
    helpers: Mapping[str, Helper] = field(default_factory=dict)
    kernels: tuple[Kernel, ...] = ()
    preamble: Span = field(default_factory=lambda: Span(0, 0))


def read_cuda(source: SourceText, launch: Launch | None = None) -> CudaText:
    """Read a generated text. `launch` is how its kernels are started, where that is known."""
    root = parse(source.data)
    functions: dict[str, Node] = {}
    kernels: dict[str, Node] = {}
    for node in _functions(root):
        target = kernels if _is_kernel(node) else functions
        target.setdefault(_name_of(node), node)
    helpers = read_helpers(functions)
    read = []
    for name, node in kernels.items():
        body = node.child_by_field_name("body")
        if body is None:
            continue
        shape = launch or Launch(_bounds(node))
        statements, problems = read_body(body, helpers, shape, _parameters(node))
        span = Span(node.start_byte, node.end_byte)
        declarator = node.child_by_field_name("declarator") or node
        name_span = Span(declarator.start_byte, declarator.end_byte)
        read.append(Kernel(name, span, name_span, statements, shape.scope_ids(), problems=problems))
    first = min((_beginning(root, kernel.span.start) for kernel in read), default=0)
    return CudaText(source, helpers, tuple(read), Span(0, first))


def _functions(root: Node) -> Iterator[Node]:
    for child in root.children:
        if child.type in ("function_definition", "linkage_specification", "template_declaration"):
            yield from descendants(child, _FUNCTION)


def _is_kernel(node: Node) -> bool:
    return any(child.type == "__global__" for child in node.children)


def _parameters(node: Node) -> frozenset[str]:
    """Return the names of a kernel's numbers: what is passed by value, whole, to every thread."""
    return frozenset(
        text_of(declarator)
        for parameter in descendants(node, _PARAMETER)
        if (kind := parameter.child_by_field_name("type")) is not None
        and kind.type in ("primitive_type", "sized_type_specifier")
        and (declarator := parameter.child_by_field_name("declarator")) is not None
        and declarator.type == "identifier"
    )


def _name_of(node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    return text_of(next(descendants(declarator, _NAME), None)) if declarator is not None else ""


def _bounds(node: Node) -> int | None:
    """Return the number that `__launch_bounds__` names: TVM writes the size of the block there."""
    for child in node.children:
        if child.type == "launch_bounds":
            numbers = [text_of(part) for part in child.children if part.type == "number_literal"]
            return int(numbers[0]) if numbers and numbers[0].isdigit() else None
        if child.type in ("primitive_type", "launch_bounds_specifier"):
            continue
    return next((b for c in node.children if c.type == "type" for b in [_bounds(c)]), None)


def _beginning(root: Node, offset: int) -> int:
    """Return where the first declaration that names a kernel begins."""
    for child in root.children:
        if child.type == "linkage_specification" or child.start_byte >= offset:
            return child.start_byte
    return offset
