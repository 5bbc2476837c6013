"""The worker package as one archive, made in memory: all that a host is sent."""

from __future__ import annotations

import hashlib
import io
import zipfile
from functools import cache
from importlib import resources

ROOT = "tirx_lens_worker"
"""The name of the package on the other side, where there is no `tirx_lens`."""


@cache
def worker_archive() -> bytes:
    """Return a zip of the worker's modules. The same sources give the same bytes."""
    content = io.BytesIO()
    modules = sorted(
        (item.name, item.read_bytes())
        for item in resources.files("tirx_lens.worker").iterdir()
        if item.name.endswith(".py")
    )
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in modules:
            entry = zipfile.ZipInfo(f"{ROOT}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return content.getvalue()


@cache
def worker_hash() -> str:
    """Return the hash of the archive: another one may build in another way."""
    return hashlib.sha256(worker_archive()).hexdigest()
