"""A text read for questions about its places: its kernels, and which thread gets where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.library import Library


@dataclass(frozen=True, slots=True)
class Reading:
    """The kernels of one version of a text that are understood as a whole.

    `source` is the text joined with those that it imports: places in it may be in either. A kernel
    with statements missing from its model is left out, for nothing sure can be said of it.
    """

    source: SourceText
    views: tuple[KernelView, ...]


def read(source: SourceText, given: Given | None = None, library: Library | None = None) -> Reading:
    """Read a text. Never fails: what cannot be understood is left out."""
    kernels = read_kernels(source, given, library).kernels
    joined = library.joined(source) if library is not None else source
    version = given.tvm_version if given is not None else None
    installed = given.installed if given is not None else ()
    views = (
        KernelView(joined, kernel, reach(kernel, compute), version, installed=installed)
        for kernel in kernels
        if kernel.is_whole
    )
    return Reading(joined, tuple(views))
