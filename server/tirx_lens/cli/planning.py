"""What a command builds: each builder of its files, as often as it is to be called, as jobs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli.calls import Requests, Wish, calls_of
from tirx_lens.compile.builders import Builder
from tirx_lens.compile.many import Job
from tirx_lens.report.paths import shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tirx_lens.cli.placing import Places
    from tirx_lens.cli.texts import Texts
    from tirx_lens.compile.request import Scalar
    from tirx_lens.configuration.options import FileOptions
    from tirx_lens.files import Unreadable
    from tirx_lens.model.source import SourceText


_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """One build: its file as the user wrote it, how that is checked, where, and of what."""

    named: Path
    source: SourceText
    options: FileOptions
    job: Job

    @property
    def call(self) -> str:
        """What is built, as people write it: `gemm(M=1024)`."""
        request = self.job.request
        label = f"[{request.config}]" if request.config else ""
        return f"{request.builder or request.kernel or 'kernel'}{label}({spelled(request.args)})"


@dataclass(frozen=True, slots=True)
class Lacking:
    """A builder that is not built: these parameters have no value."""

    named: Path
    builder: Builder
    missing: tuple[str, ...]


class LackingError(Exception):
    """A builder of a file that was named cannot be called."""

    def __init__(self, lacking: Lacking) -> None:
        super().__init__(lacking.builder.name)
        self.lacking = lacking


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be built, what is passed over, and what cannot be read."""

    wanted: tuple[Wanted, ...]
    lacking: tuple[Lacking, ...]
    unreadable: tuple[Unreadable, ...]


def plan_builds(
    texts: Texts, wishes: Sequence[Wish], places: Places, targets: Sequence[str]
) -> Plan:
    """Return the builds of all texts, by every wish and at every target, each once.

    Raises `LackingError` for a builder without a value in a file that was named; in folders such
    ones are passed over. Raises `MisuseError` for a target that cannot be used.
    """
    calls = [
        (one, call, wish)
        for one in texts.texts
        for wish in wishes
        for call in calls_of(one.builders, wish, alone=texts.has_one_builder)
    ]
    lacking: dict[tuple[Path, str], Lacking] = {}
    for one, call, _ in calls:
        if call.missing and isinstance(call.builder, Builder):
            without = Lacking(one.named, call.builder, call.missing)
            if one.is_named:
                raise LackingError(without)
            lacking[one.named, call.builder.name] = without
    requests = Requests((Path.cwd(),))
    wanted: dict[object, Wanted] = {}
    for one, call, wish in calls:
        if call.missing:
            continue
        for name in targets:
            target = wish.at(places.target(one.named, name))
            request = requests.make(one.named, one.source, call, target, wish)
            job = Job(target, request)
            wanted.setdefault(_identity(job), Wanted(one.named, one.source, one.options, job))
    return Plan(tuple(wanted.values()), tuple(lacking.values()), texts.unreadable)


def _identity(job: Job) -> object:
    """Return what tells a build from the others of one command."""
    request = job.request
    name = request.builder, request.kernel, request.config, repr(sorted(request.args.items()))
    return request.entry, name, job.target, request.arch


def passed_over(lacking: Sequence[Lacking]) -> str:
    """Say which builders were passed over, and what they lack."""
    named = [
        f"{shown_path(one.named)}:{one.builder.line}: {one.builder.name} ({', '.join(one.missing)})"
        for one in lacking[:_MOST_NAMED]
    ]
    rest = len(lacking) - len(named)
    few = "1 builder was" if len(lacking) == 1 else f"{len(lacking)} builders were"
    listed = "; ".join((*named, *([f"{rest} more"] if rest else ())))
    return f"{few} passed over for want of arguments: {listed}"


def spelled(arguments: Mapping[str, Scalar]) -> str:
    """Write arguments as Python does in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())
