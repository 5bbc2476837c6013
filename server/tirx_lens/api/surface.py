"""The surface of one release, read from its table in `data/` (made by `dev/api_tables.py`)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from tirx_lens.api.signatures import Signature
from tirx_lens.model.installed import TIRX_TABLE, TVM_TIRX, Installed

_LONGEST_NAME = 200

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirx_lens.api.forms import Filled
    from tirx_lens.model.given import TvmVersion
    from tirx_lens.model.installed import ReadTable


@dataclass(frozen=True, slots=True)
class Slot:
    """One place for a modifier in a PTX form, and what may stand there."""

    choices: tuple[str, ...]
    is_optional: bool


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a PTX form. `registers` is None where modifiers say how many it takes."""

    name: str
    registers: int | None = 1


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a PTX instruction, as a table-driven `T.ptx` (0.27) has it."""

    slots: tuple[Slot, ...]
    operands: tuple[Operand, ...]

    @property
    def operand_count(self) -> int | None:
        """The operands that a call gives; None where the modifiers decide."""
        counts = [operand.registers for operand in self.operands]
        return None if None in counts else sum(count or 0 for count in counts)


@dataclass(frozen=True, slots=True)
class LangClass:
    """A class of `tvm.backend.cuda.lang`: how it is made, and its methods."""

    init: Signature | None
    methods: Mapping[str, Signature | None]


@dataclass(frozen=True, slots=True, eq=False)  # each is read once
class Surface:
    """What one release has, by canonical names: `T.cuda.cta_sync`, `Tx.copy_async`.

    A signature is None where a call is not known to be checked. `families` are the instructions of
    a table-driven `T.ptx`; None where these are `functions`, as up to 0.26. `scopes` may stand
    before a tile operation, and `dispatches` are the ways to carry one out.
    """

    release: str
    functions: Mapping[str, Signature | None]
    families: Mapping[str, tuple[Form, ...]] | None
    classes: Mapping[str, LangClass]
    scopes: frozenset[str]
    dispatches: Mapping[str, tuple[str, ...]]
    narrowed: dict[tuple[str, ...], tuple[Filled, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )
    """What `forms.candidates` has worked out."""
    _below: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)

    def below(self, path: str) -> tuple[str, ...]:
        """Return the names that may follow a path: what `T.cuda` has."""
        if path not in self._below:
            start = f"{path}."
            names = (one[len(start) :] for one in self.functions if one.startswith(start))
            self._below[path] = tuple(dict.fromkeys(name.partition(".")[0] for name in names))
        return self._below[path]


def surface_of(tvm: TvmVersion | Installed) -> Surface:
    """Return the surface of a release, or of what is installed; of the nearest one as it must be.

    A table is read when it is first asked for.
    """
    if not isinstance(tvm, Installed):
        return _shipped(tvm.value)
    if tvm.table is not None:
        return _said(tvm.table)
    if tvm.package == TVM_TIRX:
        return _shipped(f"tirx-{TIRX_TABLE}")
    return _shipped((tvm.release or tvm.nearest).value)


@cache
def _shipped(name: str) -> Surface:
    table = resources.files("tirx_lens.api").joinpath(f"data/{name}.json")
    return read_surface(json.loads(table.read_text("utf-8")))


@lru_cache(maxsize=4)
def _said(table: ReadTable) -> Surface:
    return read_surface(table.data)


def read_surface(table: Mapping[str, Any]) -> Surface:
    """Read what `worker/api_surface.py` wrote down."""
    families = table["ptx"]
    return Surface(
        release=table["version"],
        functions=_signatures(table["functions"]),
        families=None if families is None else {k: _forms(v) for k, v in families.items()},
        classes={
            name: LangClass(_signature(one["init"]), _signatures(one["methods"]))
            for name, one in table["classes"].items()
        },
        scopes=frozenset(table["scopes"]),
        dispatches={name: tuple(ways) for name, ways in table["dispatch"].items()},
    )


def is_sound(table: object) -> bool:
    """Tell whether a table that came from elsewhere has the shape that `read_surface` takes."""
    try:
        surface = read_surface(table)  # type: ignore[arg-type] # that is the question
        signatures = [*surface.functions.values()]
        for one in surface.classes.values():
            signatures += [one.init, *one.methods.values()]
        names = [surface.release, *surface.functions, *surface.classes, *surface.dispatches]
        for signature in signatures:
            if signature is not None:
                names += [*signature.names, signature.text[:_LONGEST_NAME]]
        for family, forms in (surface.families or {}).items():
            names.append(family)
            for form in forms:
                names += [token for slot in form.slots for token in slot.choices]
                names += [operand.name for operand in form.operands]
                sum(operand.registers or 0 for operand in form.operands)
        names += [way for ways in surface.dispatches.values() for way in ways]
        return all(map(_is_name, names))
    except Exception:  # whatever a stranger's data makes of it
        return False


def _is_name(name: object) -> bool:
    """Tell whether a name may be shown as it is: printable, and not long."""
    return isinstance(name, str) and len(name) <= _LONGEST_NAME and name.isprintable()


def _signatures(texts: Mapping[str, str | None]) -> dict[str, Signature | None]:
    return {name: _signature(text) for name, text in texts.items()}


def _signature(text: str | None) -> Signature | None:
    return None if text is None else Signature(text)


def _forms(entries: list[dict[str, Any]]) -> tuple[Form, ...]:
    return tuple(
        Form(
            tuple(Slot(tuple(choices), optional) for choices, optional in entry["slots"]),
            tuple(Operand(name, registers) for name, registers in entry["operands"]),
        )
        for entry in entries
    )
