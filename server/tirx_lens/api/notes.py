"""What operations do, in a sentence or two, and where PTX describes them.

Keyed by canonical names: those of instructions by the beginning of their opcode (the longest that
fits decides), tile operations without their scope, methods with their class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Note:
    """What an operation does, and its section of the PTX ISA, where it is one instruction."""

    text: str
    section: str = ""


def note_for(name: str) -> Note | None:
    """Return the note on a canonical name: `T.ptx.mbarrier.init.shared.b64`, `Tx.wg.copy`."""
    if name.startswith("T.ptx."):
        words = name[len("T.ptx.") :].replace("::", ".").split(".")
        for length in range(len(words), 0, -1):
            note = _PTX.get(".".join(words[:length]))
            if note is not None:
                return note
        return None
    if name.startswith("Tx."):
        return _TILE.get(name.rpartition(".")[2])
    return _NAMES.get(name)


_MBARRIER = "Parallel Synchronization and Communication Instructions: mbarrier"
_TCGEN05 = "TensorCore 5th Generation Family Instructions"
_BULK = "Data Movement and Conversion Instructions: cp.async.bulk"

_PTX: Mapping[str, Note] = {
    "mbarrier.init": Note(
        "Sets an mbarrier in SMEM up: a phase ends when so many arrivals, and all bytes that were "
        "announced, have come. Publish it before other threads use it.",
        _MBARRIER,
    ),
    "mbarrier.inval": Note(
        "Ends the life of an mbarrier: its memory may be used again.", _MBARRIER
    ),
    "mbarrier.arrive": Note(
        "Counts one arrival, or as many as it is told, towards the end of the current phase, and "
        "makes what this thread wrote visible to those who wait for it.",
        _MBARRIER,
    ),
    "mbarrier.arrive.expect_tx": Note(
        "Announces bytes that asynchronous copies will bring, then counts one arrival: the phase "
        "ends when those bytes are there too.",
        _MBARRIER,
    ),
    "mbarrier.expect_tx": Note("Announces bytes that copies will bring; no arrival.", _MBARRIER),
    "mbarrier.complete_tx": Note("Counts bytes as delivered, without a copy.", _MBARRIER),
    "mbarrier.try_wait": Note(
        "Asks whether the phase with this parity has ended, and may sleep a while before it says "
        "no: a wait is a loop around it.",
        _MBARRIER,
    ),
    "mbarrier.test_wait": Note(
        "Asks whether the phase with this parity has ended, and answers at once.", _MBARRIER
    ),
    "fence.mbarrier_init": Note(
        "Publishes the inits of mbarriers before it to the cluster and to asynchronous copies.",
        "membar/fence",
    ),
    "fence.proxy.async": Note(
        "Orders plain loads and stores of this thread before later accesses by the engines (TMA, "
        "tensor core), which see memory another way. Each writer needs its own.",
        "membar/fence: proxy fences",
    ),
    "fence.proxy_async": Note(
        "Orders plain loads and stores of this thread before later accesses by the engines (TMA, "
        "tensor core), which see memory another way. Each writer needs its own.",
        "membar/fence: proxy fences",
    ),
    "fence": Note(
        "Orders this thread's accesses to memory for threads of a scope.", "membar/fence"
    ),
    "cp.async.bulk.commit_group": Note(
        "Closes the group of this thread's bulk stores so far, so that they can be waited for.",
        _BULK,
    ),
    "cp.async.bulk.wait_group": Note(
        "Waits until at most so many of this thread's newest groups are under way; with `.read`, "
        "only until their sources in SMEM have been read and may be written again.",
        _BULK,
    ),
    "cp.async.bulk": Note(
        "Starts a copy by the TMA engine. A load tells its end to an mbarrier in bytes; a store "
        "belongs to a group of the thread that issued it.",
        _BULK,
    ),
    "cp.async": Note(
        "Starts copies of 4, 8 or 16 bytes from global memory to SMEM, waited for in groups.",
        "Data Movement and Conversion Instructions: cp.async",
    ),
    "tcgen05.alloc": Note(
        "Allocates columns of TMEM, a power of two from 32 to 512, and writes their address to "
        "SMEM. A whole warp executes it, and waits where there are not enough free.",
        f"{_TCGEN05}: tcgen05.alloc",
    ),
    "tcgen05.dealloc": Note(
        "Frees columns of TMEM; every column must be freed before the CTA ends. A whole warp "
        "executes it, when nobody reads or writes them any more.",
        f"{_TCGEN05}: tcgen05.dealloc",
    ),
    "tcgen05.relinquish_alloc_permit": Note(
        "Promises that this CTA allocates no more TMEM, so that others may.",
        f"{_TCGEN05}: tcgen05.relinquish_alloc_permit",
    ),
    "tcgen05.commit": Note(
        "Has the mbarrier get one arrival when all asynchronous tcgen05 operations that this "
        "thread issued before have ended. It implies a fence before a thread synchronisation.",
        f"{_TCGEN05}: tcgen05.commit",
    ),
    "tcgen05.wait.ld": Note(
        "Waits until the registers of this thread's TMEM loads are filled.",
        f"{_TCGEN05}: tcgen05.wait",
    ),
    "tcgen05.wait.st": Note(
        "Waits until this thread's stores to TMEM are done.", f"{_TCGEN05}: tcgen05.wait"
    ),
    "tcgen05.fence.after_thread_sync": Note(
        "Orders tcgen05 operations that follow behind the synchronisation before it: without it "
        "a TMEM load may run ahead of the wait for the MMA.",
        f"{_TCGEN05}: tcgen05.fence",
    ),
    "tcgen05.fence.before_thread_sync": Note(
        "Orders the tcgen05 operations before it ahead of the synchronisation that follows.",
        f"{_TCGEN05}: tcgen05.fence",
    ),
    "tcgen05.mma": Note(
        "Starts a matrix multiplication by the tensor core into TMEM. One thread issues it; its "
        "end is told by a commit.",
        f"{_TCGEN05}: tcgen05.mma",
    ),
    "tcgen05.ld": Note(
        "Starts a load from TMEM into registers. Each warp of a warpgroup reads its own 32 lanes; "
        "the registers are filled once `wait::ld` returns.",
        f"{_TCGEN05}: tcgen05.ld",
    ),
    "tcgen05.st": Note(
        "Starts a store from registers into TMEM. Each warp of a warpgroup writes its own 32 "
        "lanes; it is done once `wait::st` returns.",
        f"{_TCGEN05}: tcgen05.st",
    ),
    "tcgen05.cp": Note("Starts a copy from SMEM into TMEM.", f"{_TCGEN05}: tcgen05.cp"),
    "setmaxnreg": Note(
        "Gives registers of each thread back, or takes more and waits until they are free. The "
        "whole warpgroup executes the same one.",
        "Miscellaneous Instructions: setmaxnreg",
    ),
    "bar": Note(
        "One of the 16 named barriers of the CTA: the threads that come meet when as many as the "
        "count are there. All name the same count, a multiple of 32.",
        "Parallel Synchronization and Communication Instructions: bar",
    ),
    "barrier.cluster.arrive": Note(
        "Says that this thread has come to the cluster's barrier, and goes on.",
        "Parallel Synchronization and Communication Instructions: barrier.cluster",
    ),
    "barrier.cluster.wait": Note(
        "Waits until every thread of the cluster has come to its barrier.",
        "Parallel Synchronization and Communication Instructions: barrier.cluster",
    ),
    "griddepcontrol.wait": Note(
        "Waits until the grids that this one depends on have ended and their memory is visible.",
        "Miscellaneous Instructions: griddepcontrol",
    ),
    "griddepcontrol.launch_dependents": Note(
        "Lets the grids that depend on this one start.",
        "Miscellaneous Instructions: griddepcontrol",
    ),
    "elect_sync": Note("True in one lane of each warp, the same one every time."),
    "elect": Note("Elects one lane of a warp, the same one every time.", "elect.sync"),
    "mapa": Note(
        "Turns an address in this CTA's SMEM into the same one in another CTA of the cluster.",
        "Data Movement and Conversion Instructions: mapa",
    ),
    "wgmma": Note(
        "A matrix multiplication of Hopper's tensor core, by a whole warpgroup into registers.",
        "Asynchronous Warpgroup Level Matrix Instructions",
    ),
}

_TILE: Mapping[str, Note] = {
    "copy": Note("Copies a tile; the threads of its scope share the work, and wait for nothing."),
    "copy_async": Note(
        "Starts a copy of a tile and goes on. `dispatch=` says how: by TMA (`mbar=` is told the "
        "bytes of a load), by `cp.async`, between TMEM and registers, or to another CTA."
    ),
    "gemm_async": Note(
        "Starts a multiplication of tiles by the tensor core, added to what `C` holds with "
        '`accum=True`. With `dispatch="tcgen05"` one thread issues it, and `C` is in TMEM.'
    ),
    "gemm": Note("Multiplies tiles with the tensor core of one warp, into registers."),
    "cast": Note("Converts a tile to the type of its destination, element by element."),
    "fill": Note("Sets every element of a tile to a value."),
    "zero": Note("Sets every element of a tile to zero."),
    "sum": Note("Adds up a tile along some axes."),
    "max": Note("Finds the largest elements of a tile along some axes."),
}

_WAIT = Note(
    "Waits until the phase with this parity has ended at this slot. A wait for a parity that is "
    "not the current one returns at once."
)
_INIT = Note(
    "Sets every slot up with this many arrivals a phase. Thread 0 of the CTA does it, whoever else "
    "comes here: behind a guard that keeps it out, nobody does."
)
_POINTER = Note("The address of a slot, for copies and instructions.")
_REMOTE = Note("The same barrier in the SMEM of another CTA of the cluster, for arrivals.")

_NAMES: Mapping[str, Note] = {
    "T.cuda.cta_sync": Note(
        "Every thread of the CTA that has not returned meets here, and sees what the others wrote "
        "before. Also known as `__syncthreads()`."
    ),
    "T.cuda.warpgroup_sync": Note(
        "The 128 threads of a warpgroup meet at the named barrier of this number."
    ),
    "T.cuda.warp_sync": Note("The 32 lanes of a warp meet."),
    "T.cuda.cluster_sync": Note("Every thread of the cluster that has not returned meets here."),
    "T.cuda.elect_sync": Note("True in one lane of each warp, the same one every time."),
    "T.cuda.mbarrier_wait": _WAIT,
    "T.device_entry": Note(
        "From here on the function is the kernel; what is above runs on the host."
    ),
    "T.cta_id": Note("Declares the place of the CTA in the grid, with the grid's extents."),
    "T.warpgroup_id": Note("Declares which warpgroup of the CTA a thread is in."),
    "T.warp_id_in_wg": Note("Declares which warp of its warpgroup a thread is in."),
    "T.warp_id": Note("Declares which warp of the CTA a thread is in."),
    "T.lane_id": Note("Declares the lane of a thread in its warp."),
    "T.thread_id": Note("Declares the number of a thread in its CTA."),
    "T.SMEMPool": Note(
        "Lays buffers and barriers out in the CTA's dynamic SMEM. `commit()` fixes its size: what "
        "is allocated afterwards lies past the end."
    ),
    "T.meta_var": Note("Binds a name while the kernel is built; no variable of the kernel."),
    "MBarrier.init": _INIT,
    "TMABar.init": _INIT,
    "TCGen05Bar.init": _INIT,
    "MBarrier.wait": _WAIT,
    "TMABar.wait": _WAIT,
    "TCGen05Bar.wait": _WAIT,
    "MBarrier.arrive": Note(
        "Each thread that comes here counts as one arrival at the slot, and what it wrote before "
        "is visible to those who wait."
    ),
    "TMABar.arrive": Note(
        "Announces the bytes that TMA loads will bring to this phase, and counts one arrival: one "
        "thread does it, before or after it starts the loads."
    ),
    "TCGen05Bar.arrive": Note(
        "Commits this thread's tcgen05 operations to the slot: it gets one arrival when they have "
        "ended. The thread that issued them does it."
    ),
    "MBarrier.ptr_to": _POINTER,
    "TMABar.ptr_to": _POINTER,
    "TCGen05Bar.ptr_to": _POINTER,
    "MBarrier.remote_view": _REMOTE,
    "TMABar.remote_view": _REMOTE,
    "TCGen05Bar.remote_view": _REMOTE,
    "SMEMPool.alloc": Note("Takes room for a buffer from the pool, at the next aligned byte."),
    "SMEMPool.commit": Note("Fixes the pool's size, which the launch asks for."),
    "PipelineState.advance": Note(
        "Steps to the next stage; past the last one it comes to the first, and the phase flips."
    ),
}
