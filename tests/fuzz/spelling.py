"""One instruction in the words of each TVM version."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Spelling:
    """How one TVM version spells what the generated kernels need."""

    version: str
    elect: str
    publish: str
    show: str
    commit_group: str
    wait_read: str
    wait_all: str
    after: str
    before: str
    wait_load: str
    inits: str
    waits: str
    arms: str

    @property
    def is_table_driven(self) -> bool:
        """Whether `T.ptx` is that of 0.27."""
        return self.version == "0.27"

    def alloc(self, address: str, columns: str, group: int) -> str:
        """Allocate TMEM."""
        if self.is_table_driven:
            opcode = f"tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32"
            return f'T.ptx["{opcode}"](T.address_of({address}), T.uint32({columns}))'
        return f"T.ptx.tcgen05.alloc(T.address_of({address}), n_cols={columns}, cta_group={group})"

    def dealloc(self, base: str, columns: str, group: int) -> str:
        """Give TMEM back."""
        if self.is_table_driven:
            opcode = f"tcgen05.dealloc.cta_group::{group}.sync.aligned.b32"
            return f'T.ptx["{opcode}"]({base}, T.uint32({columns}))'
        return f"T.ptx.tcgen05.dealloc({base}, n_cols={columns}, cta_group={group})"

    def relinquish(self, group: int) -> str:
        """Give up the right to allocate."""
        if self.is_table_driven:
            return f'T.ptx["tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned"]()'
        return f"T.ptx.tcgen05.relinquish_alloc_permit(cta_group={group})"


V0_27 = Spelling(
    version="0.27",
    elect="T.cuda.elect_sync()",
    publish="T.ptx.fence.mbarrier_init.release.cluster()",
    show="T.ptx.fence.proxy.async_.shared__cta()",
    commit_group="T.ptx.cp.async_.bulk.commit_group()",
    wait_read="T.ptx.cp.async_.bulk.wait_group.read(0)",
    wait_all="T.ptx.cp.async_.bulk.wait_group(0)",
    after="T.ptx.tcgen05.fence__after_thread_sync()",
    before="T.ptx.tcgen05.fence__before_thread_sync()",
    wait_load="T.ptx.tcgen05.wait__ld.sync.aligned()",
    inits="T.ptx.mbarrier.init.shared.b64({bar}, T.uint32({count}))",
    waits="T.cuda.mbarrier_wait({bar}, {phase})",
    arms="T.ptx.mbarrier.arrive.expect_tx.shared.b64({bar}, T.uint32({count}))",
)
V0_26 = Spelling(
    version="0.26",
    elect="T.ptx.elect_sync()",
    publish="T.ptx.fence.mbarrier_init()",
    show='T.ptx.fence.proxy_async("shared::cta")',
    commit_group="T.ptx.cp_async.bulk.commit_group()",
    wait_read="T.ptx.cp_async.bulk.wait_group(0)",
    wait_all="T.ptx.cp_async.bulk.wait_group(0, read=False)",
    after="T.ptx.tcgen05.fence.after_thread_sync()",
    before="T.ptx.tcgen05.fence.before_thread_sync()",
    wait_load="T.ptx.tcgen05.wait.ld()",
    inits="T.ptx.mbarrier.init({bar}, {count})",
    waits="T.ptx.mbarrier.try_wait({bar}, {phase})",
    arms="T.ptx.mbarrier.arrive.expect_tx({bar}, {count})",
)
SPELLINGS = (V0_27, V0_26)
