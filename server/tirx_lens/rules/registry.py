"""All rules, by code: one a module `txNNN_name.py` of this package, found by their names."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import TYPE_CHECKING, TypeVar

import tirx_lens.rules
import tirx_lens.rules.built
from tirx_lens.rules.rule import Page, Rule

if TYPE_CHECKING:
    from types import ModuleType

_MODULE = re.compile(r"tx\d{3}_\w+")

P = TypeVar("P", bound=Page)


def _found_in(package: ModuleType, kind: type[P]) -> tuple[type[P], ...]:
    found: list[type[P]] = []
    for module in pkgutil.iter_modules(package.__path__):
        if _MODULE.fullmatch(module.name):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            found += [
                value
                for value in vars(loaded).values()
                if isinstance(value, type)
                and issubclass(value, kind)
                and value.__module__ == loaded.__name__
            ]
    return tuple(sorted(found, key=lambda rule: rule.code))


RULES: tuple[type[Rule], ...] = _found_in(tirx_lens.rules, Rule)  # type: ignore[type-abstract]
"""The rules that are asked of kernels as they stand in the text."""

BUILT_RULES = _found_in(tirx_lens.rules.built, Page)
"""What builds report: a kernel is built only when its author asks for that."""

ALL: tuple[type[Page], ...] = tuple(sorted((*RULES, *BUILT_RULES), key=lambda rule: rule.code))


def rule_by_code(code: str) -> type[Page] | None:
    """Return a rule by its code or its name, in any case."""
    wanted = code.lower()
    return next((rule for rule in ALL if wanted in (rule.code.lower(), rule.name)), None)
