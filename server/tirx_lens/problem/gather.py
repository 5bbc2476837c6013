"""Puts together what a report of one kernel's problem holds, of what can be known without building.

All is asked of the reduced sources, so that lines in the report are lines of its listings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tirx_lens.analysis import analyse
from tirx_lens.problem.sources import ReducedModules, ReducedSources, reduced
from tirx_lens.protocol.worksheet.read import worksheet
from tirx_lens.syntax.read import open_library, read_kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tirx_lens.analysis import Analysis
    from tirx_lens.compile.builders import ArgumentSet, Builder
    from tirx_lens.compile.request import Scalar
    from tirx_lens.compile.result import BuildResult, HostReport
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.symptom import Symptom
    from tirx_lens.protocol.worksheet.read import Worksheet
    from tirx_lens.syntax.library import Modules


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found out where kernels are built; `reason` says why something was not.

    `host` is what the target is, `result` what the build gave: None where it was not asked.
    """

    host: HostReport | None = None
    result: BuildResult | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of one kernel.

    `arguments` are what the builder is called with, and `choice` says how they were chosen.
    `calls` are the words of TVM's names in the kernel, which programs cannot do without.
    """

    symptom: Symptom
    builder: str
    arguments: Mapping[str, Scalar]
    choice: str
    sources: ReducedSources
    analysis: Analysis
    worksheet: Worksheet
    looked: Looked
    editor: str = ""
    calls: frozenset[str] = field(default=frozenset())


def smallest_first(sets: Iterable[ArgumentSet]) -> tuple[ArgumentSet, ...]:
    """Return sets of arguments, the one with the smallest product of whole numbers first."""
    return tuple(sorted(sets, key=lambda one: _size(one.arguments)))


def _size(arguments: Mapping[str, Scalar]) -> tuple[int, int]:
    numbers = [
        abs(value)
        for value in arguments.values()
        if isinstance(value, int) and not isinstance(value, bool)
    ]
    return prod(max(number, 1) for number in numbers), sum(numbers)


def chosen_arguments(
    builder: Builder, label: str | None, insisted: Mapping[str, Scalar]
) -> tuple[Mapping[str, Scalar], str]:
    """Return what a builder is called with, and a sentence on how that was chosen.

    `insisted` is what the user says, before the set of a label, before the smallest set known.
    """
    sets = smallest_first(builder.sets)
    named = next((one for one in sets if one.label == label), None)
    chosen = named or next(iter(sets), None)
    known = dict(chosen.arguments) if chosen is not None else dict(builder.arguments)
    arguments = {**known, **insisted}
    if insisted:
        return arguments, "given for this report"
    if len(sets) > 1 and chosen is not None:
        how = "chosen" if named is not None else "the smallest"
        return arguments, f"{how} of {len(sets)} sets that are known ({chosen.label})"
    if known:
        return arguments, "the only ones that are known; try smaller ones, too"
    missing = builder.missing(arguments)
    if missing:
        return arguments, f"not known: {', '.join(missing)}. Write the smallest that show it"
    return arguments, "the builder takes none, or has a default for each"


def gather(
    path: str,
    source: SourceText,
    builder: Builder,
    symptom: Symptom,
    given: Given,
    modules: Modules,
    looked: Looked,
    *,
    label: str | None = None,
    insisted: Mapping[str, Scalar] | None = None,
    editor: str = "",
) -> Problem:
    """Reduce the sources of a builder, and ask of them what a report tells."""
    arguments, choice = chosen_arguments(builder, label, insisted or {})
    sources = reduced(path, source, builder.name, modules)
    text = sources.entry.source
    asked = given.insisting(builder.name, arguments) if arguments else given
    around = ReducedModules(modules, sources)
    analysis = analyse(text, None, asked, open_library(around, path))
    filled = worksheet(text, asked, open_library(around, path), builder.name)
    read = read_kernels(text, asked, open_library(around, path))
    calls = frozenset(
        word
        for kernel in read.kernels
        for call in kernel.calls
        for word in call.name.replace("[", ".").replace("]", ".").split(".")
        if word
    )
    return Problem(
        *(symptom, builder.name, arguments, choice, sources, analysis, filled, looked, editor),
        calls,
    )
