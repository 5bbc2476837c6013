"""The standard shapes of a kernel to start from, in the spelling of 0.27.

They fit together: names that stand for the same thing are the same in all of them, and are those of
`kernels/gemm_step7_warp_specialized.py`. A test builds every one of them.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from enum import Enum

RELEASE = "0.27"
"""The release that the shapes are spelled for."""

_PLACE = re.compile(r"<(\w+)>")
_IMPORTS = re.compile(
    r"^[ \t]*(?:from|import)[ \t](?:[^\n#]*\btvm\b[^\n#]*\btirx|[ \t]*tvm_tirx\b)",
    re.MULTILINE,
)
_SPLIT_OUT = re.compile(r"^[ \t]*(?:from|import)[ \t]+tvm_tirx\b", re.MULTILINE)
_IMPORT = re.compile(
    r"^(?:from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|(?:[^\n\\]|\\\n)+)|import[ \t]+[^\n]+)",
    re.MULTILINE,
)


class Where(Enum):
    """Where a shape may stand."""

    MODULE = "module"
    KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Snippet:
    """One shape: the word that brings it, and its text with places to fill in as `<name>`.

    The editor stops at the names in `asked`, or at all where it is empty. `needs` are those that
    the text takes from TVM.
    """

    word: str
    title: str
    text: str
    where: Where
    needs: tuple[str, ...]
    asked: frozenset[str] = field(default=frozenset())

    @property
    def plain(self) -> str:
        """Return the text with every place filled in with its own name."""
        return _PLACE.sub(r"\1", self.text).rstrip("\n")

    @property
    def body(self) -> str:
        """Return the text as a snippet of LSP: a place is `${1:name}` first and `${1}` after."""
        numbers: dict[str, int] = {}

        def placed(match: re.Match[str]) -> str:
            name = match[1]
            if self.asked and name not in self.asked:
                return name
            if name in numbers:
                return f"${{{numbers[name]}}}"
            numbers[name] = len(numbers) + 1
            return f"${{{numbers[name]}:{name}}}"

        escaped = (
            self.text.rstrip("\n").replace("\\", r"\\").replace("$", r"\$").replace("}", r"\}")
        )
        return f"{_PLACE.sub(placed, escaped)}$0"


def imports_tirx(text: str) -> bool:
    """Tell whether a text imports TIRx."""
    return _IMPORTS.search(text) is not None


def fitting(text: str, before: str) -> tuple[tuple[Snippet, ...], str]:
    """Return the shapes that may begin where a line so far is `before`, and the word typed of one.

    A shape begins a statement, and its word is found by the beginning of each of its parts.
    """
    typed = before.lstrip(" \t")
    if not re.fullmatch(r"\w*", typed) or not imports_tirx(text):
        return (), ""
    where = Where.MODULE if typed == before else Where.KERNEL
    return tuple(
        one
        for one in SNIPPETS
        if one.where is where
        and any(part.startswith(typed.lower()) for part in (one.word, *one.word.split("_")))
    ), typed


def missing_imports(text: str, snippet: Snippet) -> tuple[str, ...]:
    """Return the import statements that a text lacks for a shape."""
    package = "tvm_tirx" if _SPLIT_OUT.search(text) else "tvm"
    wanted: dict[str, list[str]] = {}
    for name in snippet.needs:
        if not _binds(text, name):
            module, said = _SOURCES[name]
            wanted.setdefault(module, []).append(said)
    return tuple(
        f"from {package}.{module} import {', '.join(names)}" for module, names in wanted.items()
    )


def place_of_imports(text: str) -> int:
    """Return the number, from 0, of the line below the last import at the left margin."""
    found = list(_IMPORT.finditer(text))
    return text.count("\n", 0, found[-1].end()) + 1 if found else 0


def _binds(text: str, name: str) -> bool:
    """Tell whether an import of a text, or an assignment at its left margin, binds a name."""
    bound = re.compile(rf"\b{name}\b(?!\s+as\b)(?=\s*(?:[,)#\n]|$))")
    return any(bound.search(one[0]) for one in _IMPORT.finditer(text)) or bool(
        re.search(rf"^{name}\s*=", text, re.MULTILINE)
    )


_SOURCES = {
    "MBarrier": ("backend.cuda.lang.pipeline", "MBarrier"),
    "PipelineState": ("backend.cuda.lang.pipeline", "PipelineState"),
    "TCGen05Bar": ("backend.cuda.lang.pipeline", "TCGen05Bar"),
    "TMABar": ("backend.cuda.lang.pipeline", "TMABar"),
    "ClusterPersistentScheduler2D": (
        "backend.cuda.lang.tile_scheduler",
        "ClusterPersistentScheduler2D",
    ),
    "T": ("script", "tirx as T"),
    "Tx": ("script.tirx", "tile as Tx"),
    "tmem_datapath_layout": ("tirx.layout", "tmem_datapath_layout"),
}
_BARRIERS = ("MBarrier", "TCGen05Bar", "TMABar")

_POOL = """\
pool = T.SMEMPool()
<tmem_addr> = pool.alloc((1,), "uint32")  # tcgen05.alloc writes the address of TMEM here
<full> = TMABar(pool, <DEPTH>)  # TMA has filled a stage
<empty> = TCGen05Bar(pool, <DEPTH>)  # the tensor core has read it
<acc_full> = TCGen05Bar(pool, 1)  # the accumulator is finished
<acc_empty> = MBarrier(pool, 1)  # it has been read out
<As> = pool.alloc_tcgen05_mma_AB((<DEPTH>, <BM>, <BK>), "float16")
<Bs> = pool.alloc_tcgen05_mma_AB((<DEPTH>, <BN>, <BK>), "float16")
<Ds> = pool.alloc_tcgen05_mma_AB((<BM>, <EPI_N>), "float16")
pool.commit()

# Thread 0 initialises the barriers, so this stands above every role branch.
<full>.init(1)
<empty>.init(1)
<acc_full>.init(1)
<acc_empty>.init(<WRITEBACK>)
"""

_MEET = """\
T.ptx.fence.mbarrier_init.release.cluster()
T.cuda.cta_sync()
"""

_ALLOCATE = """\
if <wg_id> == 0:
    if <warp_id> == 0:
        T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](
            T.address_of(<tmem_addr>[0]), T.uint32(<TMEM_COLS>)
        )
"""

_ACCUMULATOR = """\
<tmem_base>: T.let[T.uint32] = <tmem_addr>[0]
<acc> = T.decl_buffer(
    (<BM>, <BN>),
    "float32",
    scope="tmem",
    allocated_addr=<tmem_base>,
    layout=tmem_datapath_layout("D", <BM>, <BN>),
)
"""

_FREE = """\
T.cuda.cta_sync()  # every role is done with TMEM
if <wg_id> == 0:
    if <warp_id> == 0:
        T.ptx["tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"]()
        T.ptx["tcgen05.dealloc.cta_group::1.sync.aligned.b32"](
            <tmem_base>, T.uint32(<TMEM_COLS>)
        )
"""

_PRODUCER = """\
if <warp_id> == 3:
    if T.cuda.elect_sync():
        <load> = PipelineState(<DEPTH>, phase=1)  # every stage is free at first
        while <tiles>.valid():
            for k in range(<K_TILES>):
                <empty>.wait(<load>.stage, <load>.phase)
                <full>.arrive(<load>.stage, <STAGE_BYTES>)
                Tx.copy_async(
                    <As>[<load>.stage, :, :],
                    <A>[<m> : <m> + <BM>, k * <BK> : k * <BK> + <BK>],
                    dispatch="tma_auto",
                    mbar=<full>.ptr_to([<load>.stage]),
                )
                Tx.copy_async(
                    <Bs>[<load>.stage, :, :],
                    <B>[<n> : <n> + <BN>, k * <BK> : k * <BK> + <BK>],
                    dispatch="tma_auto",
                    mbar=<full>.ptr_to([<load>.stage]),
                )
                <load>.advance()
            <tiles>.next_tile()
"""

_CONSUMER = """\
if <warp_id> == 0:
    if T.cuda.elect_sync():
        <mma> = PipelineState(<DEPTH>, phase=0)
        <acc_free> = PipelineState(1, phase=1)  # the accumulator is free at first
        while <tiles>.valid():
            <acc_empty>.wait(0, <acc_free>.phase)
            <acc_free>.advance()
            T.ptx.tcgen05.fence__after_thread_sync()
            for k in range(<K_TILES>):
                <full>.wait(<mma>.stage, <mma>.phase)
                T.ptx.tcgen05.fence__after_thread_sync()
                Tx.gemm_async(
                    <acc>[:, :],
                    <As>[<mma>.stage, :, :],
                    <Bs>[<mma>.stage, :, :],
                    accum=(k != 0),
                    dispatch="tcgen05",
                    cta_group=1,
                )
                <empty>.arrive(<mma>.stage)
                <mma>.advance()
            <acc_full>.arrive(0)
            <tiles>.next_tile()
"""

_WRITEBACK = """\
<acc_done> = PipelineState(1, phase=0)
<acc_f32> = T.wg_reg_tile(<EPI_N>)
<d_f16> = T.wg_reg_tile(<EPI_N>, dtype="float16")
while <tiles>.valid():
    <acc_full>.wait(0, <acc_done>.phase)
    <acc_done>.advance()
    T.ptx.tcgen05.fence__after_thread_sync()
    for i in T.unroll(<BN> // <EPI_N>):
        Tx.wg.copy_async(
            <acc_f32>[:, :],
            <acc>[:, i * <EPI_N> : i * <EPI_N> + <EPI_N>],
            dispatch="tmem<->local",
        )
        T.ptx.tcgen05.wait__ld.sync.aligned()
        Tx.wg.cast(<d_f16>[:, :], <acc_f32>[:, :])
        if i == <BN> // <EPI_N> - 1:
            # All of it is in registers: the next tile may overwrite the accumulator.
            T.ptx.tcgen05.fence__before_thread_sync()
            <acc_empty>.arrive(0)

        Tx.wg.copy(<Ds>[:, :], <d_f16>[:, :])
        # What threads wrote is shown to the TMA engine; then all have done so.
        T.ptx.fence.proxy.async_.shared__cta()
        T.cuda.warpgroup_sync(<WRITEBACK_BARRIER>)
        if <warp_id> == 0:
            if T.cuda.elect_sync():
                Tx.copy_async(
                    <D>[<m> : <m> + <BM>, <n> + i * <EPI_N> : <n> + i * <EPI_N> + <EPI_N>],
                    <Ds>[:, :],
                    dispatch="tma_auto",
                )
                T.ptx.cp.async_.bulk.commit_group()
                T.ptx.cp.async_.bulk.wait_group.read(0)
        # It has been read: the next columns may overwrite it.
        T.cuda.warpgroup_sync(<WRITEBACK_BARRIER>)
    <tiles>.next_tile()
"""

_BUILDER = """\
BM, BN, BK = 128, 128, 64  # the tile of D, and one step along K
DEPTH = 4  # stages in the ring
STAGE_BYTES = (BM + BN) * BK * 2  # one block of A and one of B, float16
EPI_N = 64  # columns of D written back at a time
TMEM_COLS = 128  # one column holds one float32 for each of 128 lanes
NUM_CTAS = 148  # one persistent CTA for each SM
WRITEBACK = 128  # threads in the writeback warpgroup
WRITEBACK_BARRIER = 1  # their named barrier; id 0 is cta_sync's own


# tirx-lens: args M=2048 N=2048 K=512
def <gemm>(M, N, K):
    \"\"\"D = A @ B.T for M and N multiples of 128, K a multiple of 64.\"\"\"
    K_TILES = K // BK

    @T.prim_func
    def <kernel>(
        A: T.Buffer((M, K), "float16"),
        B: T.Buffer((N, K), "float16"),
        D: T.Buffer((M, N), "float16"),
    ):
        T.device_entry()
        cta = T.cta_id([NUM_CTAS])
        wg_id = T.warpgroup_id([2])
        warp_id = T.warp_id_in_wg([4])
        lane_id = T.lane_id([32])

"""

_TILES = """\

# Every role walks over the same tiles with a scheduler of its own.
tiles = ClusterPersistentScheduler2D(
    "tiles", num_m_tiles=M // BM, num_n_tiles=N // BN, num_clusters=NUM_CTAS
)
tiles.init(cta)
m = T.meta_var(tiles.m_idx * BM)
n = T.meta_var(tiles.n_idx * BN)

"""


def _indented(text: str, columns: int) -> str:
    return textwrap.indent(text, " " * columns)


def _skeleton() -> str:
    return "".join(
        (
            _BUILDER,
            _indented(_POOL + _ALLOCATE + _MEET + _ACCUMULATOR + _TILES, 8),
            _indented("if wg_id == 1:\n", 8),
            _indented(f"{_PRODUCER}el{_CONSUMER}", 12),
            _indented("elif wg_id == 0:\n", 8),
            _indented(_WRITEBACK, 12),
            "\n",
            _indented(_FREE, 8),
            "\n    return <kernel>\n",
        )
    )


SNIPPETS = (
    Snippet(
        "tirx_gemm",
        "GEMM: TMA producer, MMA and writeback as roles, over persistent tiles",
        _skeleton(),
        Where.MODULE,
        tuple(_SOURCES),
        frozenset({"gemm", "kernel"}),
    ),
    Snippet(
        "tirx_barriers",
        "Shared memory and mbarriers: pool, init, fence, sync",
        _POOL + _MEET,
        Where.KERNEL,
        ("T", *_BARRIERS),
    ),
    Snippet(
        "tirx_tma_producer",
        "TMA producer: one elected thread fills the ring",
        _PRODUCER,
        Where.KERNEL,
        ("T", "Tx", "PipelineState"),
    ),
    Snippet(
        "tirx_mma_consumer",
        "MMA issuer: one elected thread multiplies what has landed",
        _CONSUMER,
        Where.KERNEL,
        ("T", "Tx", "PipelineState"),
    ),
    Snippet(
        "tirx_writeback",
        "Writeback of a warpgroup: TMEM, registers, shared memory, TMA store",
        _WRITEBACK,
        Where.KERNEL,
        ("T", "Tx", "PipelineState"),
    ),
    Snippet(
        "tirx_tmem_alloc",
        "TMEM: allocation by one warp, and the accumulator in it",
        f"{_ALLOCATE}T.cuda.cta_sync()  # publishes the address\n{_ACCUMULATOR}",
        Where.KERNEL,
        ("T", "tmem_datapath_layout"),
    ),
    Snippet(
        "tirx_tmem_dealloc",
        "TMEM: cleanup at the end, by the warp that allocated it",
        _FREE,
        Where.KERNEL,
        ("T",),
    ),
)
