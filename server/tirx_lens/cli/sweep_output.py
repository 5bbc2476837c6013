"""How the rows of a sweep are printed: a table, JSON, or CSV."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from tirx_lens.cli import streams
from tirx_lens.cli.sweep_results import RowState
from tirx_lens.report.paths import shown_text
from tirx_lens.worker.codec import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TextIO

    from tirx_lens.cli.sweep_results import KernelFigures, Row

FORMATS = ("text", "json", "csv")

_COLUMNS = (
    *("kernel", "config", "arguments", "target", "arch", "state", "seconds", "tvm"),
    *("registers", "spill_bytes", "smem_bytes", "tmem_columns", "message"),
)
_WIDE = 10_000  # columns of what is no terminal: nothing is cut or wrapped
_FIGURES = ("registers", "spills", "SMEM", "TMEM")
_STYLES = {RowState.BUILT: "green", RowState.FAILED: "red", RowState.UNSETTLED: "yellow"}


def show_rows(
    rows: Sequence[Row], output_format: str, stream: TextIO | None, *, figures: bool
) -> None:
    """Write the rows; `figures` says whether the table shows what kernels take of their GPU."""
    if output_format == "json":
        value = {"rows": [encode(row) for row in rows]}
        streams.write(stream, json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    elif output_format == "csv":
        streams.write(stream, as_csv(rows))
    else:
        streams.write(stream, _table(rows, stream, figures=figures))


def as_csv(rows: Iterable[Row]) -> str:
    """Write a line a build, under a line of names. Figures of several kernels are parted by `/`."""
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        writer.writerow(
            (
                *map(shown_text, (row.kernel, row.config or "", _spelled(row))),
                *map(shown_text, (row.target, row.arch, row.state.value)),
                *(f"{row.seconds:.3f}", shown_text(row.tvm_version or "")),
                *(*_figures(row.kernels), shown_text(row.message)),
            )
        )
    return text.getvalue()


def _table(rows: Sequence[Row], stream: TextIO | None, *, figures: bool) -> str:
    """Lay the rows out, as wide as a terminal or as they are elsewhere, and the errors below."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = streams.is_terminal(stream)
    text = io.StringIO()
    console = Console(
        file=text,
        force_terminal=streams.is_coloured(stream),
        no_color=not streams.is_coloured(stream),
        width=None if is_terminal else _WIDE,
        legacy_windows=False,
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    names = ("kernel", "arguments", "target", "arch", "state", "seconds")
    for name in (*names, *(_FIGURES if figures else ())):
        right = name in ("seconds", *_FIGURES)
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows:
        cells = [row.kernel, _arguments(row), row.target, row.arch, row.state.value]
        cells += [f"{row.seconds:.2f}", *(_figures(row.kernels) if figures else ())]
        texts = [Text(shown_text(cell)) for cell in cells]
        texts[4].stylize(_STYLES[row.state])
        table.add_row(*texts)
    console.print(table)
    lines = [line.rstrip() for line in text.getvalue().splitlines()]
    said = list(_errors(rows))
    return "".join(f"{line}\n" for line in (*lines, *([""] if said else []), *said))


def _errors(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line for each thing that went wrong; what several targets say the same of is one."""
    targets: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.message:
            key = row.kernel, _arguments(row), row.message
            targets.setdefault(key, []).append(row.target)
    for (kernel, arguments, message), names in targets.items():
        where = ", ".join(dict.fromkeys(names))
        yield shown_text(f"{f'{kernel} {arguments}'.rstrip()} ({where}): {message}")


def _arguments(row: Row) -> str:
    return f"{row.config or ''} {_spelled(row)}".strip()


def _spelled(row: Row) -> str:
    return " ".join(f"{name}={value}" for name, value in row.arguments.items())


def _figures(kernels: Sequence[KernelFigures]) -> tuple[str, str, str, str]:
    return (
        _listed(kernel.registers for kernel in kernels),
        _listed(kernel.spills for kernel in kernels),
        _listed(kernel.smem_bytes for kernel in kernels),
        _listed(kernel.tmem_columns for kernel in kernels),
    )


def _listed(values: Iterable[int | None]) -> str:
    known = ["" if value is None else str(value) for value in values]
    return "/".join(known) if any(known) else ""
