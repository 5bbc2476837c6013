"""Values that are made by the thousand: frozen for the type checker, cheap to make when it runs.

A frozen dataclass sets each field of a new object through `object.__setattr__`, which was an eighth
of an analysis. A `record` is the same to mypy, which refuses to store to a field; at run time it is
a dataclass with slots and a hash, and nothing is in the way of its own `__init__`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[T], T]:
        """Say nothing to Python before 3.11, which has no such decorator."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, eq: bool = True, order: bool = False) -> Callable[[type[T]], type[T]]:
    """Make a class a record; without `eq` two are equal only if they are one."""
    return dataclass(slots=True, eq=eq, order=order, unsafe_hash=eq)
