"""Correct kernels that copy a matrix through a ring: one producer, one or more consumers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .style import HEADER, Role, Style, turn
from .writing import Code, Under, text_of


class Barriers(Enum):
    """What the ring's pair of barriers is made with."""

    WRAPPERS = "TMABar and MBarrier"
    PLAIN = "two MBarriers, armed by the instruction"
    PIPELINE = "Pipeline"
    OFFSET = "TMABar and MBarrier(phase_offset=1)"


class Release(Enum):
    """Who says that a stage has been read."""

    EVERY_THREAD = 128
    ONE_LANE_A_WARP = 4
    ONE_THREAD = 1


class Stores(Enum):
    """How the consumers write what they have read."""

    DIRECT = "by themselves"
    OWN = "by TMA, one of their threads issues"
    ROLE = "by TMA, a warp of its own issues, behind a pair of barriers"


class Rounds(Enum):
    """What the loop over tiles is."""

    CONSTANT = "range(a number)"
    COMMENTED = "range(an argument that the comment gives)"
    UNKNOWN = "range(an argument that nothing gives)"
    SCHEDULER = "while valid(), and a loop over the columns"
    STRIDED = "two loops, one in the other"


@dataclass(frozen=True)
class Ring:
    """A ring copy; every combination of fields is a correct kernel."""

    style: Style
    warpgroups: int
    producer: int  # taken modulo the warpgroups
    producer_warp: int
    depth: int
    loads: int  # bulk copies that fill one stage
    arms_each: bool  # an arrival with its bytes for each copy
    barriers: Barriers
    release: Release
    rounds: Rounds
    tiles: int
    stores: Stores
    out_slots: int
    prefills: bool  # the first stages are filled without a wait
    drains: bool  # the producer waits until the last stages are free
    cluster_publish: bool
    init_after_commit: bool
    by_name: bool  # numbers are constants of the module
    elects_inside: bool  # the producer's whole warp waits, one thread of it issues

    def text(self) -> str:
        """Write the kernel's module."""
        return _Writer(self).module()


class _Writer:
    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.style = ring.style
        self.say = ring.style.spelling
        self.producer = ring.producer % ring.warpgroups
        self.consumers = [n for n in range(ring.warpgroups) if n != self.producer]
        self.depth = "DEPTH" if ring.by_name else str(ring.depth)
        part = 128 // ring.loads
        self.part_bytes = f"{part} * 64 * 2" if ring.by_name else str(part * 128)
        self.stage_bytes = "BYTES" if ring.by_name else str(128 * 128)
        self.tiles = {
            Rounds.CONSTANT: str(ring.tiles),
            Rounds.STRIDED: str(ring.tiles),
        }.get(ring.rounds, "TILES")

    def module(self) -> str:
        ring = self.ring
        comment = ring.rounds in (Rounds.COMMENTED, Rounds.SCHEDULER)
        code: Code = [
            HEADER,
            f"DEPTH = {ring.depth}",
            "BYTES = 128 * 64 * 2",
            f"READERS = {len(self.consumers)} * {ring.release.value}",
            "",
        ]
        if comment:
            code.append(f"# tirx-lens: args ROWS=1024 COLS={64 * ring.tiles}")
        code += [Under("def build(ROWS, COLS)", self.builder())]
        return text_of(code)

    def builder(self) -> Code:
        tensors = ", ".join(f'{name}: T.Buffer((ROWS, COLS), "float16")' for name in ("X", "Y"))
        return [
            "TILES = COLS // 64",
            "",
            "@T.prim_func",
            Under(f"def kernel({tensors})", self.kernel()),
            "",
            "return kernel",
        ]

    def kernel(self) -> Code:
        ring, style = self.ring, self.style
        scheduled = ring.rounds is Rounds.SCHEDULER
        code: Code = [
            "T.device_entry()",
            f"cta = T.cta_id([{148 if scheduled else 'ROWS // 128'}])",
        ]
        code += style.declared_ids(ring.warpgroups)
        code += ["pool = T.SMEMPool()", *self.made_barriers()]
        code.append(f'stages = pool.alloc_tcgen05_mma_AB(({self.depth}, 128, 64), "float16")')
        if ring.stores is Stores.OWN:
            shape = f"({len(self.consumers)}, 128, 64)"
            code.append(f'out = pool.alloc_tcgen05_mma_AB({shape}, "float16")')
        elif ring.stores is Stores.ROLE:
            for index in range(len(self.consumers)):
                shape = f"({ring.out_slots}, 128, 64)"
                code += [
                    f'out_{index} = pool.alloc_tcgen05_mma_AB({shape}, "float16")',
                    f"out_full_{index} = MBarrier(pool, {ring.out_slots})",
                    f"out_empty_{index} = MBarrier(pool, {ring.out_slots})",
                ]
        inits = self.inits()
        code += ["pool.commit()", *inits] if ring.init_after_commit else [*inits, "pool.commit()"]
        sync = "cluster_sync" if ring.cluster_publish else "cta_sync"
        code += [self.say.publish, f"T.cuda.{sync}()"]
        if scheduled:
            code += [
                'tiles = ClusterPersistentScheduler2D("tiles", num_m_tiles=ROWS // 128,'
                " num_n_tiles=1, num_clusters=148)",
                "tiles.init(cta)",
                "row = T.meta_var(tiles.m_idx * 128)",
            ]
        else:
            code.append("row = T.meta_var(cta * 128)")
        alone = not ring.elects_inside
        roles = [Role("produce", self.producer, self.produce(), ring.producer_warp, alone)]
        for index, warpgroup in enumerate(self.consumers):
            roles.append(Role(f"consume_{index}", warpgroup, self.consume(index)))
            if ring.stores is Stores.ROLE:
                warp = (ring.producer_warp + 1 + index) % 4
                roles.append(Role(f"store_{index}", self.producer, self.store(index), warp, True))
        return code + style.roles(roles, ring.warpgroups)

    def made_barriers(self) -> Code:
        ring = self.ring
        full_count = ring.loads if ring.arms_each else 1
        if ring.barriers is Barriers.PIPELINE:
            counts = f"init_full={full_count}, init_empty=READERS"
            return [f'pipe = Pipeline(pool, {self.depth}, full="tma", empty="mbar", {counts})']
        full = "MBarrier" if ring.barriers is Barriers.PLAIN else "TMABar"
        offset = ", phase_offset=1" if ring.barriers is Barriers.OFFSET else ""
        return [
            f"full = {full}(pool, {self.depth})",
            f"empty = MBarrier(pool, {self.depth}{offset})",
        ]

    def inits(self) -> Code:
        ring = self.ring
        outs: Code = []
        for index in range(len(self.consumers)) if ring.stores is Stores.ROLE else ():
            outs += [f"out_full_{index}.init(128)", f"out_empty_{index}.init(1)"]
        if ring.barriers is Barriers.PIPELINE:
            return outs
        return [*outs, f"full.init({ring.loads if ring.arms_each else 1})", "empty.init(READERS)"]

    @property
    def full(self) -> str:
        return "pipe.full" if self.ring.barriers is Barriers.PIPELINE else "full"

    @property
    def empty(self) -> str:
        return "pipe.empty" if self.ring.barriers is Barriers.PIPELINE else "empty"

    def produce(self) -> Code:
        ring = self.ring
        first = 0 if ring.barriers is Barriers.OFFSET else 1
        go = turn(self.style, "load", self.depth, first, self.number)
        wait = f"{self.empty}.wait({go.stage}, {go.phase})"
        issue: Code = [] if ring.arms_each else [self.arm(go.stage, self.stage_bytes)]
        part = 128 // ring.loads
        for index in range(ring.loads):
            if ring.arms_each:
                issue.append(self.arm(go.stage, self.part_bytes))
            rows = f"{index * part} : {(index + 1) * part}"
            slot = ":" if ring.loads == 1 else rows
            place = "0" if ring.depth == 1 else go.stage  # TVM drops a dimension of one slot
            source = f"row + {index * part} : row + {(index + 1) * part}"
            issue.append(
                f"Tx.copy_async(\n    stages[{place}, {slot}, :],\n"
                f"    X[{source}, t * 64 : t * 64 + 64],\n"
                f'    dispatch="tma_auto",\n    mbar={self.full}.ptr_to([{go.stage}]),\n)'
            )
        if ring.elects_inside:
            issue = self.style.one_thread(issue, warp=None)
        if ring.prefills and ring.rounds is Rounds.CONSTANT and ring.tiles > ring.depth:
            first_rounds = Under(f"for t in range({self.depth})", [*issue, *go.step])
            others = Under(f"for t in range({self.depth}, {self.tiles})", [wait, *issue, *go.step])
            code = [*go.before, first_rounds, others]
        else:
            code = [*go.before, *self.looped([wait, *issue, *go.step])]
        if ring.drains and go.step:
            code.append(Under(f"for s in range({self.depth})", [wait, *go.step]))
        return code

    def arm(self, stage: str, count: str) -> str:
        if self.ring.barriers is Barriers.PLAIN:
            return self.say.arms.format(bar=f"full.ptr_to([{stage}])", count=count)
        return f"{self.full}.arrive({stage}, {count})"

    def consume(self, index: int) -> Code:
        ring, style = self.ring, self.style
        barrier = index + 1
        go = turn(style, f"read_{index}", self.depth, 0, self.number)
        meet = f"T.cuda.warpgroup_sync({barrier})"
        body: Code = [
            f"{self.full}.wait({go.stage}, {go.phase})",
            f"Tx.copy(mine_{index}[:], stages[{go.stage}, {style.row}, :])",
        ]
        arrive = f"{self.empty}.arrive({go.stage})"
        if ring.release is Release.EVERY_THREAD:
            body.append(arrive)
        elif ring.release is Release.ONE_LANE_A_WARP:
            body += ["T.cuda.warp_sync()", *style.one_thread([arrive], warp=None)]
        else:
            body += [meet, *style.one_thread([arrive])]
        body += go.step
        mine = f'mine_{index} = T.alloc_local((64,), "float16")'
        if ring.stores is Stores.ROLE:
            room = turn(style, f"room_{index}", str(ring.out_slots), 1, self.number)
            slot = "0" if ring.out_slots == 1 else room.stage
            body += [
                f"out_empty_{index}.wait({room.stage}, {room.phase})",
                f"Tx.copy(out_{index}[{slot}, {style.row}, :], mine_{index}[:])",
                self.say.show,
                f"out_full_{index}.arrive({room.stage})",
                *room.step,
            ]
            return [mine, *go.before, *room.before, *self.looped(body)]
        if ring.stores is Stores.OWN:
            store: Code = [
                f"Tx.copy_async(\n    Y[row : row + 128, t * 64 : t * 64 + 64],\n"
                f'    out[{index}, :, :],\n    dispatch="tma_auto",\n)',
                self.say.commit_group,
                self.say.wait_read,
            ]
            body += [
                f"Tx.copy(out[{index}, {style.row}, :], mine_{index}[:])",
                self.say.show,
                meet,
                *style.one_thread(store),
                meet,
            ]
        else:
            target = f"Y[row + {style.row}, t * 64 : t * 64 + 64]"
            body.append(f"Tx.copy({target}, mine_{index}[:])")
        return [mine, *go.before, *self.looped(body)]

    def store(self, index: int) -> Code:
        """Store what a consumer has written, by one thread."""
        ring = self.ring
        go = turn(self.style, f"done_{index}", str(ring.out_slots), 0, self.number)
        slot = "0" if ring.out_slots == 1 else go.stage
        body: Code = [
            f"out_full_{index}.wait({go.stage}, {go.phase})",
            f"Tx.copy_async(\n    Y[row : row + 128, t * 64 : t * 64 + 64],\n"
            f'    out_{index}[{slot}, :, :],\n    dispatch="tma_auto",\n)',
            self.say.commit_group,
            self.say.wait_read,
            f"out_empty_{index}.arrive({go.stage})",
            *go.step,
        ]
        return [*go.before, *self.looped(body)]

    @property
    def number(self) -> str | None:
        """The expression that counts rounds inside the loops, where there is one."""
        if self.ring.rounds is Rounds.SCHEDULER:
            return None
        return "o * 2 + t" if self.ring.rounds is Rounds.STRIDED else "t"

    def looped(self, body: Code) -> Code:
        rounds = self.ring.rounds
        if rounds is Rounds.SCHEDULER:
            inner = Under(f"for t in range({self.tiles})", body)
            return [Under("while tiles.valid()", [inner, "tiles.next_tile()"])]
        if rounds is Rounds.STRIDED:
            inner = Under("for t in T.serial(2)", body)
            return [Under(f"for o in T.serial({self.tiles})", [inner])]
        return [Under(f"for t in range({self.tiles})", body)]
