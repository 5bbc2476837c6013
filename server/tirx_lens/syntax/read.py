"""A source text -> the kernels in it, never failing: what cannot be read is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import KernelFile
from tirx_lens.syntax.host import HostReader
from tirx_lens.syntax.reparse import parse_text

if TYPE_CHECKING:
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText

_MARKS = (b"prim_func", b".jit")


def read_kernels(source: SourceText, given: Given | None = None) -> KernelFile:
    """Return the model of every TVMScript kernel of the text, with what is `given` for it.

    A text that never mentions a kernel decorator costs one search. Traced kernels (`txl.` of
    tirx-kernels) are ordinary Python and give no kernel here.
    """
    if not mentions_kernels(source):
        return KernelFile()
    roots = parse_text(source.data)
    by_statement = HostReader(roots, source.data, given=given).read()
    return KernelFile(
        tuple(kernel for _, kernels in by_statement for kernel in kernels),
        any(root.has_error for root in roots),
    )


def mentions_kernels(source: SourceText) -> bool:
    """Tell whether a text has a word without which there is no kernel."""
    return any(mark in source.data for mark in _MARKS)
