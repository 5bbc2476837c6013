"""Whether a kernel has been written to its end, for rules about what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from tirx_lens.rules.rule import KernelView


def is_finished(view: KernelView) -> bool:
    """Tell whether a statement follows the kernel in its file (`return kernel`, a test, a call).

    A kernel that ends with its text may be one that its author is still writing.
    """
    source = view.source
    rest = source.data[view.kernel.span.end :].decode("utf-8", errors="replace")
    return any(line.strip() and not line.strip().startswith("#") for line in rest.splitlines())


def in_finished_kernel(body: str) -> str:
    """Put statements at the end of a kernel that is used below it, for examples."""
    return in_kernel(body) + "\n\nprint(kernel)\n"
