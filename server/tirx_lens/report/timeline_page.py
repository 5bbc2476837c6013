"""One self-contained HTML page: the timelines of a file's kernels beside its text.

What draws them is `timeline.js`, the script of the editor's webview, which the client's build
writes beside this module.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonLexer

from tirx_lens.report.timeline_json import kernel_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.protocol.timelines import KernelTimeline
    from tirx_lens.report.timeline_json import Places


@dataclass(frozen=True, slots=True)
class PageText:
    """A text beside the timelines: `file` is what places call it, `name` what people do."""

    file: str
    name: str
    text: str


def timeline_page(
    title: str, kernels: Sequence[KernelTimeline], places: Places, texts: Sequence[PageText]
) -> str:
    """Return the page. It loads nothing, and runs no script but the one it carries.

    `texts` has the file itself first. All that is of the files is escaped.
    """
    assets = files("tirx_lens.report") / "page"
    style = (assets / "timeline.css").read_text("utf-8")
    script = (assets / "timeline.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    carried: dict[str, Any] = {"kernels": [kernel_json(kernel, places) for kernel in kernels]}
    # In a script that is data, only `</` could end it.
    data = json.dumps(carried, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    shown = "".join(
        f'<h2>{escape(text.name)}</h2><ol data-file="{escape(text.file)}">{_lines(text.text)}</ol>'
        for text in texts
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}: timeline</title>\n<style>\n{style}</style>\n</head>\n"
        '<body class="page">\n<div class="timeline"></div>\n'
        f'<section class="text" aria-label="Text">{shown}</section>\n'
        f'<script type="application/json">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _lines(text: str) -> str:
    lexer = PythonLexer(stripnl=False)
    made: str = highlight(text.replace("\r\n", "\n"), lexer, HtmlFormatter(nowrap=True))
    return "".join(
        f'<li value="{number}" tabindex="{0 if number == 1 else -1}">{html or " "}</li>'
        for number, html in enumerate(made.removesuffix("\n").split("\n"), 1)
    )
