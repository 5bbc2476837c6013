"""`tirx-lens cuda`: print the CUDA that the kernels of files become."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tirx_lens.cli import building
from tirx_lens.cli.calls import Wish, parsed_arguments
from tirx_lens.cli.configured import Configured, MisuseError, add_source_arguments, refuse
from tirx_lens.cli.cuda_output import BuiltKernels, print_json, print_notes, print_text
from tirx_lens.cli.placing import Places, add_interpreter_argument, add_target_argument
from tirx_lens.cli.planning import LackingError, plan_builds
from tirx_lens.cli.texts import read_texts
from tirx_lens.compile.prepare import DEFAULT_ARCH
from tirx_lens.compile.result import Stage
from tirx_lens.compile.targets import LOCAL_NAME
from tirx_lens.report.paths import shown_path

if TYPE_CHECKING:
    import argparse

    from tirx_lens.cli.planning import Lacking, Plan, Wanted
    from tirx_lens.compile.many import Done

BUILT, BROKEN, FAILED = 0, 1, 2
_NAME = "tirx-lens cuda"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `tirx-lens cuda`."""
    parser.add_argument(
        "files",
        metavar="FILE[:BUILDER]",
        nargs="+",
        help="a kernel's file, and the builder in it; without one, all of them; a folder stands "
        "for the files in it",
    )
    parser.add_argument(
        "--arg",
        dest="arguments",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument of the builder; wins over the comment `# tirx-lens: args ...` above it, "
        "which wins over the configuration",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--label",
        metavar="LABEL",
        help="which of CONFIGS to call a registered kernel's get_kernel with (default: the first)",
    )
    which.add_argument(
        "--each-set",
        action="store_true",
        help="build with every set of arguments that comments and the configuration give, and in "
        "every one of CONFIGS that the text shows",
    )
    add_target_argument(parser)
    add_interpreter_argument(parser)
    parser.add_argument(
        "--arch",
        help=f"the GPU to compile for (default: that of the target; local: {DEFAULT_ARCH})",
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=float,
        help="stop a build after this long (default: the target's limit; local: 120)",
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.add_argument(
        "--machine-code",
        action="store_true",
        help="compile the CUDA too: PTX and SASS in the JSON, what it takes of the GPU in the text",
    )
    parser.add_argument(
        "--html",
        metavar="PAGE",
        type=Path,
        help="write one page that shows the kernels beside their CUDA, linked line by line",
    )
    add_source_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build and print; return the exit code.

    0 when every kernel was built, 1 when one was not, 2 when none could be tried: a wrong
    argument, or an interpreter that cannot build. What is found in CUDA that was built is said, and
    changes nothing of that. After Ctrl+C what was built until then is printed.
    """
    try:
        plan = _plan(arguments)
    except MisuseError as error:
        refuse(error)
        return FAILED
    built = building.build_jobs([wanted.job for wanted in plan.wanted])
    kernels = tuple(
        _kernels(wanted, done)
        for wanted, done in zip(plan.wanted, built.done, strict=True)
        if done is not None
    )
    if arguments.html is not None and not _write_page(arguments.html, kernels):
        return FAILED
    several = len(plan.wanted) > 1
    if arguments.output_format == "json":
        print_json(kernels, several=several)
    else:
        print_text(kernels, several=several, texts=arguments.html is None)
    print_notes(plan, kernels, was_interrupted=built.was_interrupted)
    if built.was_interrupted:
        raise KeyboardInterrupt
    return _exit_code(plan, kernels)


def _plan(arguments: argparse.Namespace) -> Plan:
    configured = Configured.of_source(arguments)
    try:
        given = parsed_arguments(arguments.arguments)
    except ValueError as error:
        raise MisuseError(f"{_NAME}: --arg {error}") from error
    limit = arguments.time_limit
    if limit is not None and not limit > 0:  # which NaN is not, either
        raise MisuseError(f"{_NAME}: --time-limit must be more than 0 seconds")
    wish = Wish(
        given,
        arguments.label,
        arguments.each_set,
        arguments.arch,
        limit,
        arguments.machine_code,
    )
    places = Places(configured, arguments.interpreter)
    target = LOCAL_NAME if arguments.target is None else arguments.target
    texts = read_texts(arguments.files, configured, _NAME)
    try:
        return plan_builds(texts, (wish,), places, (target,))
    except LackingError as error:
        raise MisuseError(_lacks(error.lacking)) from error


def _lacks(one: Lacking) -> str:
    options = " ".join(f"--arg {name}=..." for name in one.missing)
    comment = " ".join(f"{name}=..." for name in one.missing)
    values = ", ".join(f"{name} = ..." for name in one.missing)
    return (
        f"{_NAME}: {one.named}:{one.builder.line}: {one.builder.name} needs a value for "
        f"{', '.join(one.missing)}: add {options}, or write `# tirx-lens: args {comment}` above "
        f"the builder, or `{one.builder.name} = {{ {values} }}` below [tool.tirx-lens.arguments] "
        "of pyproject.toml"
    )


def _kernels(wanted: Wanted, done: Done) -> BuiltKernels:
    from tirx_lens.cli.cuda_findings import check_built  # it loads the rules

    checked = check_built(wanted.job.request, done.result, wanted.options.selection, wanted.source)
    return BuiltKernels(wanted, done.result, checked)


def _exit_code(plan: Plan, kernels: tuple[BuiltKernels, ...]) -> int:
    stages = {item.stage for one in kernels for item in one.result.diagnostics}
    if Stage.ENVIRONMENT in stages or plan.unreadable or not plan.wanted:
        return FAILED
    return BROKEN if any(one.result.failed for one in kernels) else BUILT


def _write_page(target: Path, built: tuple[BuiltKernels, ...]) -> bool:
    """Write the page of what was built; nothing where nothing was."""
    from tirx_lens.cuda.view import view_of
    from tirx_lens.report.cuda_page import PageKernel, page

    kernels = []
    for one in built:
        if not one.result.kernels:
            continue
        request, first = one.wanted.job.request, one.result.kernels[0]
        view = view_of(one.result.kernels)
        spelled = " ".join(f"{name}={value!r}" for name, value in first.args.items())
        shown = {frame.file for entry in view.map for frame in entry.frames} | {request.entry}
        texts = {file.path: file.text for file in request.files if file.path in shown}
        sources = {request.entry: texts.pop(request.entry), **texts}
        title = f"{first.builder or first.name} {spelled}".rstrip()
        facts = (f"TVM {first.tvm_version}", first.target)
        kernels.append(PageKernel(title, facts, view, sources))
    if not kernels:
        return True
    try:
        target.write_text(page(kernels), "utf-8")
    except OSError as error:
        print(f"{_NAME}: {shown_path(target)}: {error.strerror or error}", file=sys.stderr)
        return False
    return True
