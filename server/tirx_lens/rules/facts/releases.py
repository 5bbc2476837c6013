"""Which release of TVM a kernel is held against, and what that has against its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirx_lens.api.judge import Judgement, judge
from tirx_lens.api.surface import surface_of
from tirx_lens.model.given import TvmVersion

if TYPE_CHECKING:
    from tirx_lens.model.kernel import Kernel, WrittenCall
    from tirx_lens.rules.rule import KernelView

    _Judged = tuple[WrittenCall, Judgement]

NEWEST_FIRST = tuple(reversed(TvmVersion))
_LENIENT = frozenset({TvmVersion.V0_25})
_MANY = 1 << 30


@dataclass(frozen=True, slots=True)
class Against:
    """A call, and what the kernel's release has against it.

    `release_with` is the newest release that would take the call as it is; None where none does.
    """

    call: WrittenCall
    judgement: Judgement
    release_with: TvmVersion | None


@dataclass(frozen=True, slots=True)
class Held:
    """The release of a kernel, and its troubles. `is_said` tells that the user names the release.

    Where nobody does, it is the one that takes the most of the kernel's calls.
    """

    version: TvmVersion
    is_said: bool
    troubles: tuple[Against, ...] = ()


def held(view: KernelView) -> Held:
    """Hold the kernel of a view against its release."""
    return hold(view.kernel, view.tvm_version)


def hold(kernel: Kernel, said: TvmVersion | None) -> Held:
    """Hold a kernel against the release that is said, else against the one that fits it best."""
    if said is not None:
        return _held(said, _judged(kernel, said), is_said=True)
    tried: dict[TvmVersion, list[_Judged]] = {}
    for version in NEWEST_FIRST:
        tried[version] = _judged(kernel, version)
        if not tried[version]:
            break
    best = min(tried, key=lambda version: _cost(version, tried[version]))
    return _held(best, tried[best], is_said=False)


def _judged(kernel: Kernel, version: TvmVersion) -> list[_Judged]:
    surface = surface_of(version)
    found = ((call, judge(surface, call)) for call in kernel.calls)
    return [(call, judgement) for call, judgement in found if judgement is not None]


def _cost(version: TvmVersion, troubles: list[_Judged]) -> tuple[int, int]:
    """Order releases by what they lack, then by what else they have against a kernel.

    The wrappers of 0.25 take any arguments: that it has nothing against them tells nothing.
    """
    lacking = sum(judgement.is_about_names for _, judgement in troubles)
    others = len(troubles) - lacking
    return lacking, others if version not in _LENIENT else _MANY


def _held(version: TvmVersion, troubles: list[_Judged], *, is_said: bool) -> Held:
    return Held(
        version,
        is_said,
        tuple(
            Against(call, judgement, _release_with(call, judgement)) for call, judgement in troubles
        ),
    )


def _release_with(call: WrittenCall, judgement: Judgement) -> TvmVersion | None:
    lenient = frozenset() if judgement.is_about_names else _LENIENT
    return next(
        (v for v in NEWEST_FIRST if v not in lenient and judge(surface_of(v), call) is None), None
    )
