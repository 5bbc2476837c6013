"""`tirx-lens` as a process, and the texts that it is given."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tirx_lens.rules.examples import in_kernel

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = in_kernel("""
    if wg_id == 0:
        T.cuda.cta_sync()
""")
CLEAN = in_kernel("T.cuda.cta_sync()")
MENDED = BROKEN.replace("cta_sync()", "warpgroup_sync(10)")
UNSAFE = in_kernel("""
    pool = T.SMEMPool()
    empty = MBarrier(pool, 1)
    empty.init(128)
    pool.commit()
    T.ptx.fence.mbarrier_init.release.cluster()
    T.cuda.cta_sync()
    if wg_id == 0:
        if warp_id == 0:
            if T.cuda.elect_sync():
                empty.arrive(0)
    elif wg_id == 1:
        empty.wait(0, 0)
""")
"""A text with one finding, whose fix is unsafe."""

HELPER = "from tvm.script import tirx as T\n\n\n@T.inline\ndef sync():\n    T.cuda.cta_sync()\n"
"""What may stand in `helpers.py`, of which `USER` calls the function where only some come."""
USER = "from helpers import sync\n" + in_kernel("if wg_id == 0:\n    sync()\n")
USER_LINE = USER.splitlines().index("        sync()") + 1
LINE = BROKEN.splitlines().index("        T.cuda.cta_sync()") + 1
COMMAND = (sys.executable, "-m", "tirx_lens.cli.main")


def tirx_lens(*words: str, cwd: Path, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, with a text on its standard input."""
    return subprocess.run(
        [*COMMAND, *words],
        cwd=cwd,
        input=given if given is not None else "",
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def tirx_lens_bytes(*words: str, cwd: Path, given: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run the command with bytes on its standard input."""
    command = [*COMMAND, *words]
    return subprocess.run(
        command, cwd=cwd, input=given, capture_output=True, check=False, timeout=60
    )
