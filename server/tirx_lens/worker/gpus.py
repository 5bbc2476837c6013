"""The GPUs of this machine, as the driver's own program lists them: no CUDA context is made."""

from __future__ import annotations

import shutil

from .conversation import HostGpus
from .messages import Gpu
from .programs import ProgramError, said_by

_QUERY = ("--query-gpu=name,compute_cap,driver_version", "--format=csv,noheader")


def find_gpus() -> HostGpus:
    """Ask `nvidia-smi`, which may take some seconds where no driver is loaded yet."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return HostGpus(problem="There is no nvidia-smi on PATH, so no GPU is known of")
    try:
        return read_gpus(said_by((program, *_QUERY)))
    except ProgramError as error:
        return HostGpus(problem=str(error))


def read_gpus(listed: str) -> HostGpus:
    """Read the lines of `nvidia-smi`: `NVIDIA B200, 10.0, 580.95.05`."""
    gpus = []
    for line in listed.splitlines():
        if not line.strip():
            continue
        name, capability, driver = (["", "", "", *line.rsplit(",", 2)])[-3:]
        major, _, minor = capability.strip().partition(".")
        if not (major.isdigit() and minor.isdigit()):
            return HostGpus(
                problem=f"nvidia-smi said something else than GPUs: {line.strip():.200}"
            )
        gpus.append(Gpu(name.strip(), (int(major), int(minor)), driver.strip()))
    return HostGpus(tuple(gpus), None if gpus else "nvidia-smi lists no GPU")
