"""The things to check: what each mistake does on the hardware, and how to look for it.

Sources: PTX ISA, *Parallel Synchronization and Communication Instructions: mbarrier*, *Data
Movement and Conversion Instructions: Asynchronous copy* and *TensorCore 5th Generation
Instructions*; and runs of each mistake on a GPU (`tests/hardware`).
"""

from __future__ import annotations

from tirx_lens.suspects.suspect import Topic

ARRIVALS = Topic(
    "Arrival counts",
    "A phase ends when as many arrivals have come as `init` was given. One too few, and whoever "
    "waits waits for ever; one too many, and the next phase ends early, so that a wait returns "
    "before the data is there.",
    "Count the threads that get to each `arrive`; a TMA barrier and a commit count one.",
)
BYTES = Topic(
    "Bytes of TMA loads",
    "A phase that is armed with more bytes than come never ends; one that is armed with fewer "
    "ends before the last tile has landed, or hangs once the count of bytes runs below zero.",
    "Add up the tiles that are loaded on the barrier in one turn, and hold it against `arrive`.",
)
INITS = Topic(
    "Barrier inits",
    "`init` is executed by one thread of the CTA. In a branch which that thread does not take "
    "nothing is initialised: the first wait hangs or the launch fails.",
    "Put every `init` above the first role branch.",
)
PUBLISHING = Topic(
    "Inits and addresses published",
    "A thread that uses a barrier, or the TMEM address, before it was written reads what was in "
    "SMEM before: the launch fails, or the wait hangs.",
    "Between the inits and the roles: an mbarrier-init fence, then a sync that all threads reach.",
)
MEETINGS = Topic(
    "Threads that meet",
    "A barrier of the CTA waits for all of its threads, a named one for its count. Threads that "
    "never come make the others wait for ever; threads of two groups at one id let each other "
    "go too early.",
    "Hold each guard around a meeting against the threads that it expects.",
)
TILES = Topic(
    "Steps of the tile scheduler",
    "A scheduler's position is in registers of each thread. A thread that skips `next_tile()` "
    "stays at its tile for ever, and the others wait for it.",
    "Every thread that tests `valid()` has to reach one `next_tile()` in each turn.",
)
ROUNDS = Topic(
    "How often each side goes round",
    "A consumer that waits once more than its producer signals never returns; one that waits "
    "less often leaves data behind, and takes the wrong stage in the next tile.",
    "Compare the loops of both sides, prologues and peeled rounds included.",
)
PHASES = Topic(
    "First phases",
    "Whoever waits for data must block at first (phase 0), whoever waits for room must pass "
    "(phase 1). Two equal ones stop at once, or let the first reads through before any data.",
    "Look at the state that each wait uses: where it is made, and each `advance()` of it.",
)
RUNS = Topic(
    "The handoffs, run",
    "All roles were run together with the rules of mbarriers, at small sizes.",
    "`tirx-lens timeline` draws the run.",
)
UNDERSTOOD = Topic(
    "What could not be understood",
    "Nothing is said about these places: what they do may be right or wrong.",
    "Read them yourself, or write them so that they can be followed.",
)
POOL = Topic(
    "SMEM pool",
    "What is allocated after `commit()` lies behind the SMEM that the launch was given: the "
    "launch fails, or a barrier is written over.",
    "Allocate everything, barrier wrappers too, above `commit()`, and keep the sum in the limit.",
)
TMEM = Topic(
    "TMEM allocated and freed",
    "`tcgen05.alloc` and `dealloc` are of whole warps: one lane alone is undefined. TMEM that "
    "is freed while another role reads it gives that role someone else's columns.",
    "Guard them by a warp, never by a lane, with a sync of all its users before the dealloc.",
)
BOUNDS = Topic(
    "Shapes and bounds",
    "Element accesses beyond a tensor are an illegal access. TMA fills loads beyond the edge with "
    "zeros and drops stores; tiles rounded down leave the last rows as they were.",
    "Try one tile, then a size that is a multiple of every tile; look at the tile indices.",
)
FILLED = Topic(
    "Data there before it is read",
    "A read that nothing orders behind the write gets what was there before: numbers of an "
    "earlier tile, in places that differ from run to run, or NaN.",
    "Follow the way from the write to the read: signal, wait, fence.",
)
FREED = Topic(
    "Storage free before it is written again",
    "A write that overtakes the last read mixes two tiles. Small shapes often come out right, "
    "because nothing is in a hurry.",
    "Follow the way from the last read to the next write of the same stage.",
)
PROXY = Topic(
    "Proxy fences",
    "TMA and the tensor core read SMEM by the async proxy: what threads wrote is not there for "
    "them before a proxy fence. About one element in a hundred is stale, another one each run.",
    "Each writing thread needs `fence.proxy.async` between its writes and the sync.",
)
STORES = Topic(
    "TMA stores drained",
    "A TMA store reads SMEM after the instruction has been issued. Without `commit_group` and "
    "`wait_group` the next tile overwrites what it still reads, or the kernel ends first.",
    "Behind each store, by the thread that issued it: commit, then wait, then a sync.",
)
COMMITS = Topic(
    "Commits by one thread",
    "A commit of a thread that issued no MMA arrives at once: TMA then overwrites the stage "
    "that the tensor core still reads.",
    "`tcgen05.commit` belongs into the same elected thread as the MMAs before it.",
)
ORDERED_READS = Topic(
    "TMEM reads behind their wait",
    "A wait tells that the MMA is done; only `fence.after_thread_sync` orders this thread's "
    "tcgen05 instructions behind it, and only `tcgen05.wait.ld` says that registers are filled.",
    "Behind the wait: the fence. Behind the load, before its registers are used: the wait.",
)
INDICES = Topic(
    "Rows and tiles",
    "Stripes of 128 rows, or whole tiles in the wrong place, are the work of one role: its tile "
    "index or its share of the rows.",
    "Put in the first and the last tile by hand, for each CTA of the cluster.",
)
ACCUMULATORS = Topic(
    "The first MMA of a tile",
    "TMEM is not cleared when it is allocated: an MMA that accumulates the first time adds to "
    "what the kernel before left, which may be NaN.",
    "The first MMA of each tile needs `accum` false.",
)
UNWRITTEN = Topic(
    "Storage that nothing is seen to write",
    "What is read and was never written holds anything, NaN included.",
    "Find the write; where it is an element store, look at its guard.",
)
OPERANDS = Topic(
    "Operands and layouts",
    "The tensor core reads SMEM by a descriptor. A layout that is not the one it was written in "
    "gives numbers of other places, or none.",
    "The swizzle of the buffer, of the TMA load and of the MMA have to be one.",
)
VALUES = Topic(
    "Masks, scales and functions with a domain",
    "A masked row is all -inf, and -inf - (-inf), 0/0, log of 0 or exp of a large number give "
    "NaN or inf for the whole row.",
    "Put in a fully masked row, zeros, and the largest value of the type.",
)
RANGE = Topic(
    "Range of the accumulator",
    "float16 ends at 65,504: sums beyond it are inf, and inf - inf is NaN.",
    "Accumulate in float32, and scale before the cast.",
)
DISPATCH = Topic(
    "Hardware paths",
    "Without TMA the threads copy the tile themselves; without tcgen05 there is no tensor core. "
    "Both are right, and an order of magnitude slower.",
    "Look for `cp.async.bulk.tensor` and `tcgen05.mma` in the CUDA.",
)
RINGS = Topic(
    "Stages of the ring",
    "With one stage load and MMA take turns. Each further stage lets the producer run ahead.",
    "2 to 4 stages, as far as SMEM goes.",
)
OCCUPANCY = Topic(
    "Registers, spills and occupancy",
    "Spilled registers go through local memory. SMEM, TMEM columns, registers and threads bound "
    "the CTAs that an SM holds at once.",
    "Fewer values alive, smaller stages, or `setmaxnreg` between roles.",
)
LOOPS = Topic(
    "Loops that stay loops",
    "A short loop over registers that is not unrolled indexes them at run time, which puts them "
    "into local memory, and keeps instructions from overlapping.",
    "`T.unroll` for short loops of known length around register tiles.",
)
STALLS = Topic(
    "Points where everybody waits",
    "A sync, or a wait for all stores, in the inner loop drains the pipeline in each turn.",
    "Move it out of the loop, or leave groups in flight: `wait_group` of more than 0.",
)
