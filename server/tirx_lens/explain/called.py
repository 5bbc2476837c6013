"""What is called at a place: in words, by its parameters, and in which releases of TVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.api.called import callables
from tirx_lens.api.judge import LANG, TIRX, as_of_tvm, judge
from tirx_lens.api.notes import note_for
from tirx_lens.api.surface import surface_of
from tirx_lens.model.given import TvmVersion
from tirx_lens.rules.facts.releases import held
from tirx_lens.syntax.operations import canonical_opcode

if TYPE_CHECKING:
    from tirx_lens.api.called import Way
    from tirx_lens.api.notes import Note
    from tirx_lens.model.kernel import WrittenCall
    from tirx_lens.model.span import Span
    from tirx_lens.rules.rule import KernelView

_MOST_WAYS = 3


@dataclass(frozen=True, slots=True)
class CallNote:
    """A call of TVM's. `ways` are how its release takes it, `releases` those that take it so."""

    span: Span
    name: str
    note: Note | None
    ways: tuple[Way, ...]
    releases: tuple[TvmVersion, ...]


def call_note(view: KernelView, offset: int) -> CallNote | None:
    """Return what is called where a place is in the name of a call; None elsewhere."""
    call = next((one for one in view.kernel.calls if _names(one, offset)), None)
    if call is None:
        return None
    name = _canonical(call)
    surface = view.once(held).surface
    path = as_of_tvm(call.name).replace(".[", ".").rstrip("]")
    ways = callables(surface, path)[:_MOST_WAYS]
    note = note_for(name)
    if note is None and not ways:
        return None
    releases = tuple(one for one in TvmVersion if judge(surface_of(one), call) is None)
    return CallNote(call.callee, name, note, ways, releases)


def _names(call: WrittenCall, offset: int) -> bool:
    return call.callee.start <= offset <= call.callee.end


def _canonical(call: WrittenCall) -> str:
    path = as_of_tvm(call.name)
    if path.startswith(LANG):
        return ".".join(path.split(".")[-2:])
    if not path.startswith(TIRX):
        return path
    name = path[len(TIRX) :]
    if name.startswith("ptx."):
        return "T.ptx." + canonical_opcode(name[len("ptx.") :].strip("[]"))
    return f"Tx.{name[len('tile.') :]}" if name.startswith("tile.") else f"T.{name}"
