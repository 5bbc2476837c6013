"""The ways to call what stands before an open bracket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.api.forms import candidates, token_of
from tirx_lens.api.judge import LANG, TIRX
from tirx_lens.api.signatures import Signature

if TYPE_CHECKING:
    from tirx_lens.api.surface import Surface


@dataclass(frozen=True, slots=True)
class Way:
    """One way: what it is called, and what it takes, in order."""

    name: str
    signature: Signature


def callables(surface: Surface, path: str) -> tuple[Way, ...]:
    """Return the ways to call a path such as `tvm.script.tirx.cuda.mbarrier_wait`."""
    if path.startswith(LANG):
        words = path[len(LANG) :].split(".")
        known = surface.classes.get(words[-2]) if len(words) > 1 else None
        signature = known.methods.get(words[-1]) if known is not None else None
        return _one(".".join(words[-2:]), signature)
    if not path.startswith(TIRX):
        return ()
    names = path[len(TIRX) :].split(".")
    if names[0] == "ptx" and surface.families is not None:
        return _forms(surface, tuple(map(token_of, names[1:])))
    if names[0] == "tile" or (names[0] in surface.scopes and len(names) > 1):
        name = f"Tx.{names[-1]}"
    else:
        name = ".".join(["T", *names])
    return _one(name, surface.functions.get(name))


def _one(name: str, signature: Signature | None) -> tuple[Way, ...]:
    return () if signature is None else (Way(name, signature),)


def _forms(surface: Surface, tokens: tuple[str, ...]) -> tuple[Way, ...]:
    if not tokens:
        return ()
    found = {}
    for one in candidates(surface, tokens):
        if not one.required:
            operands = ", ".join(operand.name for operand in one.form.operands)
            found[operands] = Way(".".join(tokens), Signature(f"({operands})"))
    return tuple(found[operands] for operands in sorted(found, key=len))
