"""Check Targets: whether each target can build, and what is wrong, as a text for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.lsp.messages import Failed, MalformedMessageError
from tirx_lens.lsp.target_messages import DoctorReply, DoctorReport, TargetsParams
from tirx_lens.lsp.targets import UNTRUSTED, summary
from tirx_lens.lsp.whole_messages import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.compile.examining import Examined
    from tirx_lens.compile.result import HostReport
    from tirx_lens.compile.targets import Target
    from tirx_lens.lsp.compilers import Compiler
    from tirx_lens.lsp.server import LensServer


async def doctor_reply(server: LensServer, params: object) -> DoctorReply:
    """Look at all targets that may be used, each with a worker of its own, and report."""
    if not server.cuda.is_trusted:
        return UNTRUSTED
    try:
        asked = TargetsParams.from_json(params)
    except MalformedMessageError as error:
        return Failed(f"The request is malformed: {error}.")
    from tirx_lens.compile.diagnosis import Wants
    from tirx_lens.compile.examining import examine_all

    uri = asked.uri
    usable = await server.background.run(lambda: server.targets.usable(uri))
    known = await server.background.run(lambda: server.targets.of(uri))
    given = await server.background.run(lambda: server.projects.options(uri).given if uri else None)
    wants = Wants(given.tvm_version if given is not None else None)

    async def learn(target: Target, compiler: Compiler, report: HostReport) -> None:
        await server.environments.learn(target, compiler, report.environment)

    examined = await examine_all(
        usable, wants, server.cuda.runs.compilers.make, lambda: None, learn
    )
    left = tuple(target for target in known.targets if target not in usable)
    text = plain("\n".join(_lines(examined, left)).rstrip() + "\n")
    return DoctorReport(text, server.whole_messages.put("targets", text, text))


def _lines(examined: tuple[Examined, ...], left: tuple[Target, ...]) -> Iterator[str]:
    from tirx_lens.compile.host_facts import facts_of

    for one in examined:
        word = "good" if one.is_good else "not good" if one.report is not None else "no answer"
        yield f"{one.target.name}: {word}  ({summary(one.target)})"
        for name, value in facts_of(one):
            yield f"  {name:<8} {_in_one_line(value)}"
        for problem in one.problems:
            code = f" ({problem.code})" if problem.code else ""
            yield f"  {problem.severity.value}: {_in_one_line(problem.message)}{code}"
        yield ""
    if left:
        names = ", ".join(target.name for target in left)
        yield f"Not looked at, since this project's targets are not confirmed: {names}."
        yield '"TIRx Lens: Choose Target" shows them and asks.'


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
