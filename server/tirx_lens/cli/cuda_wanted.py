"""Which builds `tirx-lens cuda` is asked for: from its operands to jobs."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli.calls import Call, Wish, builders_of, calls_of
from tirx_lens.cli.configured import MisuseError
from tirx_lens.cli.naming import split_builder
from tirx_lens.compile.builders import Builder, find_builder
from tirx_lens.compile.many import Job
from tirx_lens.files import Unreadable, read_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tirx_lens.cli.configured import Configured
    from tirx_lens.cli.placing import Places
    from tirx_lens.compile.request import Scalar
    from tirx_lens.configuration.options import FileOptions


@dataclass(frozen=True, slots=True)
class Wanted:
    """One build: its file as the user wrote it, how the builder is called, where, and of what."""

    named: Path
    call: Call
    options: FileOptions
    job: Job


@dataclass(frozen=True, slots=True)
class Lacking:
    """A builder of a folder that is passed over: these parameters have no value."""

    named: Path
    builder: Builder
    missing: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """What is to be built, what is passed over, and what cannot be read."""

    wanted: list[Wanted] = field(default_factory=list)
    lacking: list[Lacking] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Text:
    """A file to build from. `is_named` tells it from those found in a folder."""

    named: Path
    text: str
    options: FileOptions
    builders: tuple[Builder | str, ...]
    is_named: bool


def plan_builds(
    operands: Sequence[str], wish: Wish, configured: Configured, places: Places, target: str
) -> Plan:
    """Return the builds of the operands, in their order. Raises `MisuseError`.

    Of files that are named each builder must be one that can be called; in folders, files without
    builders and builders without values are passed over.
    """
    plan = Plan()
    texts = _texts(tuple(dict.fromkeys(operands)), configured, plan)
    alone = sum(len(one.builders) for one in texts) == 1
    chosen: list[tuple[_Text, Call]] = []
    for one in texts:
        for call in calls_of(one.builders, wish, alone=alone):
            missing = call.missing
            if not missing or not isinstance(call.builder, Builder):
                chosen.append((one, call))
            elif one.is_named:
                raise MisuseError(_lacks(one.named, call.builder, missing))
            else:
                plan.lacking.append(Lacking(one.named, call.builder, missing))
    for one, call in chosen:
        at = places.target(one.named, target)
        request = wish.request(one.named, one.text, call, at, (Path.cwd(),))
        plan.wanted.append(Wanted(one.named, call, one.options, Job(at, request)))
    return plan


def _texts(operands: Iterable[str], configured: Configured, plan: Plan) -> list[_Text]:
    texts = []
    split = [split_builder(operand) for operand in operands]
    options = [configured.options(path) for path, _ in split]
    configured.refuse_problems()
    for (path, name), chosen in zip(split, options, strict=True):
        if path.is_dir():
            found = _in_folder(path, configured, plan)
            if not found and not plan.unreadable:
                raise _refused(f"{path} has no file with a builder in it")
            texts += found
        else:
            text = _read(path)
            texts.append(_Text(path, text, chosen, _choose(path, text, name, chosen), True))
    return texts


def _in_folder(folder: Path, configured: Configured, plan: Plan) -> list[_Text]:
    texts = []
    for planned in configured.plan((folder,), ()):
        file = planned if isinstance(planned, Unreadable) else read_file(planned.path)
        if isinstance(file, Unreadable):
            plan.unreadable.append(file)
            continue
        text, options = file.source.text, configured.options(planned.path)
        if builders := builders_of(text, options.given):
            texts.append(_Text(planned.path, text, options, builders, False))
    return texts


def _read(path: Path) -> str:
    try:
        with tokenize.open(path) as file:
            return file.read()
    except OSError as error:
        raise _refused(f"{path} cannot be read: {error.strerror or error}") from error
    except (SyntaxError, UnicodeError, ValueError) as error:
        raise _refused(f"{path} is not Python text: {error}") from error


def _choose(
    path: Path, text: str, name: str | None, options: FileOptions
) -> tuple[Builder | str, ...]:
    if name is not None:
        builder = find_builder(text, name)
        return (name if builder is None else builder.with_given(options.given),)
    builders = builders_of(text, options.given)
    if not builders:
        raise _refused(
            f"{path} has no builder: no function with a @T.prim_func or @T.jit kernel in it, and "
            "none at module level; FILE:NAME names one that is made in another way"
        )
    return builders


def _lacks(path: Path, builder: Builder, missing: Sequence[str]) -> str:
    options = " ".join(f"--arg {name}=..." for name in missing)
    comment = " ".join(f"{name}=..." for name in missing)
    values = ", ".join(f"{name} = ..." for name in missing)
    return (
        f"tirx-lens cuda: {path}:{builder.line}: {builder.name} needs a value for "
        f"{', '.join(missing)}: add {options}, or write `# tirx-lens: args {comment}` above the "
        f"builder, or `{builder.name} = {{ {values} }}` below [tool.tirx-lens.arguments] of "
        "pyproject.toml"
    )


def _refused(said: str) -> MisuseError:
    return MisuseError(f"tirx-lens cuda: {said}")


def spelled(arguments: Mapping[str, Scalar]) -> str:
    """Write arguments as Python does in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
