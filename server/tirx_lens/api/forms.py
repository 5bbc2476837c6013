"""A chain of modifiers against the forms of its instruction, as TVM's table-driven `T.ptx` does it.

Each modifier goes into the first open slot of a form that lists it, in whatever order they come;
forms that have no such slot are out. TVM, `backend/cuda/ptx/engine.py`, `_InstrChain`.
"""

from __future__ import annotations

import keyword
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.api.surface import Form, Slot, Surface


@dataclass(frozen=True, slots=True)
class Filled:
    """A form and which of its slots have a modifier by now, in their order."""

    form: Form
    tokens: tuple[str | None, ...]

    @property
    def open_slots(self) -> tuple[Slot, ...]:
        """The slots without a modifier."""
        pairs = zip(self.form.slots, self.tokens, strict=True)
        return tuple(slot for slot, token in pairs if token is None)

    @property
    def required(self) -> tuple[Slot, ...]:
        """The open slots that must be filled before a call."""
        return tuple(slot for slot in self.open_slots if not slot.is_optional)

    @property
    def next_slots(self) -> tuple[Slot, ...]:
        """The slots that the next modifier is for, in the order of PTX: up to a required one."""
        filled = [index for index, token in enumerate(self.tokens) if token is not None]
        found: list[Slot] = []
        for slot in self.form.slots[filled[-1] + 1 if filled else 0 :]:
            found.append(slot)
            if not slot.is_optional:
                break
        return tuple(found)

    def with_token(self, token: str) -> Filled | None:
        """Return the form with one more modifier; None where it has no slot for it."""
        for index, slot in enumerate(self.form.slots):
            if self.tokens[index] is None and token in slot.choices:
                return Filled(self.form, (*self.tokens[:index], token, *self.tokens[index + 1 :]))
        return None


def begin(forms: Iterable[Form]) -> tuple[Filled, ...]:
    """Return the forms of an instruction before its first modifier."""
    return tuple(Filled(form, (None,) * len(form.slots)) for form in forms)


def narrowed(candidates: Sequence[Filled], token: str) -> tuple[Filled, ...]:
    """Return the forms that can take one more modifier, with it."""
    taken = (candidate.with_token(token) for candidate in candidates)
    return tuple(one for one in taken if one is not None)


def next_tokens(left: Sequence[Filled]) -> tuple[str, ...]:
    """Return what may stand at the next dot, required modifiers first.

    TVM takes them in any order; they are given in that of PTX, and in any where that is past.
    """
    in_order = _choices(slot for one in left for slot in one.next_slots)
    return in_order or _choices(slot for one in left for slot in one.open_slots)


def _choices(slots: Iterable[Slot]) -> tuple[str, ...]:
    required: dict[str, None] = {}
    optional: dict[str, None] = {}
    for slot in slots:
        (optional if slot.is_optional else required).update(dict.fromkeys(slot.choices))
    return tuple(dict.fromkeys((*required, *optional)))


_MOST_KNOWN = 10_000


def candidates(surface: Surface, tokens: tuple[str, ...]) -> tuple[Filled, ...]:
    """Return the forms that a chain leaves, its instruction first; none where one does not fit.

    Each beginning of a chain is narrowed once: a text has the same few again and again.
    """
    known = surface.narrowed.get(tokens)
    if known is None:
        if len(tokens) == 1:
            known = begin((surface.families or {}).get(tokens[0], ()))
        else:
            known = narrowed(candidates(surface, tokens[:-1]), tokens[-1])
        if len(surface.narrowed) >= _MOST_KNOWN:
            surface.narrowed.clear()
        surface.narrowed[tokens] = known
    return known


def attribute(token: str) -> str:
    """Spell a modifier as an attribute of Python: `shared::cta` is `shared__cta`."""
    name = token.replace("::", "__").replace(":", "__colon__")
    return f"{name}_" if keyword.iskeyword(name) else name


def token_of(name: str) -> str:
    """Return the modifier that an attribute spells."""
    parts = name.split("__colon__")
    token = ":".join(part.replace("__", "::") for part in parts)
    return token[:-1] if token.endswith("_") else token


def has_attribute_form(token: str) -> bool:
    """Tell whether a modifier can be spelled as an attribute: `cta_group::1` can, `4x` cannot."""
    return attribute(token).isidentifier()
