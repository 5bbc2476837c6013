"""Kernels that are registered by a convention of their file, as those of `tirx-kernels` are.

Such a module has `KERNEL_META`, a dictionary; `CONFIGS`, dictionaries with a `label` and
parameters; and `get_kernel`, which takes the parameters of any of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

BUILDER = "get_kernel"
LABEL = "label"
_UNLABELLED = "default"
_LABELS_SHOWN = 12


class UnknownConfigError(Exception):
    """There is no configuration of that label; the text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Config:
    """The parameters to call `get_kernel` with; they may be of any type."""

    label: str
    parameters: Mapping[str, Any]


def config_of(module: ModuleType, builder: str, label: str | None) -> Config | None:
    """Return the configuration of that label, or the first; None where the module registers none.

    Raises UnknownConfigError.
    """
    configs = getattr(module, "CONFIGS", None)
    registered = (
        builder == BUILDER
        and isinstance(getattr(module, "KERNEL_META", None), Mapping)
        and isinstance(configs, Sequence)
        and all(isinstance(config, Mapping) for config in configs)
    )
    if not registered or not configs:
        if label is not None:
            raise UnknownConfigError(
                f"{builder} has no configurations: its module needs KERNEL_META and CONFIGS"
            )
        return None
    for config in configs:
        own = str(config.get(LABEL, _UNLABELLED))
        if label is None or own == label:
            return Config(own, {key: value for key, value in config.items() if key != LABEL})
    labels = [str(config.get(LABEL, _UNLABELLED)) for config in configs]
    more = len(labels) - _LABELS_SHOWN
    shown = ", ".join(labels[:_LABELS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    raise UnknownConfigError(f"{builder} has no configuration {label!r}; it has {shown}")
