"""How many CTAs of a kernel fit on one SM, and what keeps a further one out.

Limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability"; how registers and shared memory are handed out is as in NVIDIA's `cuda_occupancy.h`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum

_WARP = 32
_REGISTERS = 65536  # of an SM, 32 bits each
_REGISTER_UNIT = 256  # a warp gets a multiple of these
_PARTITIONS = 4  # of an SM: a CTA's warps are dealt out to them
_SMEM_UNIT = 128
_SMEM_OF_THE_SYSTEM = 1024  # bytes that each CTA gets beside its own
_TMEM_COLUMNS = 512


class Limiter(Enum):
    """What there is no more of."""

    REGISTERS = "registers"
    SMEM = "shared memory"
    THREADS = "threads"
    CTAS = "CTAs"
    TMEM = "TMEM columns"


@dataclass(frozen=True, slots=True)
class Sm:
    """One SM of a compute capability: bytes of shared memory, of one CTA's at most; how many.

    `count` is how many SMs the GPU named in `gpu` has, None where several GPUs differ.
    """

    smem: int
    smem_of_cta: int
    threads: int
    ctas: int
    gpu: str = ""
    count: int | None = None


_KIB = 1024
_SMS = {
    80: Sm(164 * _KIB, 163 * _KIB, 2048, 32, "A100", 108),
    90: Sm(228 * _KIB, 227 * _KIB, 2048, 32, "H100 SXM, H200", 132),
    100: Sm(228 * _KIB, 227 * _KIB, 2048, 32, "B200", 148),
    103: Sm(228 * _KIB, 227 * _KIB, 2048, 32),
    120: Sm(100 * _KIB, 99 * _KIB, 1536, 24),
}


@dataclass(frozen=True, slots=True)
class Demand:
    """What one CTA takes: threads, registers a thread, bytes of SMEM in all, TMEM columns."""

    threads: int
    registers: int
    smem: int = 0
    tmem_columns: int = 0


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs on one SM, what limits them, and the part of the SM's threads that they are."""

    ctas: int
    limiters: tuple[Limiter, ...]
    threads: float


def sm_of(arch: str) -> Sm | None:
    """Return the SM of an architecture such as `sm_100a`; None for one that is not known here."""
    matched = re.fullmatch(r"sm_(\d+)[a-z]?", arch)
    return _SMS.get(int(matched[1])) if matched is not None else None


def occupancy(demand: Demand, sm: Sm) -> Occupancy:
    """Return how many CTAs fit. None fits where one CTA alone wants more than there is."""
    warps = math.ceil(demand.threads / _WARP)
    fits = {
        Limiter.THREADS: sm.threads // (warps * _WARP) if warps else sm.ctas,
        Limiter.CTAS: sm.ctas,
        Limiter.REGISTERS: _by_registers(demand.registers, warps, sm),
        Limiter.SMEM: _by_smem(demand.smem, sm),
    }
    if demand.tmem_columns:
        fits[Limiter.TMEM] = _TMEM_COLUMNS // demand.tmem_columns
    ctas = min(fits.values())
    limiters = tuple(limiter for limiter, number in fits.items() if number == ctas)
    return Occupancy(ctas, limiters, ctas * demand.threads / sm.threads)


def waves(ctas_of_grid: int, occupied: Occupancy, sm: Sm) -> float | None:
    """Return in how many rounds the GPU runs a grid; None where its number of SMs is not known."""
    if sm.count is None or not occupied.ctas:
        return None
    return ctas_of_grid / (sm.count * occupied.ctas)


def _by_registers(registers: int, warps: int, sm: Sm) -> int:
    if not registers or not warps:
        return sm.ctas
    of_warp = math.ceil(registers * _WARP / _REGISTER_UNIT) * _REGISTER_UNIT
    warps_of_partition = _REGISTERS // _PARTITIONS // of_warp
    return warps_of_partition * _PARTITIONS // warps


def _by_smem(smem: int, sm: Sm) -> int:
    if smem > sm.smem_of_cta:
        return 0
    taken = math.ceil((smem + _SMEM_OF_THE_SYSTEM) / _SMEM_UNIT) * _SMEM_UNIT
    return sm.smem // taken
