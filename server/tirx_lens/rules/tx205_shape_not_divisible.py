"""TX205: the tiles of a kernel do not cover a tensor, because its size is no multiple of theirs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.buffers import Memory, Region, memory_of, shape_of_buffer
from tirx_lens.model.expr import Apply, Const, Member, Operator, Slice, constant_int, parts_of
from tirx_lens.model.finding import Finding, Related, Severity
from tirx_lens.model.kernel import Branch, Op
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.facts.copies import destination, origin
from tirx_lens.rules.facts.handoffs import handoffs
from tirx_lens.rules.facts.reachable import Interval, Intervals
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tirx_lens.model.expr import Expr
    from tirx_lens.model.objects import KernelObject
    from tirx_lens.model.source import SourceText
    from tirx_lens.rules.facts.nesting import Placed

_COPIES = (Op.COPY, Op.COPY_ASYNC)
_EXAMPLE = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx

BM, BK = 128, 64


# tirx-lens: args {args}
def build(M, K):
    @T.prim_func
    def kernel(A: T.Buffer((M, K), "float16")):
        T.device_entry()
        cta = T.cta_id([{grid}])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        As = pool.alloc((BM, BK), "float16")
        pool.commit()
        for k in range({steps}):
            Tx.cta.copy(As[:, :], A[cta * BM : cta * BM + BM, k * BK : k * BK + BK]){mark}

    return kernel
"""
_SHIFTED = _EXAMPLE.replace(
    "A[cta * BM : cta * BM + BM, k * BK : k * BK + BK])",
    "A[{row} : {row} + BM, k * BK : k * BK + BK])",
)
_WHOLE = {"args": "M=1024 K=512", "grid": "M // BM", "steps": "K // BK", "mark": "  # <-"}
_SCHEDULED = """\
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.backend.cuda.lang.tile_scheduler import ClusterPersistentScheduler2D

TILE = 256


def build(M, N):
    @T.prim_func
    def kernel(D: T.Buffer((M, N), "float16")):
        T.device_entry()
        rank = T.cta_id_in_cluster([2])
        cluster = T.cluster_id([74])
        tid = T.thread_id([128])
        pool = T.SMEMPool()
        Ds = pool.alloc((128, 256), "float16")
        pool.commit()
        tiles = ClusterPersistentScheduler2D(
            "tiles", num_m_tiles=M // TILE, num_n_tiles=N // TILE, num_clusters=74
        )
        tiles.init(cluster)
        row = T.meta_var(tiles.m_idx * TILE + rank * 128)
        col = T.meta_var(tiles.n_idx * TILE)
        while tiles.valid():
            Tx.cta.copy(D[row : row + 128, col : col + 256], Ds[:, :]){mark}
            tiles.next_tile()

    return kernel


kernel = build({rows}, 512)
"""


@dataclass(frozen=True, slots=True)
class _Access:
    """A copy, the part of a tensor it names, and what indices range over there."""

    place: Placed
    region: Region
    intervals: Intervals


# Strings and comments, which name nothing, and words.
_LEXEMES = re.compile(
    rb"""(?P<quotes>\"{3}|'{3})(?:\\.|[^\\])*?(?:(?P=quotes)|\Z)"""
    rb"""|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\#[^\n]*"""
    rb"""|(?P<word>[A-Za-z_\x80-\xff][\w\x80-\xff]*)[ ]*(?P<colon>:)?""",
    re.DOTALL,
)


class ShapeNotDivisible(Rule):
    """Part of a tensor is left out: its size is no multiple of the tile, or tiles begin too late.

    ## What it does
    With the arguments that the file itself names for the builder, computes how far the copies of a
    kernel reach in each dimension of a tensor of global memory, over all loops, CTAs and tiles of
    the scheduler, and finds dimensions whose end, less than a tile, none of them touches. It also
    finds copies that lie outside of their tensor altogether, and those that begin a tile late:
    they leave the first one out and reach past the last.

    ## Why it is bad
    `M // 128` rounds down. For M = 1000 there are 7 tiles, which cover 896 rows: the last 104 are
    never computed, and hold what was in memory before. Along K the products of the last columns are
    missing from every result. Nothing crashes. Nor does it outside of a tensor, where TMA fills a
    load with zeros and drops a store.

    ## Example
    ```python
    # tirx-lens: args M=1000
    def build(M):
        ...
        cta = T.cta_id([M // 128])
    ```

    ## Use instead
    ```python
    # tirx-lens: args M=1024
    def build(M):
        assert M % 128 == 0
    ```
    or `T.ceildiv(M, 128)` tiles: TMA fills loads beyond the edge with zeros and cuts off stores.

    ## When not to
    It reports a dimension only where the file divides this very size down by its name (`K //
    BK`). Padded rows (`K + 8`), a builder that raises or asserts, and a file with a second
    kernel, which may see to the rest, are left alone. Only tile copies are followed. A tensor
    that is also read or written element by element, whose size or whose loops are not known, or
    of which a whole tile or more is left out, which may well be meant, is not reported.

    ## References
    - PTX ISA, *Tensors: out of bounds access*
    - TVM, `python/tvm/backend/cuda/lang/tile_scheduler.py`, `ClusterPersistentScheduler2D`
    """

    code: ClassVar[str] = "TX205"
    name: ClassVar[str] = "shape-not-divisible"
    levels: ClassVar[str] = "error; warning where copies begin a tile late"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.WRONG_ROWS, Symptom.CRASH, Symptom.NAN)

    VALID = (
        _EXAMPLE.format(args="M=1024 K=512", grid="M // BM", steps="K // BK", mark=""),
        # The first tile is another kernel's; a load that runs ahead past the end, which is zeros.
        _EXAMPLE.format(args="M=1024 K=512", grid="M // BM - 1", steps="K // BK", mark="").replace(
            "cta * BM :", "BM + cta * BM :"
        ),
        _EXAMPLE.format(args="M=1024 K=512", grid="M // BM + 1", steps="K // BK", mark=""),
        # The last tile is not asked for what lies behind it.
        _SHIFTED.format(row="cta * BM + BM", **{**_WHOLE, "mark": ""})
        .replace("        for k", "        if cta < M // BM - 1:\n          for k")
        .replace("            Tx.cta", "              Tx.cta"),
        # Rounded up: TMA and the bounds of a copy see to the rest.
        _EXAMPLE.format(
            args="M=1000 K=500",
            grid="(M + BM - 1) // BM",
            steps="(K + BK - 1) // BK",
            mark="",
        ),
        # A builder without arguments in the file; a whole tile that is left out on purpose.
        _EXAMPLE.format(args="", grid="M // BM", steps="K // BK", mark="").replace("args", "note"),
        _EXAMPLE.format(args="M=1024 K=500", grid="M // BM", steps="K // BK - 1", mark=""),
        # The rest has a copy of its own, or is read one by one.
        _EXAMPLE.format(args="M=1024 K=500", grid="M // BM", steps="K // BK", mark="").replace(
            "\n    return", "        Tx.cta.copy(As[:, 0:52], A[0:BM, 448:500])\n\n    return"
        ),
        _EXAMPLE.format(args="M=1024 K=500", grid="M // BM", steps="K // BK", mark="").replace(
            "\n    return", "        A[0, 499] = T.float16(0)\n\n    return"
        ),
        _SCHEDULED.format(rows=2560, mark=""),
    )

    INVALID = (
        Invalid(
            _EXAMPLE.format(args="M=1024 K=500", grid="M // BM", steps="K // BK", mark="  # <-")
        ),
        Invalid(
            _EXAMPLE.format(args="M=1000 K=512", grid="M // BM", steps="K // BK", mark="  # <-")
        ),
        # Every tile is outside; each is the one behind it.
        Invalid(_SHIFTED.format(row="cta * BM + M", **_WHOLE)),
        Invalid(_SHIFTED.format(row="cta * BM + BM", **_WHOLE), severity=Severity.WARNING),
        # The tile of a pair of CTAs, by a scheduler; the arguments are those of a call.
        Invalid(_SCHEDULED.format(rows=2432, mark="  # <-")),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Follow the copies of each tensor of global memory."""
        program = handoffs(view).program
        if any(place.operation.op is Op.OPAQUE for place in program):
            return
        for tensor, accesses in _accesses(program).items():
            shape = shape_of_buffer(tensor) or ()
            for dimension, size in enumerate(map(constant_int, shape)):
                if size is None:
                    continue
                starts = [_start_of(access, dimension) for access in accesses]
                if any(start is not None and start.high >= size for start in starts):
                    yield from self._outside(view, tensor, dimension, size, accesses)
                reached = [
                    _reaches(access, dimension, size, start)
                    for access, start in zip(accesses, starts, strict=True)
                ]
                ends = [end for end in reached if end is not None]
                if len(ends) < len(reached) or not ends:
                    continue
                last, tile = max(ends)
                if (
                    0 < size - last < tile
                    and _is_only_copied(view, tensor, accesses)
                    and _is_rounded_down(view, tensor, dimension)
                ):
                    yield self._finding(tensor, dimension, size, last, tile, accesses)

    def _outside(
        self,
        view: KernelView,
        tensor: KernelObject,
        dimension: int,
        size: int,
        accesses: list[_Access],
    ) -> Iterator[Finding]:
        """Look for copies of which nothing lies in the tensor, and for those a tile late."""
        spans = [_span_of(access, dimension) for access in accesses]
        first = min((span[0].low for span in spans if span is not None), default=0)
        for access, span in zip(accesses, spans, strict=True):
            if span is None:
                continue
            start, tile = span
            if start.low >= size:
                where = f"begins at {start.low:,} or later"
                yield self._late(Severity.ERROR, tensor, dimension, size, access, where)
            elif (
                start.high >= size
                and first >= tile
                and None not in spans
                and not _is_asked(access, dimension)
                and _is_only_copied(view, tensor, accesses)
            ):
                where = f"begins between {start.low:,} and {start.high:,}, and none before {tile}"
                yield self._late(Severity.WARNING, tensor, dimension, size, access, where)

    def _late(
        self,
        severity: Severity,
        tensor: KernelObject,
        dimension: int,
        size: int,
        access: _Access,
        where: str,
    ) -> Finding:
        message = (
            f"dimension {dimension} of `{tensor.name}` has {size:,} elements, and this copy "
            f"{where}: outside, TMA fills a load with zeros and drops a store. Begin at 0"
        )
        related = [Related(tensor.span, f"`{tensor.name}` has its size here")]
        return self.finding(severity, message, access.place.operation.span, related=related)

    def _finding(
        self,
        tensor: KernelObject,
        dimension: int,
        size: int,
        last: int,
        tile: int,
        accesses: list[_Access],
    ) -> Finding:
        message = (
            f"dimension {dimension} of `{tensor.name}` has {size:,} elements and no copy gets "
            f"beyond {last:,}: {size:,} is no multiple of the tile, {tile}, and the last "
            f"{size - last} are left out. Take a multiple, or round the number of tiles up"
        )
        operation = accesses[0].place.operation
        related = [Related(tensor.span, f"`{tensor.name}` has its size here")]
        return self.finding(Severity.ERROR, message, operation.span, related=related)


_SHAPE = re.compile(r"\(\s*\(([^()]*)\)")
_REFUSES = re.compile(rb"\b(?:raise|assert)\b")
_KERNEL = re.compile(rb"@\w+\.(?:prim_func|jit)\b")


def _is_rounded_down(view: KernelView, tensor: KernelObject, dimension: int) -> bool:
    """Tell whether the text divides this very dimension down, as `K // BK`, and nothing refuses.

    A padded row, a sentinel, or a part that another kernel of the file sees to is left out on
    purpose; a builder that raises is not called with such a size.
    """
    shape = _SHAPE.search(view.source.slice(tensor.span))
    if shape is None or view.mentions(_REFUSES) or view.of_text(_kernels, 0) > 1:
        return False
    sizes = [size.strip() for size in shape.group(1).split(",")]
    if dimension >= len(sizes) or not sizes[dimension].isidentifier():
        return False
    return view.mentions(re.compile(rb"\b" + sizes[dimension].encode() + rb"\s*//"))


def _kernels(source: SourceText, _: int) -> int:
    return len(_KERNEL.findall(source.data))


def _accesses(program: Iterable[Placed]) -> dict[KernelObject, list[_Access]]:
    """Return the copies of each tensor of global memory, in program order."""
    found: dict[KernelObject, list[_Access]] = {}
    for place in program:
        if place.operation.op in _COPIES:
            for region in (destination(place.operation), origin(place.operation)):
                if region is not None and memory_of(region.buffer) is Memory.GLOBAL:
                    access = _Access(place, region, Intervals(place))
                    found.setdefault(region.buffer, []).append(access)
    return found


def _is_only_copied(view: KernelView, tensor: KernelObject, accesses: list[_Access]) -> bool:
    """Tell whether every word of the kernel that names a tensor stands in one of its copies."""
    copies = [access.place.operation.span for access in accesses]
    for offset, declares in view.once(_words).get(tensor.name.encode(), ()):
        is_parameter = declares and offset < tensor.span.end
        if not is_parameter and not any(span.start <= offset < span.end for span in copies):
            return False
    return True


def _words(view: KernelView) -> dict[bytes, list[tuple[int, bool]]]:
    """Return where each name of a kernel's code stands, and whether a colon follows it."""
    start = view.kernel.span.start
    found: dict[bytes, list[tuple[int, bool]]] = {}
    for lexeme in _LEXEMES.finditer(view.source.slice(view.kernel.span).encode()):
        if lexeme["word"]:
            place = (start + lexeme.start(), bool(lexeme["colon"]))
            found.setdefault(lexeme["word"], []).append(place)
    return found


def _is_asked(access: _Access, dimension: int) -> bool:
    """Tell whether a branch around a copy asks for what its index is made of."""
    leaves = set(_leaves(access.region.indices[dimension]))
    branches = (part for part in access.place.around if isinstance(part, Branch))
    return any(leaf in leaves for branch in branches for leaf in _leaves(branch.condition))


def _leaves(expr: Expr) -> Iterator[Expr]:
    """Yield what an expression is made of, constants aside."""
    inner = parts_of(expr)
    if isinstance(expr, Member) or not inner:
        if not isinstance(expr, Const):
            yield expr
        return
    for part in inner:
        yield from _leaves(part)


def _index(access: _Access, dimension: int) -> Expr:
    indices = access.region.indices
    return indices[dimension] if dimension < len(indices) else Slice(None, None)


def _start_of(access: _Access, dimension: int) -> Interval | None:
    """Return where a copy begins in a dimension; None where that is not known."""
    index = _index(access, dimension)
    if not isinstance(index, Slice):
        return access.intervals.of(index)
    return access.intervals.of(index.start) if index.start is not None else Interval(0, 0)


def _span_of(access: _Access, dimension: int) -> tuple[Interval, int] | None:
    """Return where a copy begins in a dimension, and its length; None where that is not known."""
    first = _start_of(access, dimension)
    if not isinstance(_index(access, dimension), Slice):
        return (first, 1) if first is not None else None
    extents = access.region.extents()
    return (first, extents[dimension]) if first is not None and extents is not None else None


def _reaches(
    access: _Access, dimension: int, size: int, first: Interval | None
) -> tuple[int, int] | None:
    """Return where a copy ends at most in a dimension, and the length of the tile it steps by.

    `first` is where it begins.
    """
    index = _index(access, dimension)
    if not isinstance(index, Slice):
        return (first.high + 1, 1) if first is not None else None
    if index.stop is None:
        return size, size
    stop = access.intervals.of(index.stop) if first is not None else None
    if first is None or stop is None or index.step is not None:
        return None
    return stop.high, max(stop.high - first.high, *_strides(index.start or Const(0)), 0)


def _strides(index: Expr) -> Iterator[int]:
    """Yield what an index grows by when one of its variables does: `i * 256` grows by 256."""
    if not isinstance(index, Apply):
        return
    factors = [constant_int(operand) for operand in index.operands]
    known = [factor for factor in factors if factor is not None]
    if index.operator is Operator.MULTIPLY and len(known) == 1:
        yield abs(known[0])
        return
    for operand in index.operands:
        yield from _strides(operand)
