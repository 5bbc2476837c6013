"""One self-contained HTML page: kernels beside their CUDA, linked line by line."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.python import PythonLexer

from tirx_lens.model.source import SourceText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pygments.lexer import Lexer

    from tirx_lens.cuda.outline import Mark
    from tirx_lens.cuda.view import CudaView


@dataclass(frozen=True, slots=True)
class PageKernel:
    """What the page shows of one build: its title, facts in a few words, the CUDA, the sources.

    `sources` are the texts by path, the kernel's own file first.
    """

    title: str
    facts: tuple[str, ...]
    view: CudaView
    sources: Mapping[str, str]


def page(kernels: Sequence[PageKernel]) -> str:
    """Return the page. It loads nothing, and runs no script but the one it carries."""
    assets = files("tirx_lens.report") / "page"
    style = (assets / "page.css").read_text("utf-8")
    script = (assets / "page.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = escape(kernels[0].title) if len(kernels) == 1 else f"{len(kernels)} kernels"
    options = "".join(f"<option>{escape(kernel.title)}</option>" for kernel in kernels)
    chooser = f'<select aria-label="Kernel">{options}</select>' if len(kernels) > 1 else ""
    facts = "".join(f"<span>{escape(fact)}</span>" for fact in kernels[0].facts)
    mains = "\n".join(_main(kernel, number) for number, kernel in enumerate(kernels))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}: generated CUDA</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1>{facts}{chooser}</header>\n{mains}\n"
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _main(kernel: PageKernel, number: int) -> str:
    numbers = {path: index for index, path in enumerate(kernel.sources)}
    links = [
        [
            entry.cuda_line,
            [
                [[numbers[f.file], f.line, f.end_line] for f in entry.frames if f.file in numbers],
                entry.via.is_guess,
            ],
        ]
        for entry in kernel.view.map
    ]
    # In a script that is data, only `</` could end it.
    data = json.dumps(links, separators=(",", ":")).replace("<", "\\u003c")
    python = "".join(
        f"<h2>{escape(PurePath(path).name)}</h2>"
        f'<ol data-file="{index}">{_rows(text, PythonLexer())}</ol>'
        for index, (path, text) in enumerate(kernel.sources.items())
    )
    return (
        f'<main id="kernel-{number}"{" hidden" if number else ""}>\n'
        f'<script type="application/json">{data}</script>\n'
        f'<section class="code python" aria-label="Python">{python}</section>\n'
        f'<section class="code cuda" aria-label="CUDA">{_cuda(kernel.view)}</section>\n'
        f'<nav aria-label="Outline"><h2>Outline</h2>{_outline(kernel.view)}</nav>\n</main>'
    )


def _cuda(view: CudaView) -> str:
    source = SourceText(view.text)
    wrong = {source.line_of(finding.span.start) + 1 for finding in view.findings}
    rows = _lines(view.text, CudaLexer())  # type: ignore[no-untyped-call]
    items = [_row(line, html, finding=line in wrong) for line, html in enumerate(rows, 1)]
    above, below = items[: view.preamble_line], items[view.preamble_line :]
    summary = f"<summary>{len(above)} lines of helpers</summary>"
    folded = f"<details>{summary}<ol>{''.join(above)}</ol></details>" if above else ""
    return f"<h2>CUDA</h2>{_findings(view, source)}{folded}<ol>{''.join(below)}</ol>"


def _findings(view: CudaView, source: SourceText) -> str:
    if not view.findings:
        return ""
    items = "".join(
        f"<li><b>{escape(finding.code)}</b> line {source.line_of(finding.span.start) + 1}: "
        f"{escape(finding.message)}</li>"
        for finding in view.findings
    )
    return f'<ul class="findings">{items}</ul>'


def _outline(view: CudaView) -> str:
    source = SourceText(view.text)

    def entry(mark: Mark) -> str:
        line = source.line_of(mark.span.start) + 1
        inside = "".join(map(entry, mark.children))
        return (
            f'<li class="{mark.kind.value}"><button data-to="{line}" title="{escape(mark.detail)}">'
            f"{escape(mark.title)} <small>{line}</small></button>"
            f"{f'<ul>{inside}</ul>' if inside else ''}</li>"
        )

    return f"<ul>{''.join(map(entry, view.outline))}</ul>"


def _rows(text: str, lexer: Lexer) -> str:
    return "".join(_row(line, html) for line, html in enumerate(_lines(text, lexer), 1))


def _row(line: int, html: str, *, finding: bool = False) -> str:
    wrong = ' class="finding"' if finding else ""
    return (
        f'<li data-line="{line}"{wrong} tabindex="{0 if line == 1 else -1}">'
        f"<code>{html or ' '}</code></li>"
    )


def _lines(text: str, lexer: Lexer) -> list[str]:
    """Return a text as highlighted HTML, line by line; no element spans two lines."""
    lexer.stripnl = lexer.stripall = False
    made: str = highlight(text.replace("\r\n", "\n"), lexer, HtmlFormatter(nowrap=True))
    return made.removesuffix("\n").split("\n")
