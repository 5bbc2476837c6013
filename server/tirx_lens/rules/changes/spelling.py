"""Which TVM a kernel is written for, and by which name it knows TIRx."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tirx_lens.model.given import TvmVersion
from tirx_lens.model.installed import TIRX_TABLE, TVM, TVM_TIRX, Installed
from tirx_lens.rules.facts.releases import held

if TYPE_CHECKING:
    from tirx_lens.model.given import Given
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.rule import KernelView

# What TVM up to 0.26 has and 0.27 has not; each needs its opening bracket, so longer chains of 0.27
# (`tcgen05.alloc.cta_group__1...`) are not met.
_OLDER = re.compile(
    r"ptx\.(?:elect_sync\(\)"
    r"|cp_async\.bulk\."
    r"|fence\.(?:proxy_async|mbarrier_init)\("
    r"|tcgen05\.(?:(?:alloc|dealloc|commit|relinquish_alloc_permit)\(|wait\.|fence\.)"
    r"|mbarrier\.(?:init|try_wait|arrive)\()"
)

# What 0.27 has and no older one: strings and modifiers in a chain of `T.ptx`.
_NEWER = re.compile(r"""ptx(?:\["'a-z]|\.[\w.]*?(?:\w__\w|async_\b|\.sync\.aligned\b))""")
_TVM_TIRX = re.compile(r"^[ \t]*(?:from|import)[ \t]+tvm_tirx\b", re.MULTILINE)

_TIRX_AS = re.compile(r"^from tvm(?:_tirx)?\.script import .*\btirx as (\w+)", re.MULTILINE)


def tirx_name(view: KernelView) -> str:
    """Return the name by which a file knows `tvm.script.tirx`: `T`, as a rule."""
    return view.of_text(_first_group, _TIRX_AS) or "T"


def is_older(view: KernelView) -> bool:
    """Tell whether a kernel is written for TVM 0.26 or older."""
    return view.once(held).version.is_before(TvmVersion.V0_27)


def looks_older(text: str) -> bool:
    """Tell from its spelling whether a text is written for TVM 0.26 or older."""
    return _OLDER.search(text) is not None


def looks_newer(text: str) -> bool:
    """Tell from its spelling whether a text is written for TVM 0.27 or newer."""
    return _NEWER.search(text) is not None


def package_of(text: str) -> str:
    """Return by which name a text imports TVM."""
    names_it = TVM_TIRX in text  # most texts do not, and this is quickly told
    return TVM_TIRX if names_it and _TVM_TIRX.search(text) is not None else TVM


def tvm_of(text: str, given: Given) -> TvmVersion | Installed:
    """Return the TVM that a text is for, told from its words alone.

    What `facts.releases` tells of a kernel's calls is surer, and needs them read.
    """
    package = package_of(text)
    there = next((one for one in given.installed if one.package == package), None)
    if package == TVM_TIRX:
        return there or Installed(TIRX_TABLE, TVM_TIRX)
    if given.tvm_version is not None:
        return given.tvm_version
    is_older_here = there is not None and there.nearest.is_before(TvmVersion.V0_27)
    if looks_older(text):
        return there if there is not None and is_older_here else TvmVersion.V0_26
    if there is None or (is_older_here and looks_newer(text)):
        return TvmVersion.V0_27
    return there


def _first_group(source: SourceText, pattern: re.Pattern[str]) -> str | None:
    found = pattern.search(source.text)
    return found.group(1) if found is not None else None
