"""The settings a client sends, checked one by one."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.logs import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tirx_lens.compile.targets import Target
    from tirx_lens.configuration.options import Overrides

SECTION = "tirx-lens"

_ARCH = re.compile(r"sm_[0-9]{2,3}[af]?")
_CODE = re.compile(r"TX[0-9]{0,3}")
_LONGEST = 86_400
_MOST_TOLD = 4


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
    """Settings, and a sentence for each value or name that was passed over."""

    settings: Settings
    refused: tuple[str, ...] = ()


def read_settings(values: object, defaults: Settings | None = None) -> SettingsRead:
    """Read the object that a client sends for the section `tirx-lens`.

    Names are those of `docs/configuration.md` below the section: `build.arch` as one name, or as
    `arch` in an object `build`. A value that is null counts as left out.
    """
    settings = defaults or Settings()
    if values is None:
        return SettingsRead(settings)
    if not isinstance(values, dict):
        return SettingsRead(settings, (f"the settings must be an object, not {_shown(values)}",))
    refused = []
    accepted: dict[str, Any] = {}
    for name, value in _named(values):
        if name == "targets":
            if value:
                accepted["targets"], problems = _targets(value)
                refused += problems
            continue
        if name not in _READERS:
            if name not in _CLIENTS_OWN:
                refused.append(_unknown(name))
            continue
        if value is None:
            continue
        attribute, read = _READERS[name]
        try:
            accepted[attribute] = read(value)
        except ValueError as error:
            kept = getattr(settings, attribute)
            used = "the default" if kept is None else _written(kept)
            refused.append(
                f"setting {SECTION}.{name} must be {error}, not {_shown(value)}; using {used}"
            )
    for name in ("select", "ignore"):
        if accepted.get(name):
            accepted[name], problems = known_codes(name, accepted[name])
            refused += problems
    return SettingsRead(replace(settings, **accepted), tuple(refused))


def unknown_options(options: dict[str, object]) -> tuple[str, ...]:
    """Return a sentence for each initialization option that means nothing."""
    return tuple(
        f"initialization option {_shown(name)} is not known and passed over"
        + ("; settings stand in the object `settings`" if _is_setting(name) else "")
        for name in options
        if name not in _OPTIONS
    )


def told(problems: Sequence[str]) -> str:
    """Put what is wrong into one message for the user; all of it stands in the log."""
    more = len(problems) - _MOST_TOLD
    rest = f" {more} more are in the log." if more > 0 else ""
    return f"TIRx Lens: {'. '.join(problems[:_MOST_TOLD])}.{rest}"


def _is_setting(name: str) -> bool:
    return name == SECTION or any(known.split(".")[0] == name for known in _known())


def _named(values: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Return all values under their whole names; objects stand for groups of settings."""
    for key, value in values.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and any(one.startswith(f"{name}.") for one in _known()):
            yield from _named(value, f"{name}.")
        else:
            yield name, value


def _known() -> tuple[str, ...]:
    return (*_READERS, "targets", *_CLIENTS_OWN)


def _unknown(name: str) -> str:
    near = get_close_matches(name, _known(), n=1, cutoff=0.6) or [
        one for one in _known() if one.rpartition(".")[2] == name
    ]
    meant = f"; did you mean {SECTION}.{near[0]}?" if near else ""
    return f"setting {SECTION}.{name[:80]} is not known and passed over{meant}"


def known_codes(name: str, codes: tuple[str, ...]) -> tuple[tuple[str, ...] | None, list[str]]:
    """Leave out the codes of a setting that no rule has, and say so.

    Where `select` has none left it is None: it says nothing.
    """
    from tirx_lens.rules.codes import codes_under, unknown_code  # where there are any: loads rules

    wrong = [code for code in codes if not codes_under(code)]
    said = [f"setting {SECTION}.{name}: {unknown_code(code)}; it is passed over" for code in wrong]
    left = tuple(code for code in codes if code not in wrong)
    return (left or None) if name == "select" else left, said


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


def _written(value: object) -> str:
    """Write a value as it would stand in a file of settings."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _argv(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value.strip() else ()
    if isinstance(value, list) and all(isinstance(word, str) and word for word in value):
        return tuple(value)
    raise ValueError("the path of a Python or a list of words")


def _arch(value: object) -> str | None:
    if isinstance(value, str) and (not value.strip() or _ARCH.fullmatch(value.strip())):
        return value.strip() or None
    raise ValueError("an architecture such as sm_100a")


def _seconds(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 1 <= value <= _LONGEST:
        return float(value)
    raise ValueError(f"a number of seconds from 1 to {_LONGEST}")


def _codes(value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if isinstance(words, list) and all(
        isinstance(word, str) and _CODE.fullmatch(word) for word in words
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
    "enable": ("enable", _switch),
    "interpreter": ("interpreter", _argv),
    "select": ("select", _selected),
    "ignore": ("ignore", _codes),
    "build.arch": ("arch", _arch),
    "build.timeLimit": ("time_limit", _seconds),
    "build.onSave": ("build_on_save", _switch),
    "inlayHints.participants": ("participant_hints", _switch),
    "inlayHints.arrivals": ("arrival_hints", _switch),
    "codeLens": ("code_lens", _switch),
    "logLevel": ("log_level", _level),
}
_CLIENTS_OWN = ("importStrategy", "path", "args", "showNotifications", "trace.server")
"""Settings of the VS Code extension alone. An editor may send them with the rest."""

_OPTIONS = ("trusted", "settings", "choices", "targets", "commands")
"""What initialization options may be."""
