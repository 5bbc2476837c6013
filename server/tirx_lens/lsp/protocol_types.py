"""Loading the protocol's types in less time: each class is made when it is first used."""

from __future__ import annotations

import sys
import threading
import typing
from typing import Any

import attrs

_define: Any = attrs.define
_lock = threading.RLock()


def load_protocol_types() -> None:
    """Import lsprotocol with classes that attrs makes one by one, as they are used.

    lsprotocol has some 550 attrs classes. For each of them attrs writes methods as source and has
    Python compile it, and the converter looks up the types of all their fields: that was most of
    the time to the first diagnostics, and a session uses a hundred of them.
    """
    if sys.version_info >= (3, 14):
        return  # a class does not keep its annotations there, and no copy of it has been tried
    library: Any = attrs
    library.define = _define_later
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        library.define = _define
    from lsprotocol import _hooks

    # The fields of a class get their types when it is made.
    _hooks._resolved_forward_references = True


def _define_later(cls: type | None = None, **options: Any) -> Any:
    """Stand for `attrs.define`: as a bare decorator of a class without bases it waits."""
    if cls is None or options or type(cls) is not type or cls.__bases__ != (object,):
        return _define(cls, **options)
    own = {name: value for name, value in vars(cls).items() if name not in _OF_ONE_CLASS}
    return _Unmade(cls.__name__, (), own)


_OF_ONE_CLASS = ("__dict__", "__weakref__")
_OF_THE_MADE = ("__attrs_attrs__", "__match_args__")
"""What `attrs.has`, `attrs.fields` and `match` ask for."""


class _Made(type):
    """What an `_Unmade` class is one of once it is made: a class like any other."""


class _Unmade(type):
    """A class that attrs has still to make: when it is called, or attrs is asked about it."""

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        _make(cls)
        return cls(*arguments, **keywords)

    def __getattr__(cls, name: str) -> Any:
        if name not in _OF_THE_MADE:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        _make(cls)
        return getattr(cls, name)


def _make(cls: Any) -> None:
    from lsprotocol.types import ALL_TYPES_MAP

    with _lock:
        if type(cls) is not _Unmade:
            return  # another thread was faster
        cls.__annotations__ = typing.get_type_hints(cls, ALL_TYPES_MAP, {})
        made: Any = cls  # no longer the class that it was
        _define(made, slots=False)
        made.__attrs_types_resolved__ = made
        made.__class__ = _Made
