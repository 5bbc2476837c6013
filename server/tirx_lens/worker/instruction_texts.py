"""What TVM's Python makes of each instruction, asked for once while a kernel is printed twice.

Printing calls back into Python for every PTX instruction, which is most of what it costs. The other
time the same instructions come, in the same operands, and the first answers are given again.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from .spans import handle

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where 0.27 and 0.26 keep their tables.
_TABLES = ("tvm.backend.cuda.codegen.registry", "tvm.backend.cuda.intrinsics.registry")


@contextlib.contextmanager
def asked_once() -> Iterator[None]:
    """Keep the answers inside the `with` block. Without TVM's table nothing is kept."""
    table = _table()
    originals = dict(table)
    answers: dict[tuple[str, tuple[int, ...]], Any] = {}
    table.update((name, _keeping(name, make, answers)) for name, make in originals.items())
    try:
        yield
    finally:
        table.clear()
        table.update(originals)


def _keeping(name: str, make: Any, answers: dict[tuple[str, tuple[int, ...]], Any]) -> Any:
    def answer(operands: Any) -> Any:
        try:
            key = (name, tuple(handle(operand) for operand in operands))
        except AttributeError:  # a part of another instruction, with plain Python operands
            return make(operands)
        if key not in answers:
            # The operands are kept with the answer, or their handles could be given to others.
            answers[key] = (make(operands), list(operands))
        return answers[key][0]

    return answer


def _table() -> dict[str, Any]:
    for name in _TABLES:
        with contextlib.suppress(ImportError):
            table = getattr(importlib.import_module(name), "CODEGEN_REGISTRY", None)
            if isinstance(table, dict):
                return table
    return {}
