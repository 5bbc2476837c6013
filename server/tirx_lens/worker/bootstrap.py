"""How a worker starts: a few lines for `python -c` that read an archive from standard input.

Every launcher uses the same lines. They must run on any Python, old ones included, because they
tell which Python this is before anything else; and they hold the start marker in two pieces, so
that a program which merely prints its arguments does not look like a worker.
"""

from __future__ import annotations

import hashlib
import struct

MARKER = b"<<tirx-lens-worker "
"""What the worker's output begins with, followed by the Python version and `>>` and a newline.

Whatever a shell or a login banner prints before it is skipped.
"""

MINIMUM_PYTHON = (3, 10)

UNFED = "tirx-lens: no pipe leads here"
"""What the lines say where their standard input is a device: the null device, or a terminal."""

BOOTSTRAP = r"""
import sys
if sys.path[:1] == [""]: del sys.path[0]
import os
os.write(1, ("<<tirx-lens-" + "worker %d.%d.%d>>\n" % tuple(sys.version_info[:3])).encode())
if sys.version_info < (3, 10): sys.exit(3)
import hashlib, importlib.abc, importlib.util, io, stat, zipfile
if stat.S_ISCHR(os.fstat(0).st_mode): sys.exit("tirx-lens: no pipe leads here")
def read(count):
    data = b""
    while len(data) < count:
        chunk = os.read(0, min(count - len(data), 1 << 20))
        if not chunk: sys.exit("tirx-lens: the pipe closed before the worker had arrived")
        data += chunk
    return data
length, digest = int.from_bytes(read(8), "big"), read(32)
archive = read(length) if length < 1 << 24 else b""
if hashlib.sha256(archive).digest() != digest:
    sys.exit("tirx-lens: the worker was damaged on its way here")
class Archive(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    def __init__(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as files:
            self.files = {name: files.read(name).decode() for name in files.namelist()}
    def entry(self, name):
        base = name.replace(".", "/")
        return next((p for p in (base + "/__init__.py", base + ".py") if p in self.files), None)
    def find_spec(self, name, path=None, target=None):
        if self.entry(name) is None: return None
        return importlib.util.spec_from_loader(name, self, origin="tirx-lens:" + self.entry(name))
    def is_package(self, name): return self.entry(name).endswith("/__init__.py")
    def get_source(self, name): return self.files[self.entry(name)]
    def get_code(self, name):
        return compile(self.get_source(name), "<tirx-lens>/" + self.entry(name), "exec")
sys.meta_path.insert(0, Archive(archive))
import tirx_lens_worker.main
sys.exit(tirx_lens_worker.main.main(sys.argv[1:], archive))
"""


def parcel(archive: bytes) -> bytes:
    """Return the archive as the bootstrap reads it: length, SHA-256, content."""
    return struct.pack(">Q", len(archive)) + hashlib.sha256(archive).digest() + archive
