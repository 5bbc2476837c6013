"""The fix that lets one elected thread of a warp execute a statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.model.finding import Applicability, Edit, Fix
from tirx_lens.rules.changes.edits import indentation, indentation_step, whole_lines
from tirx_lens.rules.changes.spelling import is_older, tirx_name
from tirx_lens.threads.issuers import whole_warps

if TYPE_CHECKING:
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView
    from tirx_lens.threads.reach import Reached


def elected(view: KernelView, reached: Reached) -> Fix | None:
    """Wrap a statement in an election, where one whole warp of a CTA comes to it.

    Safe: only for statements that no correct kernel executes in more than one lane of a warp.
    """
    operation = reached.operation
    if view.reach is None or operation.stack or operation.argument(99, "pred") is not None:
        return None
    shape = view.reach.shape
    counts = {whole_warps(reached.participants, shape, cta) for cta in range(shape.ctas)}
    lines = whole_lines(view.source, operation.statement)
    if lines is None or counts not in ({1}, {0, 1}):
        return None
    where = "ptx" if is_older(view) else "cuda"
    header = f"if {tirx_name(view)}.{where}.elect_sync():"
    text = guarded(view, lines, header, operation.statement)
    return Fix("Elect one thread", Applicability.SAFE, (Edit(lines, text),))


def guarded(view: KernelView, lines: Span, header: str, anchor: Span) -> str:
    """Return whole lines, one step further in, below a header where `anchor` stands."""
    written = view.source.slice(lines).splitlines(keepends=True)
    step = indentation_step(view.source, anchor)
    inner = "".join(step + line if line.strip() else line for line in written)
    return f"{indentation(view.source, anchor)}{header}\n{inner}"
