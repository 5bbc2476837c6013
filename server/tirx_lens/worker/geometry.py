"""How a kernel is launched and what a CTA of it takes: read from what TVM compiled it to."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from typing import TYPE_CHECKING, Any

from .messages import Launch, Resources

if TYPE_CHECKING:
    from collections.abc import Iterator

AXES = ("x", "y", "z")
DYNAMIC_SMEM = "tirx.use_dyn_shared_memory"

# Field numbers of TVMFFIAny in tvm_struct_set, as the host code of 0.26 and 0.27 fills it in.
_VALUE_FIELD = 15
# A call with its column count as last operand; the helper's own definition has typed operands.
_TMEM_ALLOC = re.compile(r"^\s*\w*tcgen05_alloc\w*\(.*[ (),](\d+)\)?\);$", re.MULTILINE)


class LaunchWatch:
    """Looks at the host function, which launches the kernel, on its way to code generation."""

    def __init__(self) -> None:
        self._host: Any = None
        self._devices: Any = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the compilations inside the `with` block; nothing happens where TVM differs."""
        try:
            importlib.import_module("tvm.tirx.build")
        except ImportError:  # kernels of `tvm_tirx`: it launches by itself
            yield
            return
        build = sys.modules["tvm.tirx.build"]  # the attribute tvm.tirx.build is a function
        original = getattr(build, "tir_to_runtime", None)
        if original is None:
            yield
            return

        def spy(host_mod: Any, device_mod_dict: Any, *rest: Any, **options: Any) -> Any:
            self._host, self._devices = host_mod, device_mod_dict
            return original(host_mod, device_mod_dict, *rest, **options)

        vars(build)["tir_to_runtime"] = spy
        try:
            yield
        finally:
            vars(build)["tir_to_runtime"] = original

    def extents(self) -> dict[str, int | None]:
        """Return the launch parameters by TVM's names; None for one that depends on an argument.

        Empty where the launch was not found.
        """
        if self._host is None:
            return {}
        try:
            return self._find()
        except (AttributeError, KeyError, TypeError, ValueError):
            return {}  # another layout of the host code: the kernel is built all the same

    def _find(self) -> dict[str, int | None]:
        kernels = {
            str(function.attrs["global_symbol"]): function
            for module in self._devices.values()
            for function in module.functions.values()
        }
        for host in self._host.functions.values():
            slots: dict[int, int | None] = {}
            for call in _calls(host.body):
                name = call.op.name
                if name == "tirx.tvm_struct_set" and int(call.args[2]) == _VALUE_FIELD:
                    slots[int(call.args[1])] = _constant(call.args[3])
                elif name == "tirx.tvm_call_packed_lowered":
                    kernel = kernels.get(str(call.args[0].value))
                    if kernel is None:
                        continue
                    names = [str(item) for item in kernel.attrs["tirx.kernel_launch_params"]]
                    first = len(kernel.params)
                    return {item: slots.get(first + index) for index, item in enumerate(names)}
        return {}


def launch_of(extents: dict[str, int | None]) -> Launch | None:
    """Return grid, block and cluster in CTAs and threads; an axis that is not there is 1."""
    if not extents:
        return None
    return Launch(
        grid=tuple(extents.get(f"blockIdx.{axis}", 1) for axis in AXES),
        block=tuple(extents.get(f"threadIdx.{axis}", 1) for axis in AXES),
        cluster=tuple(extents.get(f"clusterCtaIdx.{axis}", 1) for axis in AXES),
    )


def resources_of(extents: dict[str, int | None], cuda: str) -> Resources:
    """Return the dynamic SMEM in bytes and the TMEM columns, if one `tcgen05.alloc` says them."""
    columns = [int(text) for text in _TMEM_ALLOC.findall(cuda)]
    return Resources(
        dynamic_smem_bytes=extents.get(DYNAMIC_SMEM, 0) if extents else None,
        tmem_columns=columns[0] if len(columns) == 1 else None,
    )


def _calls(statement: Any) -> Iterator[Any]:
    """Yield the calls that a function's statements make, in order."""
    pending = [statement]
    while pending:
        node = pending.pop()
        value = getattr(node, "value", None)
        if type(node).__name__ == "Evaluate" and hasattr(value, "op"):
            yield value
        inner = list(node.seq) if hasattr(node, "seq") else []
        for name in ("then_case", "else_case", "body"):
            part = getattr(node, name, None)
            if part is not None:
                inner.append(part)
        pending.extend(reversed(inner))


def _constant(expression: Any) -> int | None:
    """Return an integer constant, a cast of one included."""
    while type(expression).__name__ == "Cast":
        expression = expression.value
    return int(expression.value) if type(expression).__name__ == "IntImm" else None
