"""A source text -> the kernels in it, never failing: what cannot be read is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.kernel import KernelFile
from tirx_lens.syntax.host import HostReader
from tirx_lens.syntax.library import Library
from tirx_lens.syntax.marks import marks_of, mentions_kernel
from tirx_lens.syntax.reparse import parse_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tirx_lens.model.given import Given
    from tirx_lens.model.imported import ImportedText
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.library import Modules
    from tirx_lens.syntax.scope import Scope


def read_kernels(
    source: SourceText, given: Given | None = None, library: Library | None = None
) -> KernelFile:
    """Return the model of every TVMScript kernel of the text, with what is `given` for it.

    What it imports is looked for in `library`; without one it stays unknown.
    A text that never mentions a kernel decorator costs one search. Traced kernels (`txl.` of
    tirx-kernels) are ordinary Python and give no kernel here.
    """
    if not mentions_kernels(source):
        return KernelFile()
    if library is not None:
        library.begin_version()
    roots = parse_text(source.data)
    by_statement = HostReader(roots, source.data, given=given, library=library).read()
    return KernelFile(
        tuple(kernel for _, kernels in by_statement for kernel in kernels),
        any(root.has_error for root in roots),
    )


def reading_anew(
    source: SourceText, given: Given, library: Library | None
) -> Callable[[Kernel, Mapping[str, int]], Kernel | None]:
    """Return what reads a kernel of a text again, with other arguments of its builder."""

    def read_anew(kernel: Kernel, arguments: Mapping[str, int]) -> Kernel | None:
        insisting = given.insisting(kernel.builder or kernel.name, arguments)
        again = read_kernels(source, insisting, library).kernels
        return next((one for one in again if one.span == kernel.span), None)

    return read_anew


def open_library(modules: Modules, path: str) -> Library:
    """Return the library of the text of the file at `path`."""
    return Library(modules, path, _read_module)


def _read_module(text: ImportedText, library: Library, scope: Scope) -> Sequence[Scope]:
    data = text.module.source.data
    reader = HostReader(parse_text(data), data, _Everything(), library=library, scope=scope)
    for _ in reader.read():
        pass
    return reader.defining


class _Everything:
    """Every statement: of a module that is imported no kernel is read."""

    def __contains__(self, start: object) -> bool:
        return True


def mentions_kernels(source: SourceText) -> bool:
    """Tell whether a text has a word without which there is no kernel."""
    return mentions_kernel(source.data, marks_of(source.data))
