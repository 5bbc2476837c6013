"""Results of earlier builds, in memory, by all that a result depends on."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from typing import TYPE_CHECKING

from tirx_lens.worker.codec import encode
from tirx_lens.worker.messages import Stage

if TYPE_CHECKING:
    from tirx_lens.worker.messages import BuildRequest, BuildResult, Environment

CAPACITY = 64
"""Results kept. The CUDA text of a large kernel is a few hundred kilobytes."""

# What these stages report may be otherwise next time, with the same sources.
_PASSING = frozenset({Stage.ENVIRONMENT, Stage.LIMIT, Stage.WORKER})


class ResultCache:
    """The most recently used results."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._results: OrderedDict[str, BuildResult] = OrderedDict()

    def get(self, key: str) -> BuildResult | None:
        """Return the result under a key of `key_of`, if it is still here."""
        if key in self._results:
            self._results.move_to_end(key)
        return self._results.get(key)

    def put(self, key: str, result: BuildResult) -> None:
        """Keep a result, unless another run of the same build could give another one."""
        if any(item.stage in _PASSING for item in result.diagnostics):
            return
        self._results[key] = result
        self._results.move_to_end(key)
        while len(self._results) > self._capacity:
            self._results.popitem(last=False)


def key_of(request: BuildRequest, environment: Environment) -> str:
    """Return a hash of the sources, the arguments, the target and the TVM; limits do not count."""
    parts = encode(request)
    del parts["limits"]
    parts["environment"] = [
        environment.executable,
        environment.python_version,
        environment.tvm_version,
        environment.tvm_path,
    ]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
