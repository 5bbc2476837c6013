"""Results of earlier builds, in memory and on disk, by all that a result depends on."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from typing import TYPE_CHECKING

from tirx_lens.worker.codec import encode
from tirx_lens.worker.messages import LoadedFile, Stage

if TYPE_CHECKING:
    from tirx_lens.compile.cache_folder import CacheFolder
    from tirx_lens.worker.messages import BuildRequest, BuildResult, Environment

CAPACITY = 64
"""Results kept. The CUDA text of a large kernel is a few hundred kilobytes."""

# What these stages report may be otherwise next time, with the same sources.
_PASSING = frozenset({Stage.ENVIRONMENT, Stage.LIMIT, Stage.WORKER})


class ResultCache:
    """The most recently used results; with a folder, for builds on this machine, earlier ones too.

    Reading and writing the folder may wait for the disk: both methods belong off an event loop.
    """

    def __init__(self, folder: CacheFolder | None = None, capacity: int = CAPACITY) -> None:
        self._folder = folder
        self._capacity = capacity
        self._results: OrderedDict[str, BuildResult] = OrderedDict()

    def remembered(self, key: str) -> BuildResult | None:
        """Return the result under a key of `key_of` if it is in memory."""
        if key in self._results:
            self._results.move_to_end(key)
        found = self._results.get(key)
        return found if found is not None and self._still_holds(found) else None

    def _still_holds(self, result: BuildResult) -> bool:
        """Tell whether the files beyond its sources are as they were, on this machine."""
        ours = self._folder is not None  # elsewhere, the files of a host are not here to look at
        return not ours or all(LoadedFile.of(file.path) == file for file in result.loaded)

    def get(self, key: str) -> BuildResult | None:
        """Return the result under a key of `key_of`, if it is still here."""
        found = self.remembered(key)
        if found is None and self._folder is not None:
            found = self._folder.get(key)
            if found is not None:
                self._remember(key, found)
        return found if found is not None and self._still_holds(found) else None

    def put(self, key: str, result: BuildResult) -> None:
        """Keep a result, unless another run of the same build could give another one.

        A failed build is kept in memory only: what was missing may be there in the next session.
        """
        if any(item.stage in _PASSING for item in result.diagnostics):
            return
        self._remember(key, result)
        if self._folder is not None and not result.failed:
            self._folder.put(key, result)

    def _remember(self, key: str, result: BuildResult) -> None:
        self._results[key] = result
        self._results.move_to_end(key)
        while len(self._results) > self._capacity:
            self._results.popitem(last=False)


def key_of(request: BuildRequest, environment: Environment, worker: str, place: str = "") -> str:
    """Return a hash of the sources, the arguments, the target, the TVM and the worker's own code.

    Limits do not count. `worker` is the hash of the archive that builds, `place` what tells the
    place it builds at from others: hosts may have the same paths and versions and be different.
    """
    parts = encode(request)
    parts["worker"] = worker
    parts["place"] = place
    del parts["limits"]
    parts["environment"] = [
        environment.executable,
        environment.python_version,
        environment.tvm_version,
        environment.tvm_path,
    ]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
