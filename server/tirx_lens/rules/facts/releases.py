"""Which release of TVM a kernel is held against, and what that has against its calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tirx_lens.api.judge import Judgement, judge
from tirx_lens.api.surface import surface_of
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.installed import TVM, TVM_TIRX, Installed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.api.surface import Surface
    from tirx_lens.model.kernel import Kernel, WrittenCall
    from tirx_lens.rules.rule import KernelView

    _Judged = tuple[WrittenCall, Judgement]

NEWEST_FIRST = tuple(reversed(TvmVersion))
_LENIENT = frozenset({TvmVersion.V0_25})
_MANY = 1 << 30
_TIRX_PATHS = f"{TVM_TIRX}."
_SOME_TIRX = Installed("", TVM_TIRX)
"""A `tvm_tirx` of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Against:
    """A call, and what the kernel's TVM has against it.

    `release_with` is the newest release that would take the call as it is; None where none does.
    `is_renamed` tells that this is one older than the kernel's TVM.
    """

    call: WrittenCall
    judgement: Judgement
    release_with: TvmVersion | None
    is_renamed: bool


@dataclass(frozen=True, slots=True)
class Misfit:
    """The TVM that is installed refuses calls of a kernel that another release takes better."""

    installed: Installed
    refused: tuple[Against, ...]

    def is_newer_than(self, version: TvmVersion) -> bool:
        """Tell whether the installed TVM is newer than a release."""
        return self.installed.numbers > version.numbers


@dataclass(frozen=True, slots=True)
class Held:
    """The TVM of a kernel, and its troubles.

    `version` is the release whose spellings are right for the kernel, `surface` what it is held
    against, `name` what messages call that. `is_said` tells that the user names the release, and
    `is_certain` that it is known what the TVM has that will build the kernel. Where neither is so,
    the release is the one that takes the most of the kernel's calls. A kernel that is written for
    another release than the installed one is held against its own, and is a `misfit`.
    """

    version: TvmVersion
    surface: Surface
    name: str
    is_said: bool
    is_certain: bool
    troubles: tuple[Against, ...] = ()
    misfit: Misfit | None = None
    is_judged: bool = True
    """False where the TVM is one of which it is not known what it has: nothing is held then."""

    @property
    def has_spellings(self) -> bool:
        """Tell whether it takes the spellings of `version`, and is not just the nearest to it."""
        return self.surface is surface_of(self.version) or self.surface is surface_of(_SOME_TIRX)


def held(view: KernelView) -> Held:
    """Hold the kernel of a view against its TVM."""
    return hold(view.kernel, view.tvm_version, view.installed)


def hold(kernel: Kernel, said: TvmVersion | None, installed: tuple[Installed, ...] = ()) -> Held:
    """Hold a kernel against the release that is said, else what is installed, else its own."""
    package = TVM_TIRX if any(map(_is_of_tirx, kernel.calls)) else TVM
    there = next((one for one in installed if one.package == package), None)
    if package == TVM_TIRX:
        return _of_tirx(kernel, there or _SOME_TIRX, is_said=said is not None)
    if said is not None:
        return _held(said, _judged(kernel, said), is_said=True)
    if there is None:
        return _spelled(kernel)
    if not there.is_known:  # it may have what no release has, and lack what each has
        return replace(_spelled(kernel), troubles=(), is_judged=False)
    troubles = _judged(kernel, there)
    own = _held(there, troubles, is_said=False)
    if not troubles:
        return own
    spelled = _spelled(kernel)
    fits_better = _cost(spelled.version, _pairs(spelled)) < _cost(there.nearest, troubles)
    if spelled.version is there.nearest or not fits_better:
        return own
    return replace(spelled, misfit=Misfit(there, own.troubles))


def misfit_message(view: KernelView, found: Held, misfit: Misfit) -> str:
    """Say that a kernel is written for another TVM than the one that would build it."""
    refused = misfit.refused
    first = " ".join(view.source.slice(refused[0].call.callee).split())
    calls = f"{len(refused)} of its calls, `{first}` first" if len(refused) > 1 else f"`{first}`"
    own = found.version.value
    return (
        f"This kernel is written for TVM {own}, and the TVM that builds it here is "
        f"{misfit.installed.version}, which refuses {calls}: choose an interpreter or a target "
        f"with TVM {own}."
    )


def _is_of_tirx(call: WrittenCall) -> bool:
    return call.name.startswith(_TIRX_PATHS)


def _of_tirx(kernel: Kernel, tvm: Installed, *, is_said: bool) -> Held:
    """Hold a kernel of `tvm_tirx` against that; its names change with each alpha so far."""
    found = _held(tvm, _judged(kernel, tvm), is_said=is_said)
    if tvm.is_known or tvm is _SOME_TIRX:
        return found
    return replace(found, troubles=(), is_judged=False)


def _spelled(kernel: Kernel) -> Held:
    """Hold a kernel against the release that fits it best."""
    tried: dict[TvmVersion, list[_Judged]] = {}
    for version in NEWEST_FIRST:
        tried[version] = _judged(kernel, version)
        if not tried[version]:
            break
    best = min(tried, key=lambda version: _cost(version, tried[version]))
    return replace(_held(best, tried[best], is_said=False), is_certain=False)


def _judged(kernel: Kernel, tvm: TvmVersion | Installed) -> list[_Judged]:
    surface = surface_of(tvm)
    found = ((call, judge(surface, call)) for call in kernel.calls)
    return [(call, judgement) for call, judgement in found if judgement is not None]


def _pairs(held: Held) -> list[_Judged]:
    return [(one.call, one.judgement) for one in held.troubles]


def _cost(version: TvmVersion, troubles: list[_Judged]) -> tuple[int, int]:
    """Order releases by what they lack, then by what else they have against a kernel.

    The wrappers of 0.25 take any arguments: that it has nothing against them tells nothing.
    """
    lacking = sum(judgement.is_about_names for _, judgement in troubles)
    others = len(troubles) - lacking
    return lacking, others if version not in _LENIENT else _MANY


def _held(tvm: TvmVersion | Installed, troubles: Iterable[_Judged], *, is_said: bool) -> Held:
    if isinstance(tvm, Installed):
        version, is_certain = tvm.nearest, tvm.is_known
        name = f"{'TVM' if tvm.package == TVM else tvm.package} {tvm.version}".rstrip()
    else:
        version, name, is_certain = tvm, f"TVM {tvm.value}", True
    against = tuple(_against(call, judgement, tvm) for call, judgement in troubles)
    return Held(version, surface_of(tvm), name, is_said, is_certain, against)


def _against(call: WrittenCall, judgement: Judgement, tvm: TvmVersion | Installed) -> Against:
    if _is_of_tirx(call):  # another package: of its instructions alone the older spelling is known
        is_older = ".ptx." in call.name and judge(surface_of(TvmVersion.V0_26), call) is None
        return Against(call, judgement, TvmVersion.V0_26 if is_older else None, is_older)
    lenient = frozenset() if judgement.is_about_names else _LENIENT
    takes = next(
        (v for v in NEWEST_FIRST if v not in lenient and judge(surface_of(v), call) is None), None
    )
    return Against(call, judgement, takes, takes is not None and takes.numbers < tvm.numbers)
