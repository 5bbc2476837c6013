"""The settings a client sends, checked one by one."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.logs import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tirx_lens.compile.targets import Target
    from tirx_lens.configuration.options import Overrides

SECTION = "tirx-lens"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user chose. `interpreter` is an argv, `time_limit` is in seconds.

    `select` is None where the project's configuration is to say which rules report. `targets` are
    the user's own: a client takes them from no workspace.
    """

    interpreter: tuple[str, ...] = ()
    arch: str | None = None
    time_limit: float = 120.0
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    enable: bool = True
    log_level: str | None = None
    build_on_save: bool = False
    participant_hints: bool = False
    arrival_hints: bool = False
    code_lens: bool = True
    targets: tuple[Target, ...] = ()

    @property
    def hints(self) -> tuple[bool, bool]:
        """Return which inlay hints are shown: participants, arrivals."""
        return self.participant_hints, self.arrival_hints

    @property
    def overrides(self) -> Overrides:
        """Return what stands over the configurations of projects, as the command line's would."""
        from tirx_lens.configuration.options import Overrides  # when first needed: it loads rules

        return Overrides(self.select, self.ignore)

    def command(self, *, trusted: bool) -> tuple[str, ...]:
        """Return the argv of the interpreter that builds kernels.

        A workspace nobody trusts has no say in which program that is.
        """
        return (self.interpreter if trusted else ()) or (sys.executable,)


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """Settings, and a sentence for each value that was refused and so left as it was."""

    settings: Settings
    refused: tuple[str, ...] = ()


def read_settings(values: object, defaults: Settings | None = None) -> SettingsRead:
    """Read the object a client sends for the section `tirx-lens`. Unknown names are passed over."""
    settings = defaults or Settings()
    if values is None:
        return SettingsRead(settings)
    if not isinstance(values, dict):
        return SettingsRead(settings, (f"the settings must be an object, not {_shown(values)}",))
    refused = []
    accepted: dict[str, Any] = {}
    for name, (attribute, read) in _READERS.items():
        value = values.get(name)
        if value is None:
            continue
        try:
            accepted[attribute] = read(value)
        except ValueError as error:
            kept = next(f.default for f in fields(Settings) if f.name == attribute)
            kept = getattr(defaults, attribute) if defaults else kept
            refused.append(
                f"setting {SECTION}.{name} must be {error}, not {_shown(value)}; using "
                f"{'the default' if kept is None else repr(kept)}"
            )
    if values.get("targets"):
        accepted["targets"], problems = _targets(values["targets"])
        refused += problems
    return SettingsRead(replace(settings, **accepted), tuple(refused))


def _targets(tables: object) -> tuple[tuple[Target, ...], list[str]]:
    """Read the table of each target; one with a problem is left out."""
    from tirx_lens.compile.target_table import read_target  # when there are any
    from tirx_lens.compile.targets import Origin

    setting = f"{SECTION}.targets"
    if not isinstance(tables, dict):
        said = f"setting {setting} must be an object with an object for each target, not "
        return (), [f"{said}{_shown(tables)}; using none"]
    targets, refused = [], []
    for name, table in tables.items():
        read = read_target(name, table, Origin.SETTINGS)
        if read.target is not None:
            targets.append(read.target)
        for problem in read.problems:
            refused.append(
                f"setting {setting}, target {_shown(name)} is left out: {problem.message}"
            )
    return tuple(targets), refused


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _argv(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, list) and all(isinstance(word, str) and word for word in value):
        return tuple(value)
    raise ValueError("the path of a Python or a list of words")


def _name(value: object) -> str | None:
    if isinstance(value, str):
        return value.strip() or None
    raise ValueError("a string such as sm_100a")


def _seconds(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 86_400:
        return float(value)
    raise ValueError("a number of seconds above 0 and at most 86400")


def _codes(value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if isinstance(words, list) and all(
        isinstance(word, str) and word.startswith("TX") for word in words
    ):
        return tuple(words)
    raise ValueError("a list of rule codes or prefixes such as TX102 or TX1")


def _selected(value: object) -> tuple[str, ...] | None:
    """Read `select`: an empty list is that of an editor that always sends its settings."""
    return _codes(value) or None


def _level(value: object) -> str:
    if isinstance(value, str) and value in LEVELS:
        return value
    raise ValueError("one of " + ", ".join(LEVELS))


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("true or false")


_READERS: dict[str, tuple[str, Callable[[object], Any]]] = {
    "interpreter": ("interpreter", _argv),
    "arch": ("arch", _name),
    "timeLimit": ("time_limit", _seconds),
    "buildOnSave": ("build_on_save", _switch),
    "inlayHintsParticipants": ("participant_hints", _switch),
    "inlayHintsArrivals": ("arrival_hints", _switch),
    "codeLens": ("code_lens", _switch),
    "select": ("select", _selected),
    "ignore": ("ignore", _codes),
    "enable": ("enable", _switch),
    "logLevel": ("log_level", _level),
}
