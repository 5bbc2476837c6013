"""The architecture that is built for where nobody named one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.compile.prepare import DEFAULT_ARCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tirx_lens.worker.messages import Gpu

LEAST_CAPABILITY = (9, 0)
"""TIRx kernels are written for GPUs from here on: an older one says nothing of what is wanted."""


def arch_for(gpus: Iterable[Gpu]) -> str:
    """Return the architecture of the first GPU that can be meant, else `DEFAULT_ARCH`."""
    meant = (gpu.arch for gpu in gpus if gpu.capability >= LEAST_CAPABILITY)
    return next(meant, DEFAULT_ARCH)
