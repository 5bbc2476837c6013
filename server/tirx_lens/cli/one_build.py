"""`--build` of commands about one kernel: its build, where the user asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tirx_lens.cli import building
from tirx_lens.cli.calls import Wish, parsed_arguments
from tirx_lens.cli.configured import Configured, MisuseError
from tirx_lens.cli.placing import Places, add_interpreter_argument, add_target_argument
from tirx_lens.cli.planning import LackingError, plan_builds
from tirx_lens.cli.texts import read_texts
from tirx_lens.compile.result import BuildResult, Severity
from tirx_lens.compile.targets import LOCAL_NAME

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from tirx_lens.compile.targets import Target


@dataclass(frozen=True, slots=True)
class OneBuild:
    """What a build gave, or why there was none; `target` is where it was built."""

    target: Target
    result: BuildResult = field(default_factory=BuildResult)
    problem: str = ""


def add_build_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Declare the options of a build that is made only when asked for, to learn of `what`."""
    parser.add_argument(
        "--build",
        action="store_true",
        help=f"run the file's code and build the kernel, for {what}",
    )
    add_target_argument(parser)
    add_interpreter_argument(parser)


def target_of(arguments: argparse.Namespace, path: Path) -> Target:
    """Return where to build, once it may be used. Raises `MisuseError`."""
    places = Places(Configured.of_source(arguments), arguments.interpreter)
    return places.target(path, arguments.target or LOCAL_NAME)


def build_one(
    arguments: argparse.Namespace,
    path: Path,
    builder: str | None,
    command: str,
    *,
    machine_code: bool,
) -> OneBuild:
    """Build the kernels of a builder, or of all of a file. Raises `MisuseError`.

    What of several goes wrong is said; what was built is given.
    """
    target = target_of(arguments, path)
    configured = Configured.of_source(arguments)
    try:
        given = parsed_arguments(arguments.arguments)
    except ValueError as error:
        raise MisuseError(f"{command}: --arg {error}") from error
    texts = read_texts([f"{path}:{builder}" if builder else str(path)], configured, command)
    places = Places(configured, arguments.interpreter)
    try:
        wish = Wish(given, machine_code=machine_code)
        plan = plan_builds(texts, (wish,), places, (target.name,))
    except LackingError as error:
        missing = ", ".join(error.lacking.missing)
        said = f"{error.lacking.builder.name} needs a value for {missing}: add --arg NAME=VALUE"
        raise MisuseError(f"{command}: {said}") from error
    built = building.build_jobs([wanted.job for wanted in plan.wanted])
    if built.was_interrupted:
        raise KeyboardInterrupt
    results = [done.result for done in built.done if done is not None]
    diagnostics = tuple(item for result in results for item in result.diagnostics)
    kernels = tuple(kernel for result in results for kernel in result.kernels)
    errors = [item.message for item in diagnostics if item.severity is Severity.ERROR]
    return OneBuild(target, BuildResult(kernels, diagnostics), errors[0] if errors else "")
