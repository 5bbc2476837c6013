"""What may stand at the cursor, by the table of a release."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tirx_lens.api.forms import attribute, candidates, has_attribute_form, next_tokens, token_of
from tirx_lens.api.judge import LANG, TIRX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.api.forms import Filled
    from tirx_lens.api.signatures import Signature
    from tirx_lens.api.surface import Surface


class Kind(Enum):
    """What a suggestion is."""

    FUNCTION = "function"
    NAMESPACE = "namespace"
    MODIFIER = "modifier"
    METHOD = "method"
    CLASS = "class"
    VALUE = "value"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One word that may stand there.

    `snippet` is what is written, with places to fill in as `${1:name}`; None for the word itself.
    `detail` is shown beside it. Of modifiers, the required ones are `first`.
    """

    word: str
    kind: Kind
    detail: str = ""
    snippet: str | None = None
    first: bool = True


def members(surface: Surface, path: str, *, in_string: bool = False) -> tuple[Suggestion, ...]:
    """Return what may follow a path such as `tvm.script.tirx.ptx.mbarrier`."""
    if path.startswith(LANG):
        return _methods(surface, path[len(LANG) :].rpartition(".")[2])
    if not f"{path}.".startswith(TIRX):
        return ()
    names = path[len(TIRX) :].split(".") if path != TIRX[:-1] else []
    if names[:1] == ["ptx"] and surface.families is not None:
        return _ptx(surface, names[1:], in_string=in_string)
    if names[:1] == ["tile"]:
        return _tile(surface, names[1:])
    if len(names) == 1 and names[0] in surface.scopes:
        return _tile(surface, names)
    return _functions(surface, ".".join(["T", *names]))


def ways(surface: Surface, operation: str) -> tuple[Suggestion, ...]:
    """Return the values of `dispatch=` for a tile operation."""
    return tuple(Suggestion(way, Kind.VALUE) for way in surface.dispatches.get(operation, ()))


def keywords(signatures: Iterable[Signature], given: Sequence[str]) -> tuple[Suggestion, ...]:
    """Return the keywords that a call may still be given."""
    found: dict[str, Suggestion] = {}
    for signature in signatures:
        for parameter in signature.parameters:
            if parameter.name not in given:
                default = f"= {parameter.default}" if parameter.default is not None else ""
                found[parameter.name] = Suggestion(
                    f"{parameter.name}=", Kind.KEYWORD, default, first=parameter.default is None
                )
    return tuple(found.values())


def _functions(surface: Surface, path: str) -> tuple[Suggestion, ...]:
    return tuple(_function(surface, f"{path}.{name}", name) for name in surface.below(path))


def _function(surface: Surface, path: str, name: str) -> Suggestion:
    signature = surface.functions.get(path)
    if surface.below(path) and signature is None:
        return Suggestion(name, Kind.NAMESPACE)
    if signature is None:
        return Suggestion(name, Kind.CLASS if name[:1].isupper() else Kind.FUNCTION)
    return Suggestion(name, Kind.FUNCTION, signature.text, _call(name, signature))


def _tile(surface: Surface, scope: Sequence[str]) -> tuple[Suggestion, ...]:
    operations = tuple(
        _function(surface, f"Tx.{name}", name)
        for name in surface.below("Tx")
        if name in surface.dispatches or not scope
    )
    if not scope:
        return operations
    return operations if scope[0] in surface.scopes and len(scope) == 1 else ()


def _methods(surface: Surface, name: str) -> tuple[Suggestion, ...]:
    known = surface.classes.get(name)
    return tuple(
        Suggestion(
            method,
            Kind.METHOD,
            signature.for_user if signature is not None else "",
            _call(method, signature) if signature is not None else None,
        )
        for method, signature in (known.methods.items() if known is not None else ())
    )


def _ptx(surface: Surface, names: Sequence[str], *, in_string: bool) -> tuple[Suggestion, ...]:
    tokens = tuple(names if in_string else map(token_of, names))
    if not tokens:
        return tuple(
            Suggestion(family if in_string else attribute(family), Kind.NAMESPACE)
            for family in surface.families or ()
        )
    left = candidates(surface, tokens)
    required = {token for one in left for slot in one.required for token in slot.choices}
    return tuple(
        _modifier(surface, (*tokens, token), token, in_string=in_string, first=token in required)
        for token in next_tokens(left)
        if in_string or has_attribute_form(token)
    )


def _modifier(
    surface: Surface, chain: tuple[str, ...], token: str, *, in_string: bool, first: bool
) -> Suggestion:
    left = candidates(surface, chain)
    word = token if in_string else attribute(token)
    rest, ends = _forced(surface, chain)
    if in_string or not rest:
        return Suggestion(word, Kind.MODIFIER, _operands(ends), first=first)
    return Suggestion(
        word,
        Kind.MODIFIER,
        ".".join((*chain, *rest)) + _operands(ends or left),
        ".".join(map(attribute, (token, *rest))) + (_filled(ends[0]) if len(ends) == 1 else ""),
        first,
    )


def _forced(surface: Surface, chain: tuple[str, ...]) -> tuple[tuple[str, ...], list[Filled]]:
    """Return the modifiers that must follow, where there is one choice, and the forms they end in.

    No form is ended where there is still something to choose.
    """
    rest: list[str] = []
    while True:
        left = candidates(surface, (*chain, *rest))
        ended = [one for one in left if not one.required]
        if ended or not left:
            return tuple(rest), ended
        choices = {slot.choices for one in left for slot in one.required[:1]}
        only = next(iter(choices))
        if len(choices) > 1 or len(only) > 1 or not has_attribute_form(only[0]):
            return tuple(rest), []
        rest.append(only[0])


def _operands(forms: Sequence[Filled]) -> str:
    names = dict.fromkeys(", ".join(one.name for one in form.form.operands) for form in forms)
    return " or ".join(f"({each})" for each in list(names)[:3])


def _filled(form: Filled) -> str:
    places = [f"${{{n}:{one.name}}}" for n, one in enumerate(form.form.operands, 1)]
    return f"({', '.join(places)})"


def _call(name: str, signature: Signature) -> str:
    """Write a call with a place for each argument that must be given."""
    wanted = [one for one in signature.parameters if one.default is None]
    places = [
        f"{one.name}=${{{n}:{one.name}}}" if one.is_keyword_only else f"${{{n}:{one.name}}}"
        for n, one in enumerate(wanted, 1)
    ]
    more = signature.takes_more_positional or len(wanted) < len(signature.parameters)
    end = "$0" if more and not places else ""
    return f"{name}({', '.join(places)}{end})"
