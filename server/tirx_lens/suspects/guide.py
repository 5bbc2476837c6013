"""From a text and a symptom to the suspects of each kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.analysis import Selection, check_kernels
from tirx_lens.model.given import Given
from tirx_lens.model.symptom import Symptom
from tirx_lens.protocol.worksheet.sheet import broken_sheet, kernel_sheet
from tirx_lens.protocol.worksheet.skeleton import Step
from tirx_lens.rules.engine import settle
from tirx_lens.rules.rule import KernelView
from tirx_lens.suspects import handoffs, running, shape, speed, storage, values
from tirx_lens.suspects.found import found
from tirx_lens.suspects.suspect import Case, KernelSuspects, Standing, Suspect
from tirx_lens.suspects.topics import BOUNDS
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels, reading_anew
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tirx_lens.cuda.resources import Resources
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.syntax.library import Library

    Check = Callable[[Case], Iterator[Suspect]]


@dataclass(frozen=True, slots=True)
class Built:
    """What a build says of a text: findings in it, and what its kernels take of the GPU."""

    findings: tuple[Finding, ...]
    resources: tuple[Resources, ...]


@dataclass(frozen=True, slots=True)
class Guide:
    """The suspects of a text's kernels; all places are in `source`, which has its imports too.

    `failures` are the parts of TIRx Lens that broke, and why. `is_built` says that a build has
    told of the kernels, too.
    """

    symptom: Symptom
    source: SourceText
    kernels: tuple[KernelSuspects, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    has_errors: bool = False
    is_built: bool = False


@dataclass(frozen=True, slots=True)
class Cases:
    """What is known of a text's kernels, whatever the symptom; see `Guide` for the fields."""

    source: SourceText
    cases: tuple[Case, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    has_errors: bool = False
    is_built: bool = False

    def guide(self, symptom: Symptom) -> Guide:
        """List what of the kernels may cause a symptom."""
        failures = list(self.failures)
        kernels = tuple(_suspects(case, symptom, failures) for case in self.cases)
        return Guide(
            *(symptom, self.source, kernels, tuple(failures), self.has_errors, self.is_built)
        )


def guide(
    source: SourceText,
    symptom: Symptom,
    given: Given | None = None,
    library: Library | None = None,
    builder: str | None = None,
    built: Built | None = None,
) -> Guide:
    """List what of a text's kernels, or of one builder's, may cause a symptom.

    Never raises for any text. All rules are asked, whatever a project selects and comments
    suppress: who looks for a cause wants to hear of it.
    """
    return cases(source, given, library, builder, built).guide(symptom)


def cases(
    source: SourceText,
    given: Given | None = None,
    library: Library | None = None,
    builder: str | None = None,
    built: Built | None = None,
) -> Cases:
    """Find out all that is asked of the kernels of a text, or of one builder's."""
    given = given or Given()
    read = read_kernels(source, given, library)
    joined = library.joined(source) if library is not None else source
    anew = reading_anew(source, given, library)
    checked = check_kernels(joined, read.kernels, Selection(), given, read_anew=anew)
    all_of_them = [
        *settle(source, checked.findings),
        *(built.findings if built is not None else ()),
    ]
    wanted = [k for k in read.kernels if builder is None or builder == (k.builder or k.name)]
    failures = list(checked.failures)
    found = []
    for kernel in wanted:
        mine = tuple(f for f in all_of_them if f.is_of_rule and _is_about(f, kernel, read.kernels))
        resources = _resources_of(kernel, built)
        try:
            view = KernelView(
                joined, kernel, reach(kernel, compute), given.tvm_version, read_anew=anew
            )
            sheet = kernel_sheet(view)
        except Exception as error:  # a part of ours broke: what rules found is still told
            reason = f"{type(error).__name__}: {error}"
            failures.append(("suspects", reason))
            view, sheet = KernelView(joined, kernel, None), broken_sheet(kernel, reason)
        found.append(Case(view, sheet, mine, resources))
    return Cases(joined, tuple(found), tuple(failures), read.has_errors, built is not None)


def _resources_of(kernel: Kernel, built: Built | None) -> tuple[Resources, ...] | None:
    if built is None:
        return None
    own = tuple(one for one in built.resources if one.kernel.startswith(kernel.name))
    return own or built.resources


def _is_about(finding: Finding, kernel: Kernel, kernels: Sequence[Kernel]) -> bool:
    """Tell whether a finding is about a kernel: in it, or in none of the kernels of the text."""
    if kernel.span.contains(finding.span):
        return True
    return not any(other.span.contains(finding.span) for other in kernels)


def _suspects(case: Case, symptom: Symptom, failures: list[tuple[str, str]]) -> KernelSuspects:
    may, others = found(case, symptom)
    suspects: list[Suspect] = list(may)
    for check in _CHECKS[symptom]:
        try:
            suspects += check(case)
        except Exception as error:  # costs this check alone
            failures.append((check.__name__, f"{type(error).__name__}: {error}"))
    ranks = tuple(Standing)
    once = dict.fromkeys(suspects)
    ordered = sorted(once, key=lambda one: ranks.index(one.standing))  # stable: as it is checked
    sheet = case.sheet
    return KernelSuspects(
        *(sheet.name, sheet.builder, sheet.place, tuple(ordered), others, sheet.is_whole)
    )


def _publication(case: Case) -> Iterator[Suspect]:
    yield from shape.step(case, Step.INIT, Step.PUBLISH)


def _tmem(case: Case) -> Iterator[Suspect]:
    yield from shape.step(case, Step.TMEM, Step.CLEAN_UP)
    yield from shape.tmem_lives(case)


def _pool(case: Case) -> Iterator[Suspect]:
    yield from shape.step(case, Step.STORAGE)
    yield from shape.pool_size(case)


def _bounds(case: Case) -> Iterator[Suspect]:
    """Yield for which sizes the kernel was looked at: bounds are a matter of numbers."""
    kernel = case.view.kernel
    if kernel.arguments:
        said = ", ".join(f"{name}={value}" for name, value in kernel.arguments)
        fact = f"looked at with {said}: other sizes may be no multiple of the tiles"
        yield Suspect(Standing.LOOK, BOUNDS, fact, (kernel.name_span,))
    elif kernel.builder is not None:
        fact = f"the arguments of `{kernel.builder}` are not known, so no size could be looked at"
        yield Suspect(Standing.OPEN, BOUNDS, fact, (kernel.name_span,))


_CHECKS: dict[Symptom, tuple[Check, ...]] = {
    Symptom.BUILD: (shape.understood,),
    Symptom.DEADLOCK: (
        running.stops,
        handoffs.arrivals,
        _publication,
        shape.meetings,
        shape.tile_steps,
        handoffs.rounds,
        handoffs.first_phases,
        handoffs.bytes_armed,
        _tmem,
        shape.understood,
        handoffs.not_followed,
    ),
    Symptom.CRASH: (
        _pool,
        _publication,
        _tmem,
        handoffs.first_phases,
        handoffs.arrivals,
        _bounds,
        storage.indices,
        running.stops,
        shape.understood,
        storage.open_storage,
    ),
    Symptom.WRONG_ROWS: (
        running.races,
        storage.commits,
        storage.proxy_fences,
        storage.stores,
        storage.freed,
        storage.filled,
        storage.ordered_reads,
        handoffs.first_phases,
        handoffs.rounds,
        handoffs.arrivals,
        shape.meetings,
        _bounds,
        storage.indices,
        shape.understood,
        storage.open_storage,
    ),
    Symptom.NAN: (
        values.accumulators,
        values.unwritten,
        values.accumulator_range,
        storage.filled,
        storage.ordered_reads,
        values.domains,
        values.operands,
        handoffs.first_phases,
        running.races,
        _bounds,
        shape.understood,
        storage.open_storage,
    ),
    Symptom.SLOW: (
        speed.paths,
        speed.rings,
        speed.occupancy,
        speed.stalls,
        speed.loops,
        shape.understood,
    ),
}
