"""The guide from a symptom, as Markdown: a kernel's own suspects in order, with links to lines."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from tirx_lens.model.symptom import Symptom
from tirx_lens.report.worksheet_cells import text
from tirx_lens.report.worksheet_places import Places
from tirx_lens.suspects.suspect import Standing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tirx_lens.model.span import Span
    from tirx_lens.suspects.guide import Guide
    from tirx_lens.suspects.suspect import KernelSuspects, Suspect

_MOST_LINKS = 12

_FIRST = {
    Symptom.BUILD: "Nothing runs yet: these are what TVM or the CUDA compiler refuses.",
    Symptom.DEADLOCK: "Some role waits for what never comes. Kill the process: the GPU will not "
    "give up by itself.",
    Symptom.CRASH: "The CUDA context is lost: every later call of the process fails, too. Run "
    "each try in a process of its own.",
    Symptom.WRONG_ROWS: "Some access is not ordered behind another, or a role works on other rows "
    "than it should. Small shapes often come out right: try a large one, several times.",
    Symptom.NAN: "Something is read that was never written, or a value left its range.",
    Symptom.SLOW: "The result is right: measure again after each single change.",
}


def as_markdown(path: Path, guide: Guide) -> str:
    """Return the guide for the kernels of a file, which is named by `path`."""
    return "\n".join(_lines(path, guide)).rstrip() + "\n"


def _lines(path: Path, guide: Guide) -> Iterator[str]:
    yield from (f"# {guide.symptom.headline}: {text(path.name)}", "", _FIRST[guide.symptom], "")
    if guide.has_errors:
        yield from ("The file has syntax errors: kernels in it may be missing here.", "")
    if not guide.kernels:
        yield from ("No TIRx kernel is found in it.", "")
    places = Places(path, guide.source)
    for kernel in guide.kernels:
        yield from _kernel(places, kernel, guide)
    for part, reason in guide.failures:
        yield from (f"A part of TIRx Lens itself broke ({part}): {text(reason)}", "")


def _kernel(places: Places, kernel: KernelSuspects, guide: Guide) -> Iterator[str]:
    of = f" of `{kernel.builder}`" if kernel.builder else ""
    at = _links(places, (kernel.place,))
    yield from (f"## Kernel `{kernel.name}`{of} {at}", "", _summary(kernel, guide), "")
    if not kernel.is_whole:
        yield from ("Statements of it could not be read, so little can be said of it.", "")
    number = 0
    for standing, group in groupby(kernel.to_look_at, lambda one: one.standing):
        yield from (f"### {standing.value}", "")
        for topic, alike in groupby(group, lambda one: one.topic):
            some = list(alike)
            yield from (f"**{text(topic.title)}**", "")
            for one in some:
                number += 1
                yield f"{number}. {_fact(places, one)}"
            yield ""
            told = [f"What it means: {text(topic.means)}"] if topic.means else []
            told += [f"What to do: {text(topic.check)}"] if topic.check else []
            for line in told:
                yield from (line, "")
    if kernel.others:
        yield from ("### Found, but it usually shows in another way", "")
        yield from (f"- {one.code}: {_fact(places, one)}" for one in kernel.others)
        yield ""
    if kernel.checked:
        yield from (f"### {Standing.GOOD.value}", "")
        for topic, alike in groupby(kernel.checked, lambda one: one.topic):
            facts = list(alike)
            yield f"- {text(topic.title)}"
            yield from (f"  - {_fact(places, one)}" for one in facts)
        yield ""


def _summary(kernel: KernelSuspects, guide: Guide) -> str:
    counts = [
        (standing, sum(one.standing is standing for one in kernel.suspects))
        for standing in Standing
    ]
    said = ", ".join(f"{count} {_COUNTED[standing]}" for standing, count in counts if count)
    if not said:
        only = "only a build tells more" if not guide.is_built else "its build says nothing of it"
        return f"Nothing of this kernel is known to lead to it: {only}."
    return f"{said[:1].upper()}{said[1:]}."


_COUNTED = {
    Standing.FOUND: "found by rules",
    Standing.ODD: "unusual",
    Standing.OPEN: "not decided",
    Standing.LOOK: "to look at",
    Standing.GOOD: "checked and good",
}


def _fact(places: Places, one: Suspect) -> str:
    return f"{text(one.fact)} {_links(places, one.places)}".rstrip()


def _links(places: Places, spans: Iterable[Span]) -> str:
    found: dict[str, None] = {}
    for span in spans:
        line, link = places.linked_line(span)
        found.setdefault(f"[{text(line)}]({link})")
    return ", ".join(list(found)[:_MOST_LINKS])
