"""Which names are TVM's: imports, aliases of them, and the one spelling we use for each.

`T.` stands for `tvm.script.tirx` (and `tvm_tirx.script.tirx`), `Tx.` for its `tile`, `lang.` for
the barrier, pool, pipeline and scheduler classes of `tvm.backend.cuda.lang`, wherever a file
imports them from; everything else keeps its dotted path.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tirx_lens.model.expr import Path
from tirx_lens.model.objects import ObjectKind

if TYPE_CHECKING:
    from tirx_lens.syntax.imports import Import

LANG_CLASSES: dict[str, ObjectKind] = {
    "MBarrier": ObjectKind.MBARRIER,
    "TMABar": ObjectKind.TMA_BARRIER,
    "TCGen05Bar": ObjectKind.TCGEN05_BARRIER,
    "Pipeline": ObjectKind.PIPELINE,
    "PipelineState": ObjectKind.PIPELINE_STATE,
    "SMEMPool": ObjectKind.SMEM_POOL,
    "TMEMPool": ObjectKind.TMEM_POOL,
    "WarpRole": ObjectKind.WARP_ROLE,
    "WarpgroupRole": ObjectKind.WARPGROUP_ROLE,
    "ClusterPersistentScheduler2D": ObjectKind.SCHEDULER,
    "ClusterLaunchControlScheduler": ObjectKind.SCHEDULER,
    "FlashAttentionLPTScheduler": ObjectKind.SCHEDULER,
    "FlashAttentionLinearScheduler": ObjectKind.SCHEDULER,
    "GroupMajor3D": ObjectKind.SCHEDULER,
    "IndexedTripleTileScheduler": ObjectKind.SCHEDULER,
    "RankAwareGroupMajorTileScheduler": ObjectKind.SCHEDULER,
}
"""The classes of `tvm.backend.cuda.lang` whose instances the model knows, in 0.25 to 0.27."""

POOL_USERS = frozenset(
    {
        ObjectKind.MBARRIER,
        ObjectKind.TMA_BARRIER,
        ObjectKind.TCGEN05_BARRIER,
        ObjectKind.PIPELINE,
        ObjectKind.SCHEDULER,
        ObjectKind.TMEM_POOL,
    }
)
"""Kinds whose constructor takes an SMEM pool as its first argument and allocates from it."""

_PACKAGES = ("tvm", "tvm_tirx")
PACKAGES = tuple((name,) for name in _PACKAGES)
"""The packages that are TVM's, each as the first part of a module's name."""

_TIRX = ("script.tirx", "tirx.script", "tirx")
_DEFAULTS = {"T": "T", "Tx": "Tx", "tvm": "tvm"}
_WRITTEN = {"T": "tvm.script.tirx", "Tx": "tvm.script.tirx.tile", "tvm": "tvm"}
LANG = "tvm.backend.cuda.lang"


def canonical(module: str) -> str:
    """Spell a dotted path of TVM's canonically: `tvm.script.tirx.cuda` becomes `T.cuda`."""
    package, _, rest = module.partition(".")
    if package not in _PACKAGES:
        return module
    for prefix in _TIRX:
        if rest == prefix or rest.startswith(prefix + "."):
            tail = rest[len(prefix) :].lstrip(".")
            if tail == "tile" or tail.startswith("tile."):
                return "Tx" + tail[len("tile") :]
            if tail.rpartition(".")[2] in LANG_CLASSES:
                return "lang." + tail.rpartition(".")[2]
            return f"T.{tail}" if tail else "T"
    name = module.rpartition(".")[2]
    if ".lang" in module and name in LANG_CLASSES:
        return f"lang.{name}"
    return module


def member(path: Path, name: str) -> Path:
    """Return the canonical path of a member of a path."""
    return _member(path.dotted, path.written, name)


@lru_cache(maxsize=4096)  # a kernel says the same words again and again
def _member(owner: str, written: str, name: str) -> Path:
    dotted = f"{owner}.{name}"
    if dotted == "T.tile":
        dotted = "Tx"
    elif dotted == "T.ptxd":  # the same instructions, handed to the enclosing frame
        dotted = "T.ptx"
    elif owner in ("T", LANG) and name in LANG_CLASSES:
        dotted = f"lang.{name}"
    elif owner.startswith(_PACKAGES):
        dotted = canonical(dotted)
    return Path(dotted, f"{written}.{name}" if written else "")


def unbound(name: str) -> Path | None:
    """Return what a name means that no line of the file binds.

    Snippets and half-typed files lack their imports: the names of every TIRx tutorial are taken
    to mean what they mean there.
    """
    if name in _DEFAULTS:
        return Path(_DEFAULTS[name], _WRITTEN[name])
    if name in LANG_CLASSES:
        return Path(f"lang.{name}", f"{LANG}.{name}")
    return None


def path_of(imported: Import) -> Path:
    """Return the canonical path of what an import binds."""
    return Path(canonical(imported.dotted), imported.dotted)
