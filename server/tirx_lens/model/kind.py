"""Enumerations whose members are looked up often."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """An enumeration whose members are found in sets and dictionaries by being themselves.

    `Enum` hashes the name of a member, by a function of Python's, each time.
    """

    __hash__ = object.__hash__
