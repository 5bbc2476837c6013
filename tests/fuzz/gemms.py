"""Correct kernels that multiply matrices: a loader, an MMA issuer, a writeback warpgroup."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .rings import Release
from .style import HEADER, Counter, Ids, Role, Style, turn
from .writing import Code, Under, text_of


class Clearing(Enum):
    """How the first multiplication of a tile forgets what the accumulator held."""

    UNEQUAL = "k != 0"
    GREATER = "k > 0"
    PEELED = "a first step of its own"


@dataclass(frozen=True)
class Gemm:
    """A GEMM; every combination of fields is a correct kernel."""

    style: Style
    load: tuple[int, int]  # warpgroup and warp
    mma: tuple[int, int]
    writer: int  # warpgroup
    idle: int  # warpgroups that do nothing
    owner: tuple[int, int]  # of TMEM
    depth: int
    acc_slots: int
    columns: int  # written back at a time
    k: int  # steps along K
    known: bool  # the comment says how many
    persistent: bool
    arms_each: bool
    clearing: Clearing
    frees_early: bool  # the accumulator is free when its last columns are in registers
    release: Release
    stores: bool
    waits_late: bool  # for the last store, before the next write of its buffer
    elects_inside: bool
    alloc_first: bool
    drains: bool
    pair: bool  # two CTAs of a cluster share the work of a tile; persistent

    def text(self) -> str:
        """Write the kernel's module."""
        return _Writer(self).module()


class _Writer:
    def __init__(self, gemm: Gemm) -> None:
        self.gemm = gemm
        self.style = gemm.style
        self.say = gemm.style.spelling
        # The writer has a warpgroup to itself; the two others may share one, in two warps of it.
        others = [0, 1, 2]
        others.remove(gemm.writer)
        self.load = others[gemm.load[0] % 2], gemm.load[1]
        self.mma = others[gemm.mma[0] % 2], gemm.mma[1]
        if self.mma == self.load:
            self.mma = self.mma[0], (self.mma[1] + 1) % 4
        self.count = 3 + gemm.idle
        self.k = "K_TILES"
        self.persistent = gemm.persistent or gemm.pair
        self.group = 2 if gemm.pair else 1
        self.tile_n = 128 * self.group
        self.acc_columns = self.tile_n * gemm.acc_slots

    def module(self) -> str:
        gemm = self.gemm
        code: Code = [HEADER, f"DEPTH = {gemm.depth}", f"TMEM_COLS = {self.acc_columns}", ""]
        if gemm.known:
            code.append(f"# tirx-lens: args M=2048 N=2048 K={64 * gemm.k}")
        code.append(Under("def build(M, N, K)", self.builder()))
        return text_of(code)

    def builder(self) -> Code:
        shapes = (("A", "M, K"), ("B", "N, K"), ("D", "M, N"))
        tensors = ", ".join(f'{name}: T.Buffer(({shape}), "float16")' for name, shape in shapes)
        return [
            "K_TILES = K // 64",
            "",
            "@T.prim_func",
            Under(f"def kernel({tensors})", self.kernel()),
            "",
            "return kernel",
        ]

    def kernel(self) -> Code:
        gemm, style = self.gemm, self.style
        code: Code = ["T.device_entry()"]
        if gemm.pair:
            code += ["rank = T.cta_id_in_cluster([2])", "cta = T.cluster_id([74])"]
        elif self.persistent:
            code.append("cta = T.cta_id([148])")
        else:
            code.append("bm, bn = T.cta_id([M // 128, N // 128])")
        code += style.declared_ids(self.count)
        if style.ids in (Ids.WARP, Ids.THREAD):  # what `Tx.wg` asks of TVM
            code.append(f"group = T.warpgroup_id([{self.count}])")
        code += [
            "pool = T.SMEMPool()",
            'tmem_addr = pool.alloc((1,), "uint32")',
            "full = TMABar(pool, DEPTH)",
            "empty = TCGen05Bar(pool, DEPTH)",
            f"acc_full = TCGen05Bar(pool, {gemm.acc_slots})",
            f"acc_empty = MBarrier(pool, {gemm.acc_slots})",
            'As = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")',
            'Bs = pool.alloc_tcgen05_mma_AB((DEPTH, 128, 64), "float16")',
            f'Ds = pool.alloc_tcgen05_mma_AB((128, {gemm.columns}), "float16")',
            "pool.commit()",
        ]
        inits: Code = [
            f"full.init({2 if gemm.arms_each else 1})",
            "empty.init(1)",
            "acc_full.init(1)",
            f"acc_empty.init({self.group} * {gemm.release.value})",
        ]
        kind = "A" if gemm.pair else "D"
        alloc = self.owned([self.say.alloc("tmem_addr[0]", "TMEM_COLS", self.group)])
        code += [*alloc, *inits] if gemm.alloc_first else [*inits, *alloc]
        code += [
            self.say.publish,
            f"T.cuda.{self.sync}()",
            "tmem_base: T.let[T.uint32] = tmem_addr[0]",
            f'acc = T.decl_buffer(\n    (128, {self.acc_columns}),\n    "float32",\n'
            '    scope="tmem",\n    allocated_addr=tmem_base,\n'
            f'    layout=tmem_datapath_layout("{kind}", 128, {self.acc_columns}),\n)',
        ]
        if self.persistent:
            code += [
                f'tiles = ClusterPersistentScheduler2D("tiles", num_m_tiles=M // {self.tile_n},'
                f" num_n_tiles=N // {self.tile_n}, num_clusters={148 // self.group})",
                "tiles.init(cta)",
                f"m = T.meta_var(tiles.m_idx * {self.tile_n}{' + rank * 128' * gemm.pair})",
                f"n = T.meta_var(tiles.n_idx * {self.tile_n})",
                f"b_row = T.meta_var(n{' + rank * 128' * gemm.pair})",
            ]
        else:
            code += [
                "m = T.meta_var(bm * 128)",
                "n = T.meta_var(bn * 128)",
                "b_row = T.meta_var(n)",
            ]
        alone = not gemm.elects_inside
        code += style.roles(
            [
                Role("produce", self.load[0], self.produce(), self.load[1], alone),
                Role("multiply", self.mma[0], self.multiply(), self.mma[1], alone),
                Role("write_back", gemm.writer, self.write_back()),
            ],
            self.count,
        )
        end: Code = [
            self.say.relinquish(self.group),
            self.say.dealloc("tmem_base", "TMEM_COLS", self.group),
        ]
        return [*code, f"T.cuda.{self.sync}()", *self.owned(end)]

    @property
    def sync(self) -> str:
        return "cluster_sync" if self.gemm.pair else "cta_sync"

    def leading(self, body: Code) -> Code:
        """Let the first CTA of a pair do it, for both."""
        return [Under("if rank == 0", body)] if self.gemm.pair else body

    def committed(self, barrier: str, slot: str) -> str:
        more = ", cta_group=2, cta_mask=3" if self.gemm.pair else ""
        return f"{barrier}.arrive({slot}{more})"

    def owned(self, body: Code) -> Code:
        """Let the warp that owns TMEM do it."""
        warpgroup, warp = self.gemm.owner
        return self.style.guarded(
            [f"{self.style.wg} == {warpgroup}", f"{self.style.warp} == {warp}"], body
        )

    def elected(self, body: Code) -> Code:
        return self.style.one_thread(body, warp=None) if self.gemm.elects_inside else body

    def tiled(self, body: Code) -> Code:
        if not self.persistent:
            return body
        return [Under("while tiles.valid()", [*body, "tiles.next_tile()"])]

    @property
    def number(self) -> str | None:
        return None if self.persistent else "k"

    def produce(self) -> Code:
        gemm = self.gemm
        go = turn(self.style, "load", "DEPTH", 1, self.number)
        half = f"{self.group} * 128 * 64 * 2"
        signal = "leader_full" if gemm.pair else "full"
        more = "    cta_group=2,\n" if gemm.pair else ""
        wait = f"empty.wait({go.stage}, {go.phase})"
        whole: Code = [f"full.arrive({go.stage}, 2 * {half})"]
        issue: Code = [] if gemm.arms_each else self.leading(whole)
        for tile, tensor, at in (("As", "A", "m"), ("Bs", "B", "b_row")):
            if gemm.arms_each:
                issue += self.leading([f"full.arrive({go.stage}, {half})"])
            issue.append(
                f"Tx.copy_async(\n    {tile}[{go.stage}, :, :],\n"
                f"    {tensor}[{at} : {at} + 128, k * 64 : k * 64 + 64],\n"
                f'    dispatch="tma_auto",\n{more}    mbar={signal}.ptr_to([{go.stage}]),\n)'
            )
        body: Code = [wait, *self.elected(issue), *go.step]
        view: Code = ["leader_full = full.remote_view(0)"] if gemm.pair else []
        code = [*view, *go.before, *self.tiled([Under(f"for k in range({self.k})", body)])]
        if (gemm.drains or gemm.pair) and go.step:
            code.append(Under("for s in range(DEPTH)", [wait, *go.step]))
        return code

    def acc(self, name: str, first: int) -> tuple[Code, str, str, Code]:
        """Go through the accumulators: before, slot, phase, step."""
        gemm = self.gemm
        if not self.persistent and self.style.counter is Counter.ROUND:
            return [], "0", str(first), []
        go = turn(self.style, name, str(gemm.acc_slots), first, None)
        stage = "0" if gemm.acc_slots == 1 else go.stage
        return go.before, stage, go.phase, go.step

    def multiply(self) -> Code:
        gemm = self.gemm
        go = turn(self.style, "mma", "DEPTH", 0, self.number)
        before, slot, phase, step = self.acc("acc_free", 1)
        n = self.tile_n
        columns = ":" if gemm.acc_slots == 1 else f"{slot} * {n} : {slot} * {n} + {n}"

        def one(accum: str) -> Code:
            gemm_call = (
                f"Tx.gemm_async(\n    acc[:, {columns}],\n    As[{go.stage}, :, :],\n"
                f"    Bs[{go.stage}, :, :],\n    accum={accum},\n"
                f'    dispatch="tcgen05",\n    cta_group={self.group},\n)'
            )
            return [
                f"full.wait({go.stage}, {go.phase})",
                self.say.after,
                *self.elected([gemm_call, self.committed("empty", go.stage)]),
                *go.step,
            ]

        if gemm.clearing is Clearing.PEELED and go.step:
            steps = [*one("False"), Under(f"for k in range(1, {self.k})", one("True"))]
        else:
            accum = "k > 0" if gemm.clearing is Clearing.GREATER else "(k != 0)"
            steps = [Under(f"for k in range({self.k})", one(accum))]
        tile: Code = [
            f"acc_empty.wait({slot}, {phase})",
            self.say.after,
            *steps,
            *self.elected([self.committed("acc_full", slot)]),
            *step,
        ]
        return self.leading([*go.before, *before, *self.tiled(tile)])

    def write_back(self) -> Code:
        gemm, style = self.gemm, self.style
        before, slot, phase, step = self.acc("acc_done", 0)
        parts = self.tile_n // gemm.columns
        n = gemm.columns
        at = f"i * {n}" if gemm.acc_slots == 1 else f"{slot} * {self.tile_n} + i * {n}"
        meet = "T.cuda.warpgroup_sync(1)"
        free: Code = [self.say.before]
        arrive = f"acc_empty.arrive({slot}{', remote=0' * gemm.pair})"
        if gemm.release is Release.EVERY_THREAD:
            free.append(arrive)
        elif gemm.release is Release.ONE_LANE_A_WARP:
            free += ["T.cuda.warp_sync()", *style.one_thread([arrive], warp=None)]
        else:
            free += [meet, *style.one_thread([arrive])]
        part: Code = [
            f"Tx.wg.copy_async(\n    acc_f32[:, :],\n    acc[:, {at} : {at} + {n}],\n"
            '    dispatch="tmem<->local",\n)',
            self.say.wait_load,
            "Tx.wg.cast(d_f16[:, :], acc_f32[:, :])",
        ]
        if gemm.frees_early:
            part.append(Under(f"if i == {parts - 1}", free))
        if gemm.stores:
            store: Code = [
                f"Tx.copy_async(\n    D[m : m + 128, n + i * {n} : n + i * {n} + {n}],\n"
                '    Ds[:, :],\n    dispatch="tma_auto",\n)',
                self.say.commit_group,
            ]
            if gemm.waits_late:
                part += [*style.one_thread([self.say.wait_read]), meet]
            else:
                store.append(self.say.wait_read)
            part += ["Tx.wg.copy(Ds[:, :], d_f16[:, :])", self.say.show, meet]
            part += style.one_thread(store)
            if not gemm.waits_late:
                part.append(meet)
        else:
            part.append(f"Tx.wg.copy(D[m : m + 128, n + i * {n} : n + i * {n} + {n}], d_f16[:, :])")
        tile: Code = [
            f"acc_full.wait({slot}, {phase})",
            self.say.after,
            Under(f"for i in T.unroll({parts})", part),
        ]
        if not gemm.frees_early:
            tile += free
        code: Code = [
            f"acc_f32 = T.wg_reg_tile({n})",
            f'd_f16 = T.wg_reg_tile({n}, dtype="float16")',
            *before,
            *self.tiled([*tile, *step]),
        ]
        if gemm.stores and gemm.waits_late:
            code += style.one_thread([self.say.wait_read])
        return code
