"""Python's constants as they are spelled: `16`, `-1`, `"a"`, `None`."""

from __future__ import annotations

import ast

_NUMBERS = (int, float, complex)


def constant(text: str) -> object:
    """Return the value of one constant, a number with its sign included.

    Raises ValueError or SyntaxError for whatever else a text says, and for one too deep or too long
    for Python's parser what that raises: MemoryError or RecursionError. `ast.literal_eval` reads
    containers as well, but leaves garbage in a cycle behind with each call.
    """
    node = ast.parse(text.lstrip(" \t"), mode="eval").body
    sign = None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        sign, node = node.op, node.operand
    if not isinstance(node, ast.Constant):
        raise ValueError(f"{text!r} is no constant")
    if sign is None:
        return node.value
    if type(node.value) not in _NUMBERS:
        raise ValueError(f"{text!r} is no number with a sign")
    return -node.value if isinstance(sign, ast.USub) else +node.value  # type: ignore[operator]
