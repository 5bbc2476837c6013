"""`tirx-lens check --build`: what builds of the checked files say, beside what the rules find."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.build_environment import CODE as TX507
from tirx_lens.build_environment import generation_finding
from tirx_lens.build_findings import admitted, findings_of, said_findings, unsaid
from tirx_lens.checking import Fixing, check_file
from tirx_lens.cli import streams
from tirx_lens.cli.building import build_jobs
from tirx_lens.cli.calls import Call, Requests, Wish, builders_of
from tirx_lens.cli.configured import Planned
from tirx_lens.cli.placing import Places
from tirx_lens.cli.planning import Lacking, passed_over
from tirx_lens.compile.cache_folder import folder_of_tables
from tirx_lens.compile.many import Job
from tirx_lens.compile.result import Severity, Stage
from tirx_lens.compile.targets import LOCAL_NAME
from tirx_lens.compile.told import ToldFolder
from tirx_lens.cuda.view import view_of
from tirx_lens.rules.engine import settle
from tirx_lens.told_tables import learn
from tirx_lens.workspace import SourceCache

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tirx_lens.checking import Outcome
    from tirx_lens.cli.configured import Configured
    from tirx_lens.compile.builders import Builder
    from tirx_lens.compile.many import Builds, Done
    from tirx_lens.compile.result import BuildDiagnostic, Environment
    from tirx_lens.compile.targets import Target
    from tirx_lens.configuration.options import FileOptions
    from tirx_lens.files import Unreadable
    from tirx_lens.model.finding import Finding
    from tirx_lens.model.installed import Installed
    from tirx_lens.model.source import SourceText


@dataclass(frozen=True, slots=True)
class _Ordered:
    """The builds of checked files, before any is done.

    `of` has for each job the place of its file among the outcomes, and its builder; `lacking` the
    builders that are not built.
    """

    jobs: tuple[Job, ...]
    of: tuple[tuple[int, Builder], ...]
    lacking: tuple[Lacking, ...]


@dataclass(slots=True)
class _Said:
    """What the builds of one file say: findings in it, and what kept them from being done."""

    findings: list[Finding] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def targets_of(
    files: Iterable[Planned | Unreadable], arguments: argparse.Namespace, configured: Configured
) -> dict[Path, Target]:
    """Return where each file is to be built. Raises `MisuseError`; so it is asked first of all."""
    places = Places(configured, arguments.interpreter)
    name = LOCAL_NAME if arguments.target is None else arguments.target
    return {file.path: places.target(file.path, name) for file in files}


def build_checked(
    outcomes: Sequence[Outcome],
    files: Iterable[Planned | Unreadable],
    targets: Mapping[Path, Target],
    *,
    quiet: bool,
) -> list[Outcome]:
    """Build what was checked, and put what is said among the findings of each file.

    How many builds went well, and what was passed over, is said on standard error. Raises
    KeyboardInterrupt once what was started has ended.
    """
    options = {file.path: file.options for file in files if isinstance(file, Planned)}
    ordered = _order(outcomes, options, targets)
    kept = ToldFolder(folder_of_tables())
    installed: dict[Target, tuple[Installed, ...]] = {}

    async def ask(target: Target, builds: Builds, environment: Environment) -> None:
        installed[target] = await learn(builds, environment, kept)

    built = build_jobs(ordered.jobs, quiet=quiet, at_end=ask)
    if built.was_interrupted:
        raise KeyboardInterrupt
    if not quiet:
        good = sum(done is not None and not done.result.failed for done in built.done)
        streams.say(f"{good} of {len(ordered.jobs)} builds went well")
        if ordered.lacking:
            streams.say(passed_over(ordered.lacking))
    cache = SourceCache()
    outcomes = [
        _anew(outcome, options[outcome.path], installed.get(targets[outcome.path], ()), cache)
        if outcome.checked is not None
        else outcome
        for outcome in outcomes
    ]
    said = _said(outcomes, options, ordered, built.done)
    return [
        _with(outcome, said[index], options[outcome.path]) if index in said else outcome
        for index, outcome in enumerate(outcomes)
    ]


def _anew(
    outcome: Outcome, options: FileOptions, installed: tuple[Installed, ...], cache: SourceCache
) -> Outcome:
    """Check a file again, where a TVM builds it that no table here is of, against what that has."""
    if all(tvm.has_own_table for tvm in installed):
        return outcome
    given = replace(options.given, installed=installed)
    again = check_file(outcome.path, replace(options, given=given), Fixing.NONE, cache)
    if again.checked is None:
        return outcome
    return replace(
        outcome,
        checked=again.checked,
        failures=tuple(dict.fromkeys((*outcome.failures, *again.failures))),
    )


def _order(
    outcomes: Sequence[Outcome],
    options: Mapping[Path, FileOptions],
    targets: Mapping[Path, Target],
) -> _Ordered:
    """Return the builds of all builders whose arguments are known."""
    jobs, of, lacking = [], [], []
    wish, requests = Wish(), Requests((Path.cwd(),))
    for index, outcome in enumerate(outcomes):
        if outcome.checked is None:
            continue
        path, source = outcome.path, outcome.checked.source
        for builder in builders_of(source, options[path].given):
            if missing := builder.missing({}):
                lacking.append(Lacking(path, builder, missing))
                continue
            request = requests.make(path, source, Call(builder), targets[path], wish)
            jobs.append(Job(targets[path], request))
            of.append((index, builder))
    return _Ordered(tuple(jobs), tuple(of), tuple(lacking))


def _said(
    outcomes: Sequence[Outcome],
    options: Mapping[Path, FileOptions],
    ordered: _Ordered,
    results: Sequence[Done | None],
) -> dict[int, _Said]:
    """Return what the builds of each file say, by the file's place among the outcomes."""
    said: dict[int, _Said] = {}
    unusable: set[Target] = set()
    for job, (index, builder), done in zip(ordered.jobs, ordered.of, results, strict=True):
        outcome = outcomes[index]
        if done is None or outcome.checked is None:
            continue
        here = said.setdefault(index, _Said())
        for error in _of_stage(done, Stage.ENVIRONMENT):
            if job.target not in unusable:  # once for all files
                unusable.add(job.target)
                said_at = f"not built at {job.target.name}: {error.message}"
                here.failures.append(f"{said_at} ({TX507})")
        for error in _of_stage(done, Stage.WORKER):
            here.failures.append(f"{builder.name} was not built: {error.message}")
        source = outcome.checked.source
        here.findings += _findings(source, job, builder, done)
        if done.result.failed:
            given = options[outcome.path].given.tvm_version
            another = generation_finding(done.tvm_version, given, source)
            here.findings += [another] if another is not None else []
    return said


def _of_stage(done: Done, stage: Stage) -> Iterator[BuildDiagnostic]:
    """Yield the errors of a stage that are about no place: of a crash, the place is known."""
    for item in done.result.diagnostics:
        if item.stage is stage and item.severity is Severity.ERROR and item.file is None:
            yield item


def _findings(source: SourceText, job: Job, builder: Builder, done: Done) -> Iterator[Finding]:
    """Yield what one build says of its file. What has no place in it stands at the builder."""
    path = Path(job.request.entry)
    texts = {file.path: file.text for file in job.request.files}
    for item in done.result.diagnostics:
        if item.file is None and item.stage in (Stage.ENVIRONMENT, Stage.WORKER):
            continue
        found = said_findings((item,), path, source, texts)
        if not found and item.severity is Severity.ERROR:
            here = replace(item, file=str(path), line=builder.line, column=None)
            found = said_findings((here,), path, source, texts)
        yield from found
    kernels = done.result.kernels
    if kernels and not done.result.failed:
        yield from findings_of(kernels, view_of(kernels), path, source)


def _with(outcome: Outcome, said: _Said, options: FileOptions) -> Outcome:
    checked = outcome.checked
    if checked is None:
        return outcome
    source = checked.source
    new = unsaid(admitted(said.findings, options.selection, source), checked.findings, source)
    findings = tuple(settle(source, (*checked.findings, *new)))
    failures = (*outcome.failures, *dict.fromkeys(said.failures))
    return replace(outcome, checked=replace(checked, findings=findings), failures=failures)
