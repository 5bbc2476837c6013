"""The device functions that stand before the kernels, and the PTX each wraps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.cuda.grammar import assembly_in, descendants, text_of
from tirx_lens.cuda.instructions import INTRINSICS, Instruction, instruction, opcodes_of
from tirx_lens.model.kernel import Op
from tirx_lens.model.span import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

_CALL = frozenset({"call_expression"})


class Value(Enum):
    """What a helper returns, where that is something a guard may ask."""

    ELECTED = "elect.sync"
    THREAD_RANK = "thread_rank"
    CLUSTER_CTA_RANK = "%cluster_ctarank"
    CLUSTER_ID = "%clusterid.x"
    CTA_ID = "%ctaid.x"


@dataclass(frozen=True, slots=True)
class Helper:
    """One device function: where it stands, the PTX text it wraps, what its calls do.

    `instructions` are those that matter of its own and of the helpers it calls, in order;
    `value` is what it returns to a guard.
    """

    name: str
    span: Span
    ptx: str
    instructions: tuple[Instruction, ...]
    value: Value | None = None


def read_helpers(functions: Mapping[str, Node]) -> dict[str, Helper]:
    """Read device functions by name; the calls between them are followed, cycles cut."""
    helpers: dict[str, Helper] = {}
    for name in functions:
        _read(name, functions, helpers, frozenset())
    return helpers


def _read(
    name: str, functions: Mapping[str, Node], helpers: dict[str, Helper], around: frozenset[str]
) -> Helper | None:
    if name in helpers or name in around or name not in functions:
        return helpers.get(name)
    node = functions[name]
    body = node.child_by_field_name("body") or node
    assembly = tuple(assembly_in(body))
    called = tuple(called_names(body))
    inner = [
        helper
        for callee in called
        if (helper := _read(callee, functions, helpers, around | {name})) is not None
    ]
    found = [instruction(opcode) for text in assembly for opcode in opcodes_of(text)]
    found += [INTRINSICS.get(callee) for callee in called]
    kept = [item for item in found if item is not None]
    for helper in inner:
        kept += helper.instructions
    helper = Helper(
        name,
        Span(node.start_byte, node.end_byte),
        "\n".join(text.strip("\n") for text in assembly),
        _once(kept),
        _value(assembly, text_of(body)) or next((h.value for h in inner if h.value), None),
    )
    helpers[name] = helper
    return helper


def called_names(node: Node) -> Iterator[str]:
    """Yield the plain names that are called below a node."""
    for call in descendants(node, _CALL):
        function = call.child_by_field_name("function")
        if function is not None and function.type == "identifier":
            yield text_of(function)


def _once(instructions: list[Instruction]) -> tuple[Instruction, ...]:
    """Leave out repeats, and the arrival of a cluster barrier that is waited for at once."""
    ops = {one.op for one in instructions}
    waits = Op.CLUSTER_SYNC in ops
    kept = (one for one in instructions if not (waits and one.op is Op.CLUSTER_ARRIVE))
    return tuple(dict.fromkeys(kept))


def _value(assembly: tuple[str, ...], body: str) -> Value | None:
    for value in (Value.ELECTED, Value.CLUSTER_CTA_RANK, Value.CLUSTER_ID, Value.CTA_ID):
        if any(value.value in text for text in assembly):
            return value
    return Value.THREAD_RANK if "thread_rank()" in body else None
