"""From a text to the timelines of its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.model.given import Given
from tirx_lens.protocol.follow.unfollowed import Unfollowed
from tirx_lens.protocol.simulated import at_other_sizes, simulated
from tirx_lens.protocol.timeline import timeline
from tirx_lens.rules.rule import KernelView
from tirx_lens.syntax.fold import compute
from tirx_lens.syntax.read import read_kernels, reading_anew
from tirx_lens.threads.reach import reach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.given import TvmVersion
    from tirx_lens.model.kernel import Kernel
    from tirx_lens.model.source import SourceText
    from tirx_lens.model.span import Span
    from tirx_lens.protocol.timeline import Timeline
    from tirx_lens.rules.rule import ReadAnew
    from tirx_lens.syntax.library import Library


@dataclass(frozen=True, slots=True)
class KernelTimeline:
    """The timeline of one kernel, or why there is none.

    `name` is that of the builder around it, else its own; `span` is all of the kernel.
    """

    name: str
    span: Span
    timeline: Timeline | None = None
    unfollowed: Unfollowed | None = None


@dataclass(frozen=True, slots=True)
class Timelines:
    """The timelines of the kernels of a text, in its order.

    All places are in `source`, which is the text joined with those it imports. `has_errors` says
    that the text has syntax errors, which may have cost kernels.
    """

    source: SourceText
    kernels: tuple[KernelTimeline, ...] = ()
    has_errors: bool = False


@dataclass(frozen=True, slots=True)
class Runnable:
    """A kernel that may be run, by the name of its timeline."""

    name: str
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class Runnables:
    """The kernels of a text before any is run: running one costs most, and one is shown at once."""

    source: SourceText
    kernels: tuple[Runnable, ...]
    has_errors: bool
    read_anew: ReadAnew
    tvm_version: TvmVersion | None = None

    def run(self, one: Runnable) -> KernelTimeline:
        """Run one kernel, at its own size or at one where it does not run well if there is one.

        What breaks of ours on the way is the reason why it is not shown.
        """
        kernel = one.kernel
        if not kernel.is_whole:
            cut = next((problem for problem in kernel.problems if problem.cuts), None)
            why = Unfollowed(
                cut.reason if cut is not None else "its statements could not all be read",
                cut.span if cut is not None else None,
            )
            return KernelTimeline(one.name, kernel.span, None, why)
        try:
            there = reach(kernel, compute)
            view = KernelView(
                self.source, kernel, there, self.tvm_version, read_anew=self.read_anew
            )
            found = simulated(view)
            other = at_other_sizes(view) if found.ends_well else None
            history = other.simulated.history if other is not None else found.history
            size = other.size if other is not None else ""
            drawn = timeline(history, size) if history is not None else None
        except Exception as error:
            broken = Unfollowed(f"running it broke: {type(error).__name__}: {error}")
            return KernelTimeline(one.name, kernel.span, None, broken)
        return KernelTimeline(one.name, kernel.span, drawn, found.unfollowed)


def runnables(
    source: SourceText, given: Given | None = None, library: Library | None = None
) -> Runnables:
    """Read the kernels of a text. Never raises for any text."""
    read = read_kernels(source, given, library)
    joined = library.joined(source) if library is not None else source
    version = given.tvm_version if given is not None else None

    read_anew = reading_anew(source, given or Given(), library)
    return Runnables(joined, tuple(_named(read.kernels)), read.has_errors, read_anew, version)


def timelines(
    source: SourceText,
    given: Given | None = None,
    library: Library | None = None,
    name: str | None = None,
) -> Timelines:
    """Run the kernels of a text, or those of one name, and lay their histories out."""
    found = runnables(source, given, library)
    wanted = (one for one in found.kernels if name in (None, one.name, one.kernel.name))
    return Timelines(found.source, tuple(map(found.run, wanted)), found.has_errors)


def _named(kernels: tuple[Kernel, ...]) -> Iterator[Runnable]:
    """Yield the kernels, those of a builder with several by their own names too."""
    builders = [kernel.builder or kernel.name for kernel in kernels]
    for builder, kernel in zip(builders, kernels, strict=True):
        shared = builders.count(builder) > 1 and builder != kernel.name
        yield Runnable(f"{builder}.{kernel.name}" if shared else builder, kernel)
