"""Whether a kernel has been written to its end, for rules about what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

_STATEMENT = re.compile(rb"^[^\S\r\n]*[^\s#]", re.MULTILINE)


def is_finished(view: KernelView) -> bool:
    """Tell whether a statement follows the kernel in its file (`return kernel`, a test, a call).

    A kernel that ends with its text may be one that its author is still writing.
    """
    return view.of_text(_is_followed, view.kernel.span)


def _is_followed(source: SourceText, kernel: Span) -> bool:
    return _STATEMENT.search(source.data, kernel.end) is not None


def in_finished_kernel(body: str) -> str:
    """Put statements at the end of a kernel that is used below it, for examples."""
    return in_kernel(body) + "\n\nprint(kernel)\n"
