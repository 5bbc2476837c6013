"""From the kernels of a build to the reply that the editor shows, with the map in its units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.lsp.messages import Cuda, MappedLine, SourceLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.request import Scalar
    from tirx_lens.compile.result import BuildResult, KernelResult


def shown(result: BuildResult, builder: Builder, uri_of: Callable[[str], str]) -> Cuda:
    """Make the reply of the kernels that a builder gave: nearly always one."""
    from tirx_lens.compile.result import Severity

    kernels = result.kernels
    first = kernels[0]
    written = {name: _written(value) for name, value in first.args.items()}
    title = " ".join([builder.name, *(f"{name}={value}" for name, value in written.items())])
    text, lines = "", list[MappedLine]()
    for kernel in kernels:
        if len(kernels) > 1:
            text += ("\n" if text else "") + f"// kernel {kernel.name}\n"
        lines += _mapped_lines(kernel, text.count("\n"), uri_of)
        text += kernel.cuda
    return Cuda(
        title=f"{builder.name} {first.config}" if first.config else title,
        text=text,
        kernel=", ".join(kernel.name for kernel in kernels),
        builder=builder.name,
        arguments=written,
        tvm_version=first.tvm_version,
        target=first.target,
        config=first.config,
        map=tuple(lines),
        notes=tuple(item.message for item in result.diagnostics if item.severity is Severity.NOTE),
    )


def _mapped_lines(
    kernel: KernelResult, lines_above: int, uri_of: Callable[[str], str]
) -> Iterator[MappedLine]:
    for entry in kernel.map:
        yield MappedLine(
            line=lines_above + entry.cuda_line - 1,
            frames=tuple(
                SourceLines(uri_of(frame.file), frame.line - 1, frame.end_line - 1)
                for frame in entry.frames
            ),
            via=entry.via.value,
            guessed=entry.via.is_guess,
        )


def _written(value: Scalar) -> str:
    return value if isinstance(value, str) else repr(value)
