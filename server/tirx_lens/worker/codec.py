"""Frozen dataclasses to JSON values and back, driven by their annotations."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Decoder = Callable[[Any], Any]

T = TypeVar("T")

_PLAIN = frozenset({bool, int, float, str})


def encode(value: object) -> Any:
    """Turn a wire dataclass, and all it holds, into JSON values."""
    if value is None or type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    kind: Any = type(value)
    names = _names(kind)
    if names is not None:
        return {name: encode(getattr(value, name)) for name in names}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return value


def decode(kind: type[T], data: object) -> T:
    """Build a `kind` from the JSON value that `encode` gave. Raises ValueError where it is not one.

    Unknown keys are ignored and missing keys take the field's default, so that the two ends may
    differ by a field.
    """
    read: Decoder = _decoder(typing.cast("Any", kind))
    result: T = read(data)
    return result


@cache
def _names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None for what is no dataclass."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


@cache
def _decoder(kind: Any) -> Decoder:
    """Return what reads a value of a kind. Made once: a source map has some ten thousand frames."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(typing.get_args(kind))
    if origin is tuple:
        item, *others = typing.get_args(kind)
        length = None if others == [...] else 1 + len(others)
        return _array_decoder(_decoder(item), length)
    if origin is Mapping:
        return _object_decoder(_decoder(typing.get_args(kind)[1]))
    if dataclasses.is_dataclass(kind):
        return _dataclass_decoder(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return _scalar_decoder(kind)


def _union_decoder(kinds: tuple[Any, ...]) -> Decoder:
    # Types are compared as they are: True is no int here, and 1 no float.
    scalars = {scalar for scalar in (bool, int, float, str) if scalar in kinds}
    others = [kind for kind in kinds if kind is not type(None)]
    other = _decoder(others[0]) if len(others) == 1 else None

    def decoded(data: Any) -> Any:
        if type(data) in scalars or (data is None and type(None) in kinds):
            return data
        if other is not None:
            return other(data)
        raise ValueError(f"unexpected value {data!r:.80}")

    return decoded


def _array_decoder(item: Decoder, length: int | None) -> Decoder:
    """Return what reads an array whose items are of one kind, of one length where that is given."""

    def decoded(data: Any) -> Any:
        if not isinstance(data, list) or len(data) != (length or len(data)):
            raise ValueError(f"expected an array, got {data!r:.80}")
        return tuple([item(one) for one in data])

    return decoded


def _object_decoder(item: Decoder) -> Decoder:
    def decoded(data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError(f"expected an object, got {data!r:.80}")
        return {str(key): item(value) for key, value in data.items()}

    return decoded


def _dataclass_decoder(kind: Any) -> Decoder:
    hints = typing.get_type_hints(kind)
    fields = [(field.name, _decoder(hints[field.name])) for field in dataclasses.fields(kind)]
    required = [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]

    def decoded(data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError(f"expected a {kind} object, got {data!r:.80}")
        for name in required:
            if name not in data:
                raise ValueError(f"{kind} has no {name!r}")
        return kind(**{name: read(data[name]) for name, read in fields if name in data})

    return decoded


def _scalar_decoder(kind: Any) -> Decoder:
    def decoded(data: Any) -> Any:
        if type(data) is kind:
            return data
        if kind is float and type(data) is int:
            return float(data)
        raise ValueError(f"expected {kind.__name__}, got {data!r:.80}")

    return decoded
