"""What the TVM of this interpreter offers a kernel's author, as plain data.

The tables of `tirx_lens.api` are made by it, one for each release; of a release that has none, it
is asked of the user's own interpreter.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

SCOPES = ("cluster", "cta", "warpgroup", "wg", "warp", "thread")
"""What may stand before a tile operation: `Tx.wg.copy`."""

_LANG = "backend.cuda.lang"
_LANG_MODULES = ("alloc_pool", "clc", "pipeline", "smem_desc", "tile_scheduler", "warp_role")
_DISPATCHER = "tirx.operator.tile_primitive.dispatcher"


def surface(package: str = "tvm") -> dict[str, Any]:
    """Return the names, signatures, PTX forms and dispatches of a TVM, by the name of its package.

    Raises ImportError without it, and whatever one that is made otherwise may raise.
    """
    tvm = importlib.import_module(package)
    tirx = importlib.import_module(f"{package}.script").tirx
    tile = tirx.tile
    functions: dict[str, str | None] = {}
    for name in _names(tirx):
        functions[f"T.{name}"] = _signature(getattr(tirx, name))
    for name in _names(tile):
        functions[f"Tx.{name}"] = _signature(getattr(tile, name))
    for part in ("cuda", "nvshmem"):
        if hasattr(tirx, part):
            functions |= dict(_walk(getattr(tirx, part), f"T.{part}", package))
    table = hasattr(tirx.ptx, "_by_family")
    if not table:
        functions |= dict(_walk(tirx.ptx, "T.ptx", package))
    return {
        "version": tvm.__version__,
        "functions": dict(sorted(functions.items())),
        "scopes": [scope for scope in SCOPES if hasattr(tile, scope)],
        "ptx": _families(tirx.ptx) if table else None,
        "classes": _classes(package),
        "dispatch": _dispatches(package),
    }


def _names(module: Any) -> list[str]:
    return sorted(name for name in dir(module) if not name.startswith("_"))


def _signature(function: Any) -> str | None:
    """Spell the parameters without their types; None where a call is not known to be checked."""
    if not callable(function) or inspect.isclass(function):
        return None
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    bare = [one.replace(annotation=one.empty) for one in found.parameters.values()]
    short = [
        one if one.default is one.empty else one.replace(default=_Shown(one.default))
        for one in bare
    ]
    return str(found.replace(parameters=short, return_annotation=found.empty))


class _Shown:
    """A default as it is written where it is a plain value; else dots."""

    def __init__(self, value: Any) -> None:
        plain = isinstance(value, (int, float, str, bool, type(None), tuple))
        self._text = repr(value) if plain else "..."

    def __repr__(self) -> str:
        return self._text


def _walk(namespace: Any, path: str, package: str) -> Any:
    names = {*vars(namespace), *(name for name in vars(type(namespace)) if name[:1] != "_")}
    for name in sorted(names):
        if name.startswith("_") and not name.startswith("__"):
            continue
        if name.startswith("__") and name.endswith("__"):
            continue
        value = getattr(namespace, name)
        if type(value).__name__.endswith("Namespace"):
            yield f"{path}.{name}", _operator(value, package)
            yield from _walk(value, f"{path}.{name}", package)
        elif callable(value):
            yield f"{path}.{name}", _signature(value)


def _operator(namespace: Any, package: str) -> str | None:
    """Return the signature of a namespace that can itself be called: `T.ptx.mbarrier.arrive`."""
    name = getattr(namespace, "__tir_call_op_name__", None)
    if name is None:
        return None
    operators = importlib.import_module(f"{package}.backend.cuda.op")
    return _signature(getattr(operators, name, None))


def _families(ptx: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the forms of each instruction: slots in order, and how many operands it takes."""
    return {
        family: [
            {
                "slots": [[list(slot.choices), slot.optional] for slot in entry.slots],
                "operands": [
                    [operand.name, operand.lanes if isinstance(operand.lanes, int) else None]
                    for operand in entry.operands
                    if not (operand.kind == "imm" and operand.literal is not None)
                ],
            }
            for entry, _ in candidates
        ]
        for family, candidates in sorted(ptx._by_family.items())
    }


def _classes(package: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for part in _LANG_MODULES:
        try:
            module = importlib.import_module(f"{package}.{_LANG}.{part}")
        except ImportError:
            continue
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if inspect.isclass(value) and own and not name.startswith("_"):
                found[name] = {
                    "init": _signature(value.__init__),
                    "methods": {
                        method: _signature(getattr(value, method))
                        for method in _names(value)
                        if callable(getattr(value, method))
                    },
                }
    return dict(sorted(found.items()))


def _dispatches(package: str) -> dict[str, list[str]]:
    """Return the ways that each tile operation can be carried out on CUDA, by its name."""
    try:
        dispatcher = importlib.import_module(f"{package}.{_DISPATCHER}")
    except ModuleNotFoundError:  # `tvm_tirx` has no tile operations
        return {}
    return {
        name.rpartition(".")[2]: ways["cuda"]
        for name, ways in sorted(dispatcher.list_registered_schedules().items())
        if "cuda" in ways
    }
