"""Whether a release has what a call names, and takes what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tirx_lens.api.forms import candidates, next_tokens, token_of
from tirx_lens.model.installed import TVM, TVM_TIRX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tirx_lens.api.signatures import Signature
    from tirx_lens.api.surface import Surface
    from tirx_lens.model.kernel import WrittenCall

TIRX = "tvm.script.tirx."
LANG = "tvm.backend.cuda.lang."
_PTX_OWN = frozenset({"addr", "pred", "SINK"})
"""What a table-driven `T.ptx` has besides instructions."""

_PTX_KEYWORDS = ("pred", "preserve_dst")


class Trouble(Enum):
    """What a release has against a call."""

    NAME = "unknown name"
    MODIFIER = "unknown modifier"
    MISSING_MODIFIER = "missing modifier"
    STRING_FORM = "no form with a string"
    KEYWORD = "unknown keyword"
    TOO_MANY = "too many arguments"
    TOO_FEW = "too few arguments"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is wrong with a call.

    `name` is the part of it that is meant: the last name that is not known, a modifier, a keyword.
    `owner` is what came before, as a user writes it. `known` are the names that could stand there,
    or for a count the ones that are taken, in words. `index` counts the names after `T.`.
    """

    trouble: Trouble
    name: str
    owner: str
    known: tuple[str, ...] = ()
    index: int = 0

    @property
    def is_about_names(self) -> bool:
        """Tell whether the release lacks the thing, and does not only take other arguments."""
        return self.trouble in (Trouble.NAME, Trouble.MODIFIER, Trouble.STRING_FORM)


class _Written(NamedTuple):
    """What a release is asked about a call, wherever it stands."""

    name: str
    positional: int
    keywords: tuple[str, ...]
    complete: bool


def judge(surface: Surface, call: WrittenCall) -> Judgement | None:
    """Return what a release has against a call; None where it has nothing, or cannot tell."""
    name = call.name
    if name.startswith(TVM_TIRX):
        name = as_of_tvm(name)
    return _judge(surface, name, call.positional, call.keywords, call.complete)


@lru_cache(maxsize=4096)  # a kernel calls the same things again and again, in every version
def _judge(
    surface: Surface, name: str, positional: int, keywords: tuple[str, ...], complete: bool
) -> Judgement | None:
    call = _Written(name, positional, keywords, complete)
    if call.name.startswith(LANG):
        return _lang(surface, call)
    if not call.name.startswith(TIRX):
        return None
    string = call.name.find(".[")
    rest = call.name[len(TIRX) :] if string < 0 else call.name[len(TIRX) : string]
    names = rest.split(".")
    if names[0] == "ptx" and len(names) + (string >= 0) > 1:
        return _ptx(surface, call, names, None if string < 0 else call.name[string + 2 : -1])
    if string >= 0:
        return None
    if names[0] == "tile" or (names[0] in surface.scopes and len(names) > 1):
        return _tile(surface, call, names)
    if names[0] in ("cuda", "nvshmem"):
        return _function(surface, call, names, "T")
    first = f"T.{names[0]}"
    if first not in surface.functions:
        return Judgement(Trouble.NAME, names[0], "T", surface.below("T"))
    return _arguments(surface.functions[first] if len(names) == 1 else None, call, first)


def as_of_tvm(path: str) -> str:
    """Spell a path of `tvm_tirx` as if it were one of `tvm`."""
    if not path.startswith(TVM_TIRX):
        return path
    package, dot, rest = path.partition(".")
    return f"{TVM}{dot}{rest}" if package == TVM_TIRX else path


def _tile(surface: Surface, call: _Written, names: Sequence[str]) -> Judgement | None:
    words = names[1:] if names[0] == "tile" else names
    if len(words) == 2 and words[0] in surface.scopes:
        owner, word = f"Tx.{words[0]}", words[1]
    elif len(words) == 1:
        owner, word = "Tx", words[0]
    else:
        return None
    if f"Tx.{word}" not in surface.functions:
        known = surface.below("Tx")
        return Judgement(Trouble.NAME, word, owner, known, index=len(names) - 1)
    return _arguments(surface.functions[f"Tx.{word}"], call, f"{owner}.{word}")


def _function(
    surface: Surface, call: _Written, names: Sequence[str], root: str
) -> Judgement | None:
    """Judge a name in a tree of functions: `T.cuda.cta_sync`, `T.ptx.tcgen05.wait.ld` of 0.26."""
    path = root
    for index, name in enumerate(names):
        longer = f"{path}.{name}"
        if longer not in surface.functions:
            return Judgement(Trouble.NAME, name, path, surface.below(path), index)
        path = longer
    return _arguments(surface.functions[path], call, path)


def _ptx(
    surface: Surface, call: _Written, names: Sequence[str], chain: str | None
) -> Judgement | None:
    if surface.families is None:
        if chain is not None:
            return Judgement(Trouble.STRING_FORM, chain, "T.ptx", index=1)
        return _function(surface, call, names, "T")
    tokens = [token_of(name) for name in names[1:]]
    tokens += chain.split(".") if chain else []
    if not tokens or tokens[0] in _PTX_OWN:
        return None
    if tokens[0] not in surface.families:
        return Judgement(Trouble.NAME, tokens[0], "T.ptx", tuple(surface.families), index=1)
    return _form(surface, tuple(tokens), call)


def _form(surface: Surface, tokens: tuple[str, ...], call: _Written) -> Judgement | None:
    owner = ".".join(tokens)
    left = candidates(surface, tokens)
    if not left:
        index = next(i for i in range(2, len(tokens) + 1) if not candidates(surface, tokens[:i]))
        known = next_tokens(candidates(surface, tokens[: index - 1]))
        before, token = ".".join(tokens[: index - 1]), tokens[index - 1]
        return Judgement(Trouble.MODIFIER, token, before, known, index)
    complete = [candidate for candidate in left if not candidate.required]
    if not complete:
        fewest = min(len(candidate.required) for candidate in left)
        near = [one for one in left if len(one.required) == fewest]
        wanted = dict.fromkeys(token for one in near for token in one.required[0].choices)
        return Judgement(Trouble.MISSING_MODIFIER, "", owner, tuple(wanted), len(tokens))
    for keyword in call.keywords:
        if keyword not in _PTX_KEYWORDS:
            return Judgement(Trouble.KEYWORD, keyword, owner, _PTX_KEYWORDS)
    counts = {candidate.form.operand_count for candidate in complete}
    if not call.complete or None in counts or call.positional in counts:
        return None
    taken = [count for count in counts if count is not None]
    trouble = Trouble.TOO_FEW if call.positional < min(taken) else Trouble.TOO_MANY
    operands = {
        ", ".join(operand.name for operand in candidate.form.operands) for candidate in complete
    }
    return Judgement(trouble, "", owner, tuple(sorted(operands, key=lambda one: (len(one), one))))


def _lang(surface: Surface, call: _Written) -> Judgement | None:
    words = call.name.split(".")
    if words[-1] in surface.classes:
        return _arguments(surface.classes[words[-1]].init, call, words[-1])
    if words[-2] not in surface.classes:
        return None
    methods = surface.classes[words[-2]].methods
    if words[-1] not in methods:
        return Judgement(Trouble.NAME, words[-1], words[-2], tuple(methods))
    return _arguments(methods[words[-1]], call, f"{words[-2]}.{words[-1]}")


def _arguments(signature: Signature | None, call: _Written, owner: str) -> Judgement | None:
    if signature is None:
        return None
    most = signature.most_positional
    if most is not None and call.positional > most:
        return Judgement(Trouble.TOO_MANY, "", owner, (signature.text,))
    if not signature.takes_more_keywords:
        for keyword in call.keywords:
            if keyword not in signature.names:
                return Judgement(Trouble.KEYWORD, keyword, owner, signature.names)
    if call.complete and (missing := signature.missing(call.positional, call.keywords)):
        return Judgement(Trouble.TOO_FEW, ", ".join(missing), owner, (signature.text,))
    return None
