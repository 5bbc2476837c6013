"""Frozen dataclasses to JSON values and back, driven by their annotations."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

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
    result: T = _decode(kind, data)
    return result


@cache
def _names(kind: Any) -> tuple[str, ...] | None:
    """Return the names of a dataclass's fields; None for what is no dataclass."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(field.name for field in dataclasses.fields(kind))


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any, bool], ...]:
    hints = typing.get_type_hints(kind)
    return tuple(
        (
            field.name,
            hints[field.name],
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
    )


def _decode(kind: Any, data: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(kind), data)
    if origin is tuple:
        if not isinstance(data, list):
            raise ValueError(f"expected an array, got {data!r:.80}")
        item_kind = typing.get_args(kind)[0]
        return tuple(_decode(item_kind, item) for item in data)
    if origin is Mapping:
        if not isinstance(data, dict):
            raise ValueError(f"expected an object, got {data!r:.80}")
        value_kind = typing.get_args(kind)[1]
        return {str(key): _decode(value_kind, value) for key, value in data.items()}
    if dataclasses.is_dataclass(kind):
        if not isinstance(data, dict):
            raise ValueError(f"expected a {kind} object, got {data!r:.80}")
        values = {}
        for name, hint, required in _fields(typing.cast("Any", kind)):
            if name in data:
                values[name] = _decode(hint, data[name])
            elif required:
                raise ValueError(f"{kind} has no {name!r}")
        return typing.cast("Any", kind)(**values)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(data)
    return _decode_scalar(kind, data)


def _decode_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in kinds:
        return None
    # bool before int and int before float: True is an int, and 1 would become 1.0.
    for scalar in (bool, int, float, str):
        if scalar in kinds and type(data) is scalar:
            return data
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) == 1:
        return _decode(others[0], data)
    raise ValueError(f"unexpected value {data!r:.80}")


def _decode_scalar(kind: Any, data: Any) -> Any:
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:
        raise ValueError(f"expected {kind.__name__}, got {data!r:.80}")
    return data
