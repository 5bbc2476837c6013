"""All rules, by code: one a module `txNNN_name.py` of this package, found by their names."""

from __future__ import annotations

import importlib
import pkgutil
import re

import tirx_lens.rules
from tirx_lens.rules.rule import Rule

_MODULE = re.compile(r"tx\d{3}_\w+")


def _find_rules() -> tuple[type[Rule], ...]:
    found: list[type[Rule]] = []
    for module in pkgutil.iter_modules(tirx_lens.rules.__path__):
        if _MODULE.fullmatch(module.name):
            loaded = importlib.import_module(f"tirx_lens.rules.{module.name}")
            found += [
                value
                for value in vars(loaded).values()
                if isinstance(value, type)
                and issubclass(value, Rule)
                and value.__module__ == loaded.__name__
            ]
    return tuple(sorted(found, key=lambda rule: rule.code))


RULES = _find_rules()


def rule_by_code(code: str) -> type[Rule] | None:
    """Return a rule by its code or its name, in any case."""
    wanted = code.lower()
    return next((rule for rule in RULES if wanted in (rule.code.lower(), rule.name)), None)
