"""Build processes on systems where a fork is not safe: a fresh interpreter for each build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from .bootstrap import BOOTSTRAP, parcel
from .child import Job, run_job
from .codec import decode, encode
from .messages import BuildRequest
from .tvm_environment import warm_up

if TYPE_CHECKING:
    from collections.abc import Sequence

CHILD = "child"
"""The argument that makes the archive a build process rather than a worker."""


class Spawner:
    """Starts build processes from the archive this worker itself came from."""

    def __init__(self, archive: bytes) -> None:
        self._parcel = parcel(archive)

    def start(self, job: Job, output_end: int) -> int:
        """Start the process of a job and return its id. Raises OSError."""
        process = subprocess.Popen(
            [sys.executable, "-c", BOOTSTRAP, CHILD, job.directory, str(job.result_fd)],
            stdin=subprocess.PIPE,
            stdout=output_end,
            stderr=output_end,
            pass_fds=(job.result_fd,),
        )
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(self._parcel)
            pipe.write(json.dumps(encode(job.request)).encode())
        process.returncode = 0  # the server reaps its children itself
        return process.pid


def run_spawned(arguments: Sequence[str]) -> int:
    """Be the process of one build: the request is on standard input, after the archive."""
    directory, result_fd = arguments[0], int(arguments[1])
    chunks = []
    while chunk := os.read(0, 1 << 20):
        chunks.append(chunk)
    request = decode(BuildRequest, json.loads(b"".join(chunks)))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    warm_up()  # whether it can be imported, the worker has found out already
    return run_job(Job(request, directory, result_fd))
