"""Codes as people write them: whole, or the beginning that several rules share."""

from __future__ import annotations

from difflib import get_close_matches

from tirx_lens.rules.registry import ALL, RULES

PREFIX = "TX"
"""What every code begins with, and so the code of all rules."""


def codes_under(prefix: str) -> tuple[str, ...]:
    """Return the codes that begin with a prefix, which itself begins as all codes do."""
    if not prefix.startswith(PREFIX):
        return ()
    return tuple(rule.code for rule in ALL if rule.code.startswith(prefix))


def asked_under(prefix: str) -> tuple[str, ...]:
    """Return those of the codes under a prefix that `check` itself can report."""
    asked = {rule.code for rule in RULES}
    return tuple(code for code in codes_under(prefix) if code in asked)


def nearest_code(word: str) -> str | None:
    """Return the code that a wrong one was probably meant to be; a rule's name gives its code."""
    by_name = {rule.name: rule.code for rule in ALL}
    if (name := word.lower()) in by_name:
        return by_name[name]
    groups = [PREFIX, *sorted({rule.code[:3] for rule in ALL})]
    known = [rule.code for rule in ALL] + groups
    upper = word.upper().replace("O", "0")
    if upper in known:
        return upper
    near = get_close_matches(upper, known, n=1, cutoff=0.6)
    if near:
        return near[0]
    named = get_close_matches(name, by_name, n=1, cutoff=0.75)
    return by_name[named[0]] if named else None


def unknown_code(word: str) -> str:
    """Say that no rule has a code, and which one is nearest, as a sentence without its stop."""
    near = nearest_code(word)
    said = f"no rule has a code that begins with {word}"
    return said if near is None else f"{said}: did you mean {near}?"
