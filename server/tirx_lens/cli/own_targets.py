"""The targets that a user has on this machine: `targets.toml` in their folder for configurations.

Each table is one target. No project can write there, so they need no confirmation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from platformdirs import user_config_path

from tirx_lens.cli.configured import MisuseError
from tirx_lens.compile.target_table import read_target
from tirx_lens.compile.targets import Origin
from tirx_lens.configuration.places import TomlPlaces
from tirx_lens.configuration.toml import tomllib
from tirx_lens.model.source import SourceText
from tirx_lens.report.paths import shown_path, shown_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tirx_lens.compile.target_table import ReadTarget
    from tirx_lens.compile.targets import Target


def own_file() -> Path:
    """Return where the file is looked for."""
    return user_config_path("tirx-lens") / "targets.toml"


def own_targets() -> tuple[Target, ...]:
    """Read the file; none where it is not there.

    Raises `MisuseError` with a line for each problem: a target that is half right is not guessed.
    """
    path = own_file()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise MisuseError(f"tirx-lens: {shown_path(path)} cannot be read: {why}") from error
    try:
        tables = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        said = f"tirx-lens: {shown_path(path)} is no TOML: {shown_text(str(error))}"
        raise MisuseError(said) from error
    read = [(name, read_target(name, table, Origin.SETTINGS)) for name, table in tables.items()]
    if lines := tuple(_problem_lines(path, data, read)):
        raise MisuseError("\n".join(lines))
    return tuple(one.target for _, one in read if one.target is not None)


def _problem_lines(path: Path, data: bytes, read: list[tuple[str, ReadTarget]]) -> Iterator[str]:
    places, source = TomlPlaces(data), SourceText(data.decode("utf-8"))
    for name, one in read:
        for problem in one.problems:
            key = (name, *problem.key)
            span = (places.key(key) if problem.of_key else places.value(key)) or places.value(
                key[:1]
            )
            at = source.position(span.start) if span is not None else None
            place = f":{at.line + 1}:{at.column + 1}" if at is not None else ""
            yield f"{shown_path(path)}{place}: {shown_text(problem.message)}"
