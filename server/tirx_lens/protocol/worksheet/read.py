"""From a text to the worksheets of its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.given import Given
from tirx_lens.protocol.worksheet.sheet import KernelSheet, broken_sheet, kernel_sheet
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels, reading_anew
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from tirx_lens.model.given import TvmVersion
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.rule import ReadAnew
    from tirx_lens.syntax.library import Library


@dataclass(frozen=True, slots=True)
class Worksheet:
    """The worksheets of a text's kernels, in its order.

    All places are in `source`, which is the text joined with those it imports. `has_errors` says
    that the text has syntax errors, which may have cost kernels.
    """

    source: SourceText
    kernels: tuple[KernelSheet, ...] = ()
    has_errors: bool = False


def worksheet(
    source: SourceText,
    given: Given | None = None,
    library: Library | None = None,
    builder: str | None = None,
) -> Worksheet:
    """Fill in the worksheets of the kernels of a text, or of those of one builder.

    Never raises for any text. `builder` is the name of the function around a kernel, or that of a
    kernel at module level.
    """
    read = read_kernels(source, given, library)
    joined = library.joined(source) if library is not None else source
    version = given.tvm_version if given is not None else None

    read_anew = reading_anew(source, given or Given(), library)
    sheets = tuple(
        _sheet(joined, kernel, version, read_anew)
        for kernel in read.kernels
        if builder is None or builder == (kernel.builder or kernel.name)
    )
    return Worksheet(joined, sheets, read.has_errors)


def _sheet(
    source: SourceText, kernel: Kernel, version: TvmVersion | None, read_anew: ReadAnew
) -> KernelSheet:
    """Fill in one worksheet; a part of ours that breaks costs this kernel's, and says so."""
    try:
        view = KernelView(source, kernel, reach(kernel, compute), version, read_anew=read_anew)
        return kernel_sheet(view)
    except Exception as error:
        return broken_sheet(kernel, f"{type(error).__name__}: {error}")
