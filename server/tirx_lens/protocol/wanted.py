"""How runs are given up: an editor wants them no longer once its author types on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    RunWhile: TypeAlias = Callable[[], bool]


class NoLongerWantedError(Exception):
    """The run was given up: whoever asked for it wants it no longer."""


def always() -> bool:
    """Say that a run is wanted to its end."""
    return True


def check(run_while: RunWhile) -> None:
    """Raise `NoLongerWantedError` where a run is wanted no longer."""
    if not run_while():
        raise NoLongerWantedError("the run is wanted no longer")
