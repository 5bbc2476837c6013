"""What the tests look for in the CUDA text of a kernel.

The generated file holds helpers first and the kernel last; only the kernel's body counts
here, where each call of a helper is one instruction of the program.
"""

import re
from dataclasses import dataclass

# TVM 0.26 and 0.27 name their helpers differently; each pattern takes both.
_INIT = re.compile(r"_mbarrier_init(?:_init_shared_b64)?\(.*?(?:\(uint\))?(\d+)\);$", re.MULTILINE)
_ARM = re.compile(r"_expect_tx\w*\(.*?(?:\(uint\))?(\d+)\);$", re.MULTILINE)
_LOAD = re.compile(r"cp_async_bulk_tensor_(?:g2s|global_to_)\w*\(")
_STORE = re.compile(r"cp_async_bulk_tensor_(?:s2g|shared_to_global)\w*\(")
_MMA = re.compile(r"tcgen05_mma_\w*\(")
_COMMIT = re.compile(r"tcgen05_commit_\w*\(")
_ALLOC = re.compile(r"tcgen05_alloc\w*\(.*?(?:\(uint\))?(\d+)\);$", re.MULTILINE)
_DEALLOC = re.compile(r"tcgen05_dealloc\w*\(.*?(?:\(uint\))?(\d+)\);$", re.MULTILINE)


@dataclass(frozen=True)
class Landmarks:
    """What a kernel's body holds: instruction counts, and the numbers that go with them."""

    arrivals: tuple[int, ...]  # the count of each mbarrier.init, in the order of the text
    armed: tuple[int, ...]  # bytes of each arrive.expect_tx
    loads: int = 0  # TMA loads
    stores: int = 0  # TMA stores
    mmas: int = 0  # tcgen05.mma
    commits: int = 0  # tcgen05.commit
    tmem_columns: tuple[int, ...] = ()  # of each tcgen05.alloc, which dealloc must repeat


def kernel_body(cuda: str) -> str:
    """Return the text of the kernel itself, without the helpers in front of it."""
    return cuda[cuda.rindex('extern "C" __global__') :]


def landmarks(cuda: str) -> Landmarks:
    """Read the landmarks of the kernel in a generated file."""
    body = kernel_body(cuda)
    numbers = {
        name: tuple(int(number) for number in pattern.findall(body))
        for name, pattern in (("init", _INIT), ("arm", _ARM), ("alloc", _ALLOC))
    }
    return Landmarks(
        arrivals=numbers["init"],
        armed=numbers["arm"],
        loads=len(_LOAD.findall(body)),
        stores=len(_STORE.findall(body)),
        mmas=len(_MMA.findall(body)),
        commits=len(_COMMIT.findall(body)),
        tmem_columns=numbers["alloc"],
    )


def freed_columns(cuda: str) -> tuple[int, ...]:
    """Return the columns of each tcgen05.dealloc."""
    return tuple(int(number) for number in _DEALLOC.findall(kernel_body(cuda)))
