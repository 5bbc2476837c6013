"""The text of a pyproject.toml -> its `[tool.tirx-lens]`, with a problem for each bad value.

Targets alone name programs and hosts. Here they are read and checked, and no more: a project's are
used once the user has confirmed them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

from tirx_lens.configuration.patterns import PathPattern
from tirx_lens.configuration.places import TomlPlaces
from tirx_lens.configuration.table import (
    ArgumentsFor,
    Configuration,
    ConfigurationProblem,
    PerFileIgnores,
)
from tirx_lens.configuration.toml import tomllib
from tirx_lens.model.given import Argument, BuilderArguments, TvmVersion
from tirx_lens.model.source import Position, SourceText
from tirx_lens.model.span import Span
from tirx_lens.rules.codes import codes_under, unknown_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tirx_lens.configuration.places import Key

TABLE: Key = ("tool", "tirx-lens")
NAME = "[tool.tirx-lens]"
MARK = "tirx-lens"
"""A word without which a text has no configuration of ours."""

_AT = re.compile(r"(.*?)\s*\(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
_CODES = 'a list of codes or their beginnings, such as ["TX102", "TX4"]'


@dataclass(frozen=True, slots=True)
class Read:
    """What a text holds; `configuration` is None where it has no table of ours."""

    configuration: Configuration | None
    problems: tuple[ConfigurationProblem, ...] = ()


def read_configuration(source: SourceText) -> Read:
    """Read the table. Never raises: what is wrong is left out and among the problems."""
    if MARK not in source.text:
        return Read(None)
    try:
        document = tomllib.loads(source.data.decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        return Read(Configuration(), (_syntax_problem(source, str(error)),))
    except RecursionError:
        return Read(
            Configuration(), (ConfigurationProblem("It is nested too deeply.", Span(0, 0)),)
        )
    tool = document.get("tool")
    table = tool.get("tirx-lens") if isinstance(tool, dict) else None
    if table is None:
        return Read(None)
    reader = _Reader(TomlPlaces(source.data))
    return Read(reader.read(table), tuple(reader.problems))


def _syntax_problem(source: SourceText, said: str) -> ConfigurationProblem:
    matched = _AT.fullmatch(said)
    if matched is None:
        return ConfigurationProblem(f"It is no TOML: {said}.", Span(0, 0))
    reason, line, column = matched.groups()
    at = (
        source.offset(Position(int(line) - 1, int(column) - 1))
        if line
        else len(source.data.rstrip())
    )
    return ConfigurationProblem(f"It is no TOML: {reason[:1].lower()}{reason[1:]}.", Span(at, at))


@dataclass
class _Reader:
    places: TomlPlaces
    problems: list[ConfigurationProblem] = field(default_factory=list)

    def read(self, table: object) -> Configuration:
        configuration = Configuration()
        if not isinstance(table, dict):
            self._refuse(TABLE, f"{NAME} must be a table, not {_shown(table)}.")
            return configuration
        for key, value in table.items():
            path = (*TABLE, key)
            read = _KEYS.get(key)
            if read is None:
                self._refuse_key(path, f"{NAME} has no key", key, tuple(_KEYS))
            else:
                configuration = read(self, path, value, configuration)
        return configuration

    # One for each key: the configuration with what it says, or as it was where that is no good.

    def select(self, path: Key, value: object, c: Configuration) -> Configuration:
        codes = self._codes(path, value)
        # A list of which nothing is left must not silence every rule.
        return replace(c, select=codes if codes or value == [] else None)

    def ignore(self, path: Key, value: object, c: Configuration) -> Configuration:
        return replace(c, ignore=self._codes(path, value))

    def per_file_ignores(self, path: Key, value: object, c: Configuration) -> Configuration:
        if not isinstance(value, dict):
            said = f'must be a table of patterns and codes, such as "tests/**" = {_EXAMPLE}'
            self._refuse_value(path, said, value)
            return c
        read = (
            PerFileIgnores(PathPattern(pattern), self._codes((*path, pattern), codes))
            for pattern, codes in value.items()
        )
        return replace(c, per_file_ignores=tuple(one for one in read if one.codes))

    def exclude(self, path: Key, value: object, c: Configuration) -> Configuration:
        if not isinstance(value, list):
            self._refuse_value(path, 'must be a list of patterns, such as ["old/**"]', value)
            return c
        patterns = []
        for index, pattern in enumerate(value):
            if isinstance(pattern, str) and pattern:
                patterns.append(PathPattern(pattern))
            else:
                self._refuse_value((*path, index), "must hold patterns only", pattern)
        return replace(c, exclude=tuple(patterns))

    def tvm_version(self, path: Key, value: object, c: Configuration) -> Configuration:
        known = [version.value for version in TvmVersion]
        if value in known and isinstance(value, str):
            return replace(c, tvm_version=TvmVersion(value))
        self._refuse_value(path, f"must be one of {_listed(known)}", value)
        return c

    def unused_suppressions(self, path: Key, value: object, c: Configuration) -> Configuration:
        if isinstance(value, bool):
            return replace(c, unused_suppressions=value)
        self._refuse_value(path, "must be true or false", value)
        return c

    def arguments(self, path: Key, value: object, c: Configuration) -> Configuration:
        if not isinstance(value, dict):
            said = "must be a table with a table for each builder, such as gemm = { M = 1024 }"
            self._refuse_value(path, said, value)
            return c
        read = []
        for builder, values in value.items():
            place = (*path, builder)
            pattern, colons, name = builder.rpartition("::")
            if not name.isidentifier() or bool(colons) != bool(pattern):
                self._refuse(
                    place,
                    f"{_named(place)} names no builder: write the function's name, or "
                    f'"PATTERN::NAME" for one in certain files.',
                )
                continue
            sets = tuple(
                BuilderArguments(name, tuple(self._arguments(where, taken)))
                for where, taken in self._argument_sets(place, values)
            )
            if sets:
                files = PathPattern(pattern) if colons else None
                read.append(ArgumentsFor(files, sets[0], sets[1:]))
        return replace(c, arguments=tuple(read))

    def targets(self, path: Key, value: object, c: Configuration) -> Configuration:
        if not isinstance(value, dict):
            said = "must be a table with a table for each target, such as"
            self._refuse_value(path, f"{said} {_TARGET}", value)
            return c
        # Few projects have any: the others do not pay for what reads them.
        from tirx_lens.compile.target_table import read_target
        from tirx_lens.compile.targets import Origin

        targets = []
        for name, table in value.items():
            read = read_target(name, table, Origin.PROJECT)
            for problem in read.problems:
                place = (*path, name, *problem.key)
                message = f"In {_named((*path, name))}: {problem.message}"
                if problem.of_key and (span := self.places.key(place)) is not None:
                    self.problems.append(ConfigurationProblem(message, span))
                else:
                    self._refuse(place, message)
            if read.target is not None:
                targets.append(read.target)
        return replace(c, targets=tuple(targets))

    def _argument_sets(self, path: Key, value: object) -> Iterator[tuple[Key, dict[str, object]]]:
        """Yield the table of a builder, or each of its tables where it has a list of them."""
        listed = value if isinstance(value, list) and value else [value]
        for index, values in enumerate(listed):
            place = path if listed is not value else (*path, index)
            if isinstance(values, dict):
                yield place, values
            else:
                said = "must be a table of arguments, such as { M = 1 }, or a list of such tables"
                self._refuse_value(place, said, values)

    def _arguments(self, path: Key, values: dict[str, object]) -> Iterator[tuple[str, Argument]]:
        for name, value in values.items():
            place = (*path, name)
            if not name.isidentifier():
                self._refuse(place, f"{_named(place)} is not the name of a parameter.")
            elif isinstance(value, (str, bool, int)) or (
                isinstance(value, float) and math.isfinite(value)
            ):
                yield name, value
            else:
                said = "must be a number, a string, true or false"
                self._refuse_value(place, said, value)

    def _codes(self, path: Key, value: object) -> tuple[str, ...]:
        if not isinstance(value, list):
            self._refuse_value(path, f"must be {_CODES}", value)
            return ()
        codes = []
        for index, code in enumerate(value):
            place = (*path, index)
            if not isinstance(code, str):
                self._refuse_value(place, f"must be {_CODES}", code)
            elif not codes_under(code):
                said = unknown_code(code)
                stop = "" if said.endswith("?") else "."
                self._refuse(place, f"In {_named(path)}: {said}{stop}")
            else:
                codes.append(code)
        return tuple(codes)

    def _refuse(self, path: Key, message: str) -> None:
        span = self.places.value(path)
        while span is None and path:
            path = path[:-1]
            span = self.places.value(path)
        self.problems.append(ConfigurationProblem(message, span or Span(0, 0)))

    def _refuse_key(self, path: Key, said: str, key: str, known: tuple[str, ...]) -> None:
        near = get_close_matches(key.replace("_", "-").lower(), known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(known)}."
        span = self.places.key(path) or self.places.value(TABLE) or Span(0, 0)
        self.problems.append(ConfigurationProblem(f"{said} `{key}`: {hint}", span))

    def _refuse_value(self, path: Key, said: str, value: object) -> None:
        named = _named(tuple(part for part in path if isinstance(part, str)))
        self._refuse(path, f"{named} {said}, not {_shown(value)}.")


_EXAMPLE = '["TX102"]'
_TARGET = 'gpu1 = { launcher = "ssh", host = "gpu1" }'
_KEYS: dict[str, Callable[[_Reader, Key, object, Configuration], Configuration]] = {
    "select": _Reader.select,
    "ignore": _Reader.ignore,
    "per-file-ignores": _Reader.per_file_ignores,
    "exclude": _Reader.exclude,
    "tvm-version": _Reader.tvm_version,
    "report-unused-suppressions": _Reader.unused_suppressions,
    "arguments": _Reader.arguments,
    "targets": _Reader.targets,
}


def _named(path: Key) -> str:
    """Spell a key as it is written below the table's header."""
    parts = [str(part) for part in path[len(TABLE) :]]
    bare = re.compile(r"[A-Za-z0-9_-]+")
    return "`" + ".".join(p if bare.fullmatch(p) else f'"{p}"' for p in parts) + "`"


def _listed(words: list[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    return ", ".join(quoted[:-1]) + " or " + quoted[-1]


def _shown(value: object) -> str:
    """Spell a value of TOML, shortly."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'the string "{value[:40]}{"..." if len(value) > 40 else ""}"'
        case int() | float():
            return f"the number {str(value)[:40]}"
        case list():
            return "a list"
        case dict():
            return "a table"
    return "a date or time"
