"""What each mutant does, by operator. Read it beside the kernels; the first row that fits counts.

Phases: `wait(parity)` returns once the phase of that parity is over; a barrier that has ended no
phase yet lets parity 1 pass and holds parity 0. Races are harmful though one run may come out
right. A code beside a verdict is a rule that ought to say so; where there are several, each might.
"""

from __future__ import annotations

from .verdict import Row, harmful, harmless, unjudged

_BUILT = "make *|alloc *|state *"
_BLACKWELL_TUTORIAL = "step[1-6]"
_FORMAL = unjudged("PTX asks for this fence; after wait.ld nothing was ever seen to go wrong")
_SAME_GROUP = unjudged("one warpgroup issues and reads; shipped kernels leave this fence out")
_IN_FLIGHT = unjudged("a commit may still be on its way to a CTA that is gone: PTX orders nothing")
_LEFT = unjudged("those who skip it leave the kernel, and the hardware waits for them no longer")
_FREED_TWICE = unjudged("several warps free the same columns; the book prints it so")
_WASTE = unjudged("the same tile stored again: waste, for which a warning is wanted")
_LUCKY_ID = unjudged("id 0 is cta_sync's own, which nothing else uses meanwhile: right by luck")
_HELD_BACK = harmless("with two blocks or more the rings of K and V hold the loads back already")
_NO_DATA = "is read before its data is there"
_MMAS = unjudged("PTX asks for this fence before an MMA; nothing was ever seen to go wrong without")

DROP = [
    Row(_BUILT, harmful("the name is undefined: TVM refuses", "TX504")),
    Row("pool.commit", harmful("the kernel is launched without its shared memory", "TX201")),
    Row("init *", harmful("the barrier word is whatever was there", "TX109")),
    Row("tcgen05.alloc", harmful("the TMEM address is whatever was there", "TX204", "TX209")),
    Row("tcgen05.dealloc", harmful("the columns are never given back", "TX204")),
    Row("tcgen05.relinquish", harmless("only keeps other CTAs from allocating a little longer")),
    Row("fence init", harmful("race: the asynchronous proxy may not see the barrier", "TX306")),
    Row(
        "sync publish",
        harmful("the TMEM address is read before it is there", "TX209"),
        "step[123]",  # all meet again before a barrier is used
    ),
    Row("sync publish", harmful("barriers and TMEM address used before they are there", "TX306")),
    Row("sync written", harmful("race: read before the other threads have written", "TX309")),
    Row("sync read", harmful("race: overwritten while the store still reads", "TX309")),
    Row("sync teardown", harmless("the meeting after the last store comes before it"), "step[456]"),
    Row("sync teardown", harmless("freed by the draining group after its own meeting"), "step7"),
    Row(
        "sync teardown",
        harmful("race: freed while other warps read TMEM", "TX203"),
        "step[123]|attention",
    ),
    Row("sync teardown", harmful("a CTA goes while the other still signals it", "TX203")),
    Row("wait * (drain)|advance * (drain)", _IN_FLIGHT),
    Row("wait q_empty", _HELD_BACK),
    Row("wait full|wait [qkv]_full", harmful(f"race: the stage {_NO_DATA}", "TX309")),
    Row(
        "wait empty|wait [qkv]_empty",
        harmful("race: the stage is overwritten while it is read", "TX309"),
    ),
    Row("wait [spo]_full", harmful(f"race: TMEM {_NO_DATA}", "TX309")),
    Row("wait [so]_empty", harmful("race: TMEM is overwritten while it is read", "TX309")),
    Row("wait pv_done", harmful("race: the output is corrected while PV adds to it", "TX309")),
    Row("wait o_scaled", harmful("race: PV adds before the output is corrected", "TX309")),
    Row("wait factor_full|wait sum_full", harmful(f"race: the number {_NO_DATA}", "TX309")),
    Row("wait factor_empty|wait sum_empty", harmful("race: overwritten before read", "TX309")),
    Row("wait done", harmful("race: As and Bs are overwritten while the MMA reads", "TX309")),
    Row("wait acc_full", harmful(f"race: the accumulator {_NO_DATA}", "TX309")),
    Row("wait acc_empty", harmful("race: the next tile overwrites what is being read", "TX309")),
    Row("arrive *", harmful("hang: a phase never ends", "TX109", "TX104")),
    Row("advance *", harmful("waits for the same slot and phase again: hang or race", "TX113")),
    Row("fence after full", harmless("TMA data needs no tcgen05 fence, the barrier is enough")),
    Row("fence after acc_empty", _FORMAL),
    Row("fence after *", _SAME_GROUP, _BLACKWELL_TUTORIAL),
    Row("fence after s_empty|fence after o_scaled", _MMAS),
    Row(
        "fence after acc_full|fence after [so]_full|fence after pv_done",
        harmful("race: TMEM loads may run ahead of the wait", "TX304"),
    ),
    Row("fence before*", _FORMAL),
    Row("fence proxy", harmful("race: the engine may not see what threads wrote", "TX302")),
    Row("wait.ld*", harmful("race: registers used before they are loaded", "TX305")),
    Row("wait.st*", harmful("race: PV reads what is not yet in TMEM", "TX309")),
    Row("load *", harmful("hang: bytes that were armed never come", "TX110")),
    Row("store", harmful("wrong: the tile is never stored", "TX303")),
    Row("commit_group", harmful("race: wait_group has nothing to wait for", "TX303")),
    Row("wait_group", harmful("race: SMEM is reused while the store reads", "TX303")),
    Row("next_tile *", harmful("hang: the same tile for ever", "TX105")),
]

DUPLICATE = [
    Row("alloc As|alloc Bs|alloc Ds", harmful("more SMEM than there is", "TX206"), "step9"),
    Row("alloc [QKV]s", harmful("more SMEM than there is", "TX206")),
    Row("make pool", unjudged("how TVM lays out two pools was not looked into")),
    Row(_BUILT, harmless("the second takes its place; the first lies idle")),
    Row("pool.commit", harmless("the same size twice")),
    Row("init *", unjudged("PTX leaves a second init undefined; no effect was ever seen")),
    Row("tcgen05.alloc", harmful("the first columns are never given back", "TX204")),
    Row("tcgen05.dealloc", harmful("frees what is free already: undefined", "TX204")),
    Row("tcgen05.relinquish", unjudged("PTX does not say what a second one does")),
    Row("fence *", harmless("once more changes nothing")),
    Row("sync *", harmless("all who met meet again")),
    Row("wait *", harmless("the phase that is over stays over until this role goes on")),
    Row("arrive *", harmful("two arrivals for one: a phase ends early or its bytes lack", "TX104")),
    Row("advance *", harmful("skips a slot, or flips the phase back", "TX107", "TX113")),
    Row(
        "wait.ld*|wait.st*|wait_group|commit_group",
        harmless("nothing is left to wait for or to commit"),
    ),
    Row("load *", harmful("twice the bytes that were armed", "TX110")),
    Row("store", harmless("the same tile twice, in one group")),
    Row("next_tile all", harmful("wrong: every second tile is left out")),
    Row("next_tile *", harmful("the roles work on different tiles", "TX105")),
]

NARROW = [
    Row("*", harmless("the guard keeps nobody out"), change="same"),
    Row("*", unjudged("elect_sync may pick any lane, and picks lane 0 today"), change="elected"),
    Row("init *", harmless("thread 0 is inside"), change="lane|warp"),
    Row("init *", harmful("thread 0 is outside: never initialised", "TX101")),
    Row("fence init", harmless("the initialising thread is inside"), change="lane|warp"),
    Row("fence init", harmful("race: the initialising thread is outside", "TX306")),
    Row("sync teardown", _LEFT, change="warp|warpgroup"),
    Row(
        "sync written|sync read",
        harmful("race: the other warpgroup, with an id of its own, does not meet", "TX309"),
        "step9",
        "warpgroup",
    ),
    Row(
        "sync written|sync read", harmful("hang or race: half a meeting", "TX103"), "step[789]|ring"
    ),
    Row("sync *", harmful("hang: part of the CTA never comes", "TX102")),
    Row("wait *", unjudged("the other lanes wait where the warp comes together"), change="lane"),
    Row("wait *", harmful("race: the others do not wait", "TX309")),
    Row("arrive *", harmful("hang: too few arrivals", "TX104")),
    Row("advance *", harmful("the others keep their old slot and phase", "TX113")),
    Row("fence after full", harmless("TMA data needs no tcgen05 fence")),
    Row("fence after acc_empty|fence before*", _FORMAL),
    Row("fence after *", _SAME_GROUP, _BLACKWELL_TUTORIAL),
    Row("fence after *", unjudged("lanes of one warp load together"), change="lane"),
    Row("fence after *", harmful("race: the others' loads run ahead", "TX304")),
    Row("fence proxy", harmful("race: the others' writes are not shown", "TX302")),
    Row("wait.ld*", harmful("race: the others do not wait", "TX305")),
    Row("tcgen05.*", harmful("one lane of an instruction for whole warps", "TX202")),
    Row("store", harmful("wrong: one group's tiles are never stored", "TX303")),
    Row("commit_group|wait_group", harmful("race: one group's store is not drained", "TX303")),
    Row("next_tile *", harmful("hang: the others never move on", "TX105")),
]

WIDEN = [
    Row("if tcgen05.alloc", harmless("there is one warpgroup"), "step[1-6]", "wg_id *"),
    Row("if tcgen05.alloc", harmful("several warps allocate, one frees", "TX204")),
    Row("if tcgen05.relinquish", harmless("there is one warpgroup"), "step[1-6]", "wg_id *"),
    Row("if tcgen05.relinquish", _FREED_TWICE),
    Row("if arrive full", unjudged("arms a barrier nobody waits on, past its count")),
    Row("if fence before*", harmful("arrives once for each half of the tile", "TX104")),
    Row("if store|if row|if col", _WASTE),
    Row("*", harmless("nobody else is left"), change="elif wg_id *"),
    Row("*", harmful("every lane issues and arrives", "TX301", "TX308"), change="elect"),
    Row("*", harmful("several warps do the work of one", "TX104")),
]

OUT_OF_LOOP = [
    Row("wait q_empty", unjudged("right with two blocks or more, and not meant")),
    Row("wait * (drain)", harmful("hang: the state has gone round to a phase that never ends")),
    *DROP,  # once, when all rounds are over, is too late
]

OUT_OF_GUARD = [
    Row("wait o_scaled", harmful("hang: nothing is corrected before the first block", "TX108")),
    Row("wait factor_empty", harmful("race: overwritten before it is read", "TX309")),
    Row("advance *", harmful("the phase turns where nothing was waited for", "TX107", "TX108")),
    Row("arrive factor_full", harmful("a factor for the first block too", "TX104", "TX106")),
    Row("arrive pv_done", harmful("nobody waits for the last block's", "TX104", "TX106")),
    Row("arrive o_empty", harmful("arrives once for each half of the tile", "TX104")),
    Row("arrive acc_empty", harmful("arrives once for each half of the tile", "TX104")),
    Row("arrive *", harmful("every lane of the warp commits", "TX301")),
    Row("commit_group", harmful("race: the wait comes before it", "TX303")),
    Row("wait_group", harmless("lanes with no groups do not wait")),
    Row("store", harmful("32 stores, none in the group", "TX303", "TX308")),
    Row("fence before*", _FORMAL),
    Row("tcgen05.relinquish", unjudged("PTX does not say what a second one does")),
    Row("tcgen05.dealloc", _FREED_TWICE),
]

INTO = [
    Row("sync teardown", harmful("race: freed while others read", "TX203"), "attention"),
    Row("wait sum_empty|wait.ld*|wait.st*", harmless("waits more often")),
    Row("arrive q_empty|arrive o_full", harmful("a commit at every block", "TX104")),
    Row("advance v_use", harmful("stays where it is after the last block", "TX113", "TX108")),
    Row("advance o_*", harmful("moves on in the middle of a tile", "TX107", "TX309")),
    Row("fence after o_scaled", _MMAS),
    Row("wait *", harmful("race: the other warps do not wait", "TX309")),
    Row("arrive acc_full", harmful("a commit at every step ends the phase too early", "TX104")),
    Row("fence after *", harmless("the last round still fences")),
    Row("fence init", harmless("the initialising thread is inside")),
    Row("load As", harmful("hang: one CTA's block is never loaded", "TX110")),
    Row("load Bs", harmful("twice the bytes that were armed", "TX110")),
    Row("next_tile *", harmful("moves on in the middle of a tile", "TX105")),
    Row("sync read", harmful("hang: part of the CTA never comes", "TX102"), "step[456]"),
    Row("sync read", harmful("hang: 32 threads of 128 come", "TX103")),
    Row("sync teardown", harmless("all threads go round the loop together"), "step[456]"),
    Row("sync teardown", _LEFT),
]

FAR = [
    Row("wait q_empty", _HELD_BACK),
    Row(
        "init acc_full|init done",
        harmless("all meet again, behind a proxy fence, before its first use"),
        "step[123]",
    ),
    Row("init *", harmful("used before it is there", "TX306")),
    Row("tcgen05.alloc", harmful("the address is read before it is there", "TX209")),
    Row("pool.commit", harmful("everything lies past the end", "TX201")),
    Row("wait *", harmful("race: the wait comes after the use", "TX309")),
]

SWAP = [
    # Set-up.
    Row("alloc * / pool.commit", harmful("the last allocation lies past the end", "TX201")),
    Row("pool.commit / *", harmless("the pool's size is known while the kernel is built")),
    Row("init * / init *", harmless("independent")),
    Row("init * / if *|if * / fence init", harmless("independent")),
    Row("init empty / fence init", harmless("threads alone arrive there, and they meet"), "ring"),
    Row("init empty / fence init", harmful("race: one barrier is not published", "TX306")),
    Row("fence init / sync publish", harmful("race: used before the fence", "TX306")),
    Row("sync publish / tmem_base", harmful("the address is read before it is there", "TX209")),
    Row("wait q_empty / arrive q_full", _HELD_BACK),
    # Attention: what is independent; the wrong slot; too early; too late.
    Row("advance o_* / next_tile *|advance q_use / next_tile *", harmless("independent")),
    Row("advance * / loop wait k_empty|advance s_use / Tx.sum", harmless("independent")),
    Row("advance ?_use / advance ?_use|advance ?_use / advance ?_put", harmless("independent")),
    Row("wait k_full / wait s_empty|wait v_full / wait p_full", harmless("independent")),
    Row("wait p_full / if wait o_scaled|fence after o_scaled / p_col", harmless("independent")),
    Row("load Ks / wait v_empty|loop wait s_full / wait sum_empty", harmless("independent")),
    Row("arrive k_empty / arrive s_full|arrive v_empty / *", harmless("independent")),
    Row("arrive s_empty / if arrive pv_done|if arrive pv_done / *", harmless("independent")),
    Row("arrive s_full / advance k_use|arrive sum_full / next_tile *", harmless("independent")),
    Row("arrive factor_empty / *|arrive sum_empty / *", harmless("independent")),
    Row("advance factor_put / *|advance sum_* / *|wait.ld* / last_top*", harmless("independent")),
    Row(
        "arrive q_empty / advance q_use|arrive o_full / advance o_put|arrive p_full / *",
        harmful("arrives for the wrong slot", "TX108", "TX309"),
    ),
    Row("loop * / advance o_*", harmful("works on the wrong slot", "TX309")),
    Row("wait q_full / loop *", harmful(f"race: the stage {_NO_DATA}", "TX309")),
    Row("wait o_empty / loop *", harmful("race: overwritten while it is read", "TX309")),
    Row("wait factor_full / by*", harmful(f"race: the number {_NO_DATA}", "TX309")),
    Row("factors* / *|sums* / *", harmful(f"race: the number {_NO_DATA}", "TX309")),
    Row("by* / *|share* / *", harmful("race: given back before it is read", "TX309")),
    Row(
        "loop * / arrive q_empty|loop * / arrive o_full",
        harmful("race: the commit covers no MMA of the tile", "TX309"),
    ),
    Row("loop * / wait.st*", harmful("race: PV reads what is not yet in TMEM", "TX309")),
    Row("loop * / wait.ld*", harmful("race: used before loaded", "TX305")),
    Row("wait.st* / fence before*", _FORMAL),
    Row("* / fence after s_empty|fence after s_empty / *|* / fence after o_scaled", _MMAS),
    Row("fence after pv_done / *", harmful("race: the fence comes after the loads", "TX304")),
    Row(
        "wait [so]_full / fence *|fence after [so]_full / *",
        harmful("race: the fence does not stand between wait and loads", "TX304"),
    ),
    # Fences.
    Row("advance * / fence *", harmless("independent")),
    Row("fence after * / acc_f32", harmless("independent")),
    Row("wait full / fence *|fence after full / *", harmless("TMA data needs no tcgen05 fence")),
    Row("* / fence after *|fence after * / *", _SAME_GROUP, _BLACKWELL_TUTORIAL),
    Row("fence after acc_empty / *", _FORMAL),
    Row("fence after acc_full / *", harmful("race: the fence comes after the loads", "TX304")),
    Row("fence before* / Tx.wg.cast", harmless("independent")),
    Row("fence before* / *|wait.ld* / fence before*", _FORMAL),
    Row("copy * / fence proxy", harmful("race: the fence comes before the writes", "TX302")),
    Row("fence proxy / sync written", harmless("the issuer's own fence is on the way to the read")),
    # Rings.
    Row(
        "arrive full / load *|if arrive full / load *|arrive [qkv]_full / load *",
        harmless("bytes may run ahead"),
    ),
    Row("load As / load Bs|loop row / load Bs", harmless("independent")),
    Row("load * / advance *", harmful("the last block lands in the next slot", "TX110")),
    Row("load Bs / wait full", harmful("hang: waits for what it has not asked for", "TX108")),
    Row("wait empty / arrive full", harmless("this thread saw the slot's phase end"), "step[56]"),
    Row("wait *empty / *arrive *full", harmful("race: armed while its last phase runs", "TX309")),
    Row("wait * / advance *", harmful("waits for the wrong slot or phase", "TX107")),
    Row("wait full / copy my_row", harmful(f"race: the stage {_NO_DATA}", "TX309")),
    Row("gemm / arrive *", harmful("race: the commit covers no MMA of this step", "TX309")),
    Row("copy my_row / arrive empty", harmful("race: given back before it is read", "TX309")),
    Row("arrive empty / wait empty", harmful("hang: waits for its own arrival", "TX108")),
    Row("arrive empty / advance *", harmful("arrives for the wrong slot", "TX108", "TX309")),
    Row("advance read / copy out", harmless("independent")),
    Row("arrive acc_full / next_tile *", harmless("independent")),
    Row("loop * / arrive acc_full", harmful("race: the commit covers no MMA of the tile", "TX309")),
    Row("loop * / next_tile *", harmful("the roles work on different tiles", "TX105")),
    Row("if * / wait *", harmful("hang: waits for what it issues afterwards", "TX108")),
    # Writeback and the end.
    Row("read * / wait.ld*|wait.ld* / *", harmful("race: used before loaded", "TX305")),
    Row("sync written / *", harmful("race: read before all have written", "TX309")),
    Row("store / commit_group|commit_group / *", harmful("race: not drained", "TX303")),
    Row("if * / sync read", harmful("race: overwritten while the store reads", "TX309")),
    Row("copy D / sync teardown", harmless("TMEM has been read")),
    Row("loop * / sync teardown", harmless("the meeting in the loop's last round stands")),
    Row("if * / sync teardown", harmless("freed by the group that drains"), "step7"),
    Row("if * / sync teardown", harmful("race: freed while others read", "TX203"), "attention"),
    Row("if * / sync teardown", harmful("a CTA goes while the other still signals it", "TX203")),
    Row("tcgen05.relinquish / tcgen05.dealloc", harmless("independent")),
    Row(
        "sync teardown / *",
        harmful("race: freed while others read", "TX203"),
        "step[1239]|attention",
    ),
    Row("sync teardown / *", harmless("own meetings come before it"), "step[4567]"),
    Row("sync teardown / *", unjudged("the pair frees together; whether it waits is not said")),
]

_TWO_GROUPS = harmful("two groups meet at one barrier", "TX103")
_OVERLAP = harmful("the last stage lies over what comes next", "TX111")

CONSTANT = [
    Row("init *", harmful("hang: one arrival lacks", "TX104"), change="count + 1"),
    Row("init *", harmful("the phase ends early, or never begins", "TX104")),
    Row("arrive full", harmful("hang: no bytes are armed", "TX115"), change="no bytes"),
    Row(
        "arrive full", harmful("hang: bytes armed and bytes sent differ", "TX110"), change="*bytes"
    ),
    Row("state *", harmful("the first wait passes, or never does", "TX107"), change="phase *"),
    Row(
        "state *", harmful("the roles go round different rings", "TX111", "TX108"), change="depth *"
    ),
    Row("alloc *", harmful("more SMEM than there is", "TX206"), "step9", "depth + 1"),
    Row("alloc *|make *", harmless("one slot lies idle"), change="depth + 1"),
    Row("alloc *", _OVERLAP),
    Row("make *", harmful("a slot past the end", "TX111")),
    Row("wait * (drain)", _IN_FLIGHT, change="slot 0"),
    Row("wait * (drain)", unjudged("right for 8 steps a tile, not for 4"), change="phase 1"),
    Row("wait *|arrive *", harmful("a slot past the end", "TX111"), change="slot 1|slot + depth"),
    Row("wait *|arrive *", harmful("the wrong slot", "TX108", "TX104"), change="slot 0"),
    Row("wait *", harmful("the wrong phase: hang or race", "TX107")),
    Row("arrive acc_empty", harmful("hang: arrives in the wrong CTA", "TX104")),
    Row("arrive *", harmful("cta_group differs from the MMA's: undefined"), change="cta_group 1"),
    Row("arrive *", harmful("hang: the other CTA never hears", "TX104")),
    Row("sync *", harmful("there are 16 barriers, 0 to 15", "TX103"), change="id 16"),
    Row("sync *", harmless("a free id"), change="another id"),
    Row("sync *", harmful("mixes with cta_sync", "TX103"), "step7", "id 0"),
    Row("sync *", _TWO_GROUPS, "step9"),
    Row("sync *", _LUCKY_ID),
    Row(
        "tcgen05.*",
        harmful("cta_group differs from the MMA's: undefined", "TX204"),
        change="cta_group 1",
    ),
    Row("tcgen05.alloc", harmful("no power of two", "TX207"), change="100 columns"),
    Row("tcgen05.*", harmful("allocated and freed columns differ", "TX204", "TX207")),
    Row("wait_group", harmful("race: the one group may still read", "TX303")),
    Row("load *", harmful("hang: the bytes arrive nowhere", "TX110", "TX401"), change="no mbar"),
    Row("load *", harmful("the bytes arrive at the wrong slot", "TX110"), change="mbar *"),
    Row("load *", harmful("hang: the leader waits for both CTAs", "TX110"), change="own barrier"),
    Row("load *", harmful("may not signal another CTA's barrier"), change="no cta_group"),
    Row("load *", harmful("hang: mbar is ignored", "TX401"), change="no dispatch"),
    Row("store", unjudged("what TVM chooses is right too"), change="no dispatch"),
    Row("gemm", harmless("TVM has one choice"), change="no dispatch"),
    Row("gemm", harmful("adds to what was there before", "TX307"), change="always *"),
    Row("gemm", harmful("one CTA's MMA on the layout of two"), change="cta_group 1"),
    Row("loop * (drain)", _IN_FLIGHT, change="one round fewer"),
    Row("loop * (drain)", harmful("hang: waits for one more", "TX108")),
    Row("loop row", harmful("bytes armed and bytes sent differ", "TX110")),
    Row("loop *", harmful("producer and consumer differ in rounds", "TX106")),
]

HOST = [
    Row("DEPTH", harmful("more SMEM than there is", "TX206"), "step*", "8"),
    Row("DEPTH", harmless("another depth of the ring, everywhere")),
    Row("TMEM_COLS", harmless("more columns than needed"), "step[1-7]", "256"),
    Row("TMEM_COLS", harmful("too few columns, too many, or no power of two", "TX207")),
    Row("WRITEBACK|CONSUMER", harmful("more arrivals than counted", "TX104")),
    Row("*_BARRIER", harmful("there are 16 barriers, 0 to 15", "TX103"), change="16"),
    Row("*_BARRIER", harmful("the second group's id is 16", "TX103"), "step9", "15"),
    Row("*_BARRIER", harmless("a free id"), change="15"),
    Row("*_BARRIER", harmful("mixes with cta_sync", "TX103"), "step7", "0"),
    Row("*_BARRIER", _LUCKY_ID),
]
