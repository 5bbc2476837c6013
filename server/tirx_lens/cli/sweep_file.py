"""The file of a sweep: kernels x arguments x targets x architectures, read and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import product
from typing import TYPE_CHECKING

from tirx_lens.cli.configured import MisuseError
from tirx_lens.compile.targets import LOCAL_NAME
from tirx_lens.configuration.places import TomlPlaces
from tirx_lens.configuration.toml import tomllib
from tirx_lens.model.source import SourceText
from tirx_lens.report.paths import shown_path, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tirx_lens.compile.request import Scalar
    from tirx_lens.configuration.places import Key

MOST_ROWS = 100_000
"""Combinations of arguments that one sweep may have for each kernel: more are a slip of the pen."""


@dataclass(frozen=True, slots=True)
class SweepFile:
    """What a sweep builds. `kernels` are FILE[:BUILDER] or folders, from the file's own folder.

    `arguments` has what each builder is called with, besides its own; there is always one.
    An architecture None means that of each target.
    """

    kernels: tuple[str, ...]
    arguments: tuple[Mapping[str, Scalar], ...] = ({},)
    targets: tuple[str, ...] = (LOCAL_NAME,)
    archs: tuple[str | None, ...] = (None,)
    machine_code: bool = False
    time_limit: float | None = None


def read_sweep(path: Path) -> SweepFile:
    """Read a sweep. Raises `MisuseError` with a line for each thing that is wrong."""
    try:
        data = path.read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise MisuseError(f"tirx-lens: {shown_path(path)} cannot be read: {why}") from error
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        said = f"{shown_path(path)} is no TOML: {shown_text(str(error))}"
        raise MisuseError(f"tirx-lens: {said}") from error
    reader = _Reader()
    sweep = reader.read(table)
    if sweep is None or reader.problems:
        raise MisuseError("\n".join(_lines(path, data, reader.problems)))
    return sweep


@dataclass(frozen=True, slots=True)
class _Problem:
    key: Key
    message: str


def _lines(path: Path, data: bytes, problems: list[_Problem]) -> Iterator[str]:
    places, source = TomlPlaces(data), SourceText(data.decode("utf-8"))
    for problem in problems:
        key = problem.key
        span = places.value(key)
        while span is None and key:
            key = key[:-1]
            span = places.value(key)
        at = source.position(span.start if span is not None else 0)
        yield f"{shown_path(path)}:{at.line + 1}:{at.column + 1}: {shown_text(problem.message)}"


@dataclass
class _Reader:
    problems: list[_Problem] = field(default_factory=list)

    def read(self, table: Mapping[str, object]) -> SweepFile | None:
        for key in table:
            if key not in _KEYS:
                near = get_close_matches(key.replace("-", "_").lower(), _KEYS, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(_KEYS)}."
                self._refuse((key,), f"A sweep has no key `{key}`: {hint}")
        if "kernels" not in table:
            self._refuse((), 'A sweep needs `kernels`, such as ["gemm.py:gemm"].')
        arguments = self._arguments(table.get("arguments", {}), table.get("sets", [{}]))
        kernels = self._words(table, "kernels")
        targets = self._words(table, "targets") or (LOCAL_NAME,)
        archs: tuple[str | None, ...] = self._words(table, "arch") or (None,)
        machine_code = table.get("machine_code", False)
        if not isinstance(machine_code, bool):
            self._refuse(("machine_code",), "`machine_code` must be true or false.")
        limit = table.get("time_limit")
        if limit is not None and not _is_limit(limit):
            self._refuse(("time_limit",), "`time_limit` must be a number of seconds above 0.")
        if self.problems or not isinstance(machine_code, bool):
            return None
        seconds = float(limit) if isinstance(limit, (int, float)) else None
        return SweepFile(kernels, arguments, targets, archs, machine_code, seconds)

    def _words(self, table: Mapping[str, object], key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        listed = [value] if isinstance(value, str) else value
        if (
            not isinstance(listed, list)
            or (key in table and not listed)
            or not all(isinstance(word, str) and word for word in listed)
        ):
            self._refuse((key,), f"`{key}` must be a list of strings that are not empty.")
            return ()
        return tuple(dict.fromkeys(listed))

    def _arguments(self, lists: object, sets: object) -> tuple[Mapping[str, Scalar], ...]:
        """Return each of the sets with each combination of the lists."""
        named = self._lists(lists)
        given = self._sets(sets)
        both = sorted({name for one in given for name in one} & named.keys())
        if both:
            said = f"`{both[0]}` stands in `arguments` and in `sets`: say it in one of them."
            self._refuse(("arguments", both[0]), said)
        number = len(given)
        for values in named.values():
            number *= len(values)
        if number > MOST_ROWS:
            said = f"There are {number} combinations of arguments, and {MOST_ROWS} are the most."
            self._refuse(("arguments",), said)
            return ({},)
        return tuple(
            {**one, **dict(zip(named, values, strict=True))}
            for one in given
            for values in product(*named.values())
        )

    def _lists(self, lists: object) -> dict[str, list[Scalar]]:
        if not isinstance(lists, dict):
            self._refuse(("arguments",), "`arguments` must be a table of lists of values.")
            return {}
        read: dict[str, list[Scalar]] = {}
        for name, value in lists.items():
            values = value if isinstance(value, list) else [value]
            if not name.isidentifier():
                said = f"`arguments.{name}` is not the name of a parameter."
                self._refuse(("arguments", name), said)
            elif not values or not all(map(_is_scalar, values)):
                said = "must be a list of numbers, strings, true or false."
                self._refuse(("arguments", name), f"`arguments.{name}` {said}")
            else:
                read[name] = values
        return read

    def _sets(self, sets: object) -> list[Mapping[str, Scalar]]:
        if not isinstance(sets, list) or not sets:
            self._refuse(("sets",), "`sets` must be a list of tables, such as [{ M = 1024 }].")
            return [{}]
        read: list[Mapping[str, Scalar]] = []
        for index, one in enumerate(sets):
            if not isinstance(one, dict) or not all(
                name.isidentifier() and _is_scalar(value) for name, value in one.items()
            ):
                said = "must be a table of numbers, strings, true or false, by parameter."
                self._refuse(("sets", index), f"`sets[{index}]` {said}")
            else:
                read.append(one)
        return read or [{}]

    def _refuse(self, key: Key, message: str) -> None:
        self.problems.append(_Problem(key, message))


def _is_scalar(value: object) -> bool:
    return isinstance(value, (int, str, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _is_limit(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


_KEYS = ("kernels", "arguments", "sets", "targets", "arch", "machine_code", "time_limit")
