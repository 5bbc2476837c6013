"""The table of one target, from TOML or JSON, to a `Target`: every value is checked here."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tirx_lens.compile.ssh_options import refused_argument
from tirx_lens.compile.targets import LOCAL_NAME, LauncherKind, Origin, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_CONCURRENT = 64
LONGEST_LIMIT = 86_400.0
LONGEST_SHOWN = 60

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# A user and a host name, an address, or a name that the user's ssh configuration knows. No shell
# and no ssh option can come out of it: it does not begin with a dash.
_HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?[A-Za-z0-9_:][A-Za-z0-9_.:%-]*")
_ARCH = re.compile(r"sm_[0-9]{2,3}[af]?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class TargetProblem:
    """A sentence about what cannot be taken, and the key below the table that it is about.

    `of_key` tells that it is about the key itself and not its value.
    """

    key: tuple[str | int, ...]
    message: str
    of_key: bool = False


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """A target, where the table makes one, and what was wrong with the table."""

    target: Target | None
    problems: tuple[TargetProblem, ...] = ()


def read_target(name: str, table: object, origin: Origin) -> ReadTarget:
    """Read the table of one target. One with any problem makes no target: nothing is guessed."""
    reader = _Reader()
    if not _NAME.fullmatch(name) or name == LOCAL_NAME:
        taken = "is the interpreter chosen on this machine" if name == LOCAL_NAME else "is no name"
        said = f"{name!r} {taken}: use letters, digits, `-`, `_` and `.` for the name of a target."
        reader.problems.append(TargetProblem((), said))
    values: dict[str, Any] = {}
    if not isinstance(table, dict):
        reader.problems.append(TargetProblem((), f"A target must be a table, not {_shown(table)}."))
    else:
        values = reader.read(table)
        reader.check_launcher(values)
        reader.check_path(values)
        reader.check_ssh_args(values, origin)
    if reader.problems:
        return ReadTarget(None, tuple(reader.problems))
    return ReadTarget(Target(name, origin=origin, **values))


@dataclass
class _Reader:
    problems: list[TargetProblem] = field(default_factory=list)

    def read(self, table: Mapping[str, object]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in table.items():
            if key not in _KEYS:
                near = get_close_matches(str(key).replace("-", "_").lower(), _KEYS, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(_KEYS)}."
                said = f"A target has no key `{key}`: {hint}"
                self.problems.append(TargetProblem((key,), said, of_key=True))
                continue
            try:
                values[key] = _KEYS[key](value)
            except ValueError as error:
                said = f"`{key}` must be {error}, not {_shown(value)}."
                self.problems.append(TargetProblem((key,), said))
        return values

    def check_launcher(self, values: Mapping[str, Any]) -> None:
        """Refuse keys that the launcher does not need, and a launcher without those it does."""
        kind = values.get("launcher", LauncherKind.LOCAL)
        needed = {LauncherKind.SSH: "host", LauncherKind.COMMAND: "argv"}.get(kind)
        bad = {problem.key[0] for problem in self.problems if problem.key}
        if needed and needed not in values and needed not in bad:
            said = f'The launcher "{kind.value}" needs `{needed}`.'
            self.problems.append(TargetProblem(("launcher",), said))
        owners = {
            "host": LauncherKind.SSH,
            "ssh_args": LauncherKind.SSH,
            "argv": LauncherKind.COMMAND,
        }
        for key, owner in owners.items():
            if key in values and kind is not owner and "launcher" not in bad:
                said = f'`{key}` is for the launcher "{owner.value}", and this one is '
                self.problems.append(TargetProblem((key,), f'{said}"{kind.value}".'))

    def check_path(self, values: Mapping[str, Any]) -> None:
        """Refuse a path on this machine that means another file wherever the server was started."""
        kind = values.get("launcher", LauncherKind.LOCAL)
        key = {LauncherKind.LOCAL: "python", LauncherKind.COMMAND: "argv"}.get(kind, "")
        program = next(iter(values.get(key, ())), "")
        if "/" in program and not program.startswith(("/", "~/")):
            said = f"`{key}` must begin with a name on PATH, `/` or `~/`, not {_shown(program)}."
            self.problems.append(TargetProblem((key,), said))

    def check_ssh_args(self, values: Mapping[str, Any], origin: Origin) -> None:
        """Refuse arguments of ssh that would skip a check or give no session."""
        refused = refused_argument(values.get("ssh_args", ()), origin)
        if refused is not None:
            self.problems.append(TargetProblem(("ssh_args", refused.index), refused.message))


def _shown(value: object) -> str:
    """Spell a value as TOML and JSON do, shortly."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _launcher(value: object) -> LauncherKind:
    try:
        return LauncherKind(value)
    except ValueError as error:
        raise ValueError('"local", "ssh" or "command"') from error


def _host(value: object) -> str:
    if isinstance(value, str) and len(value) <= 255 and _HOST.fullmatch(value):
        return value
    raise ValueError('a host as ssh takes it, such as "gpu1" or "me@gpu1.example.org"')


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(_is_word(word) for word in value):
        return tuple(value)
    raise ValueError("a list of words")


def _argv(value: object) -> tuple[str, ...]:
    words = _words(value)
    if not words:
        raise ValueError("a list of words, the program first")
    return words


def _python(value: object) -> tuple[str, ...]:
    words = _words(value if isinstance(value, list) else [value])
    if words and not words[0].startswith("-"):
        return words
    raise ValueError("the path of a Python or a list of words")


def _is_word(word: object) -> bool:
    return isinstance(word, str) and bool(word) and not set(word) & set("\0\r\n")


def _arch(value: object) -> str:
    if isinstance(value, str) and _ARCH.fullmatch(value):
        return value
    raise ValueError('an architecture such as "sm_100a"')


def _env(value: object) -> tuple[tuple[str, str], ...]:
    if isinstance(value, dict) and all(
        isinstance(name, str)
        and _VARIABLE.fullmatch(name)
        and isinstance(text, str)
        # A zero byte ends a variable's text.
        and "\0" not in text
        for name, text in value.items()
    ):
        return tuple(value.items())
    raise ValueError('a table of strings, such as { CUDA_VISIBLE_DEVICES = "0" }')


def _seconds(value: object) -> float:
    if isinstance(value, (int, float)) and value is not True and 0 < value <= LONGEST_LIMIT:
        return float(value)
    raise ValueError(f"a number of seconds above 0 and at most {LONGEST_LIMIT:g}")


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CONCURRENT:
        return value
    raise ValueError(f"a whole number from 1 to {MOST_CONCURRENT}")


_KEYS: dict[str, Callable[[object], object]] = {
    "launcher": _launcher,
    "host": _host,
    "ssh_args": _words,
    "argv": _argv,
    "python": _python,
    "arch": _arch,
    "env": _env,
    "time_limit": _seconds,
    "concurrency": _count,
}
