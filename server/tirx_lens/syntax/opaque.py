"""Calls that may execute anything: functions whose bodies are elsewhere or hold instructions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.expr import (
    Apply,
    Call,
    Const,
    Expr,
    Id,
    Item,
    Member,
    Path,
    Ref,
    Sequence,
    Variable,
)
from tirx_lens.syntax.scope import Class, Function, Instance, Method, Module

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN = ("T.", "Tx.", "lang.", "tvm.", "math.", "numpy.", "torch.", "functools.", "operator.")
_RUN_ANYTHING = (
    "T.cuda.func_call",
    "T.call_",
    "T.tvm_call_",
    "T.cuda.printf_",
)
# Packed calls are the host's: TVM has none in device code. They encode tensor maps, mostly.
_HOST_ONLY = ("T.call_packed", "T.call_cpacked", "T.tvm_call_packed", "T.tvm_call_cpacked")
_SPEAKS_OF_THREADS = re.compile(
    rb"sync|\bbar\b|barrier|\bptx|func_call|call_extern|\balloc|\bcommit|\bself\b|\blambda\b"
)
_CALLED = re.compile(rb"([A-Za-z_]\w*)\s*\(")


def is_opaque(callee: Expr) -> bool:
    """Tell whether a call may execute barriers or allocate where the model does not see it."""
    match callee:
        case Function():
            return not callee.inline and not _is_plain_function(callee, depth=3)
        case Path(dotted=dotted):
            if dotted.startswith(_RUN_ANYTHING):
                return not dotted.startswith(_HOST_ONLY)
            return "." in dotted and not dotted.startswith(_PLAIN)
        case Item(base=Path(dotted="T.ptx")):  # a string that the text does not tell
            return True
        case Member(base=base) | Item(base=base):
            return _root_is_opaque(base)
        case Const() | Id() | Ref() | Variable() | Sequence() | Apply():
            return False
    return True


def _root_is_opaque(base: Expr) -> bool:
    match base:
        case Item(base=Path(dotted="T.ptx")):
            return True
        case Member(base=inner) | Item(base=inner):
            return _root_is_opaque(inner)
        case Call(callee=callee):
            return is_opaque(callee)
    return is_opaque(base)


def _is_plain_function(function: Function, depth: int) -> bool:
    """Tell whether a function of the file only computes: no word of its body speaks of threads."""
    text = _body(function.node)
    if depth == 0 or _SPEAKS_OF_THREADS.search(text):
        return False
    for matched in _CALLED.finditer(text):
        called = function.scope.lookup(matched.group(1).decode())
        if isinstance(called, Function) and called.node.id != function.node.id:
            if called.inline or not _is_plain_function(called, depth - 1):
                return False
        elif isinstance(called, (Path, Class, Instance, Method, Module)) and is_opaque(called):
            return False
    return True


def _body(definition: Node) -> bytes:
    body = definition.child_by_field_name("body")
    return (body.text or b"") if body is not None else b""
