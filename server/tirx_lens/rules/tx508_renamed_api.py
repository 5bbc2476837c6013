"""TX508: a kernel calls something by a name that its TVM no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.model.finding import Applicability, Finding, Fix, Severity
from tirx_lens.model.given import TvmVersion
from tirx_lens.rules.changes.migration import migrated
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.releases import held
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.rules.facts.releases import Against


class RenamedApi(Rule):
    """A kernel calls something in a spelling of an older TVM than the one it is for.

    ## What it does
    Finds calls that an older release takes and the kernel's own does not: names that are gone,
    keywords that have become modifiers, and names that mean something else by now
    (`T.ptx.elect_sync()` has no operands in 0.26 and three in 0.27). The kernel's release is the
    one that the user names (`tvm-version`, or the target's own), else the one that takes the most
    of its calls.

    ## Why it is bad
    TVM refuses the kernel at the first such call. The tutorial "Modern GPU Programming for MLSys"
    is written for 0.26, of which 0.27 replaced the whole of `T.ptx`.

    ## Example
    ```python
    T.ptx.fence.mbarrier_init()
    T.ptx.tcgen05.alloc(T.address_of(addr[0]), n_cols=512, cta_group=1)
    ```

    ## Use instead
    ```python
    T.ptx.fence.mbarrier_init.release.cluster()
    T.ptx["tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32"](T.address_of(addr[0]), 512)
    ```

    ## Fix
    Spells the call as 0.27 does, where the instruction is the same. `tirx-lens migrate` and the
    source action "Migrate TIRx file" do it for a whole file.

    ## When not to
    A file that must build with both releases cannot: keep two, or choose by the version.

    ## References
    - TVM, `python/tvm/backend/cuda/ptx/table.py` (0.27); `backend/cuda/op.py` (0.26)
    """

    code: ClassVar[str] = "TX508"
    name: ClassVar[str] = "renamed-api"
    levels: ClassVar[str] = "error"
    fix_title: ClassVar[str | None] = "Spell it as TVM 0.27 does"

    VALID = (
        in_kernel("""
            T.ptx.fence.mbarrier_init()
            if T.ptx.elect_sync():
                T.ptx.cp_async.bulk.commit_group()
                T.ptx.cp_async.bulk.wait_group(0)
        """),
        in_kernel("""
            T.ptx.fence.mbarrier_init.release.cluster()
            if T.cuda.elect_sync():
                T.ptx.cp.async_.bulk.commit_group()
                T.ptx.cp.async_.bulk.wait_group.read(0)
        """),
    )

    INVALID = (
        Invalid(
            in_kernel("""
                T.ptx.fence.mbarrier_init()  # <-
                T.ptx.fence.proxy.async_.shared__cta()
                T.ptx.barrier.cluster.arrive.release.aligned()
                if T.cuda.elect_sync():
                    T.ptx.cp_async.bulk.wait_group(0)  # <-
                    A[0] = T.float16(0)
            """),
            replacement=in_kernel("""
                T.ptx.fence.mbarrier_init.release.cluster()
                T.ptx.fence.proxy.async_.shared__cta()
                T.ptx.barrier.cluster.arrive.release.aligned()
                if T.cuda.elect_sync():
                    T.ptx.cp.async_.bulk.wait_group.read(0)
                    A[0] = T.float16(0)
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Report the calls that an older release takes as they are."""
        found = view.once(held)
        for against in found.troubles:
            older = against.release_with
            if older is None or not older.is_before(found.version):
                continue
            call = against.call
            edits = migrated(view.source, call) if found.version is TvmVersion.V0_27 else None
            fix = None
            if edits is not None:
                safety = Applicability.SAFE if found.is_said else Applicability.UNSAFE
                fix = Fix(f"Spell it as TVM {found.version.value} does", safety, edits)
            message = _message(view, against, found.version, fix)
            yield self.finding(Severity.ERROR, message, call.callee, fix=fix)


def _message(view: KernelView, against: Against, version: TvmVersion, fix: Fix | None) -> str:
    older = against.release_with
    assert older is not None
    name = " ".join(view.source.slice(against.call.callee).split())
    said = f"`{name}` is called as TVM {older.value} spells it, and {version.value} refuses that"
    if fix is None:
        return f"{said}: it has no new spelling that TIRx Lens knows to be the same instruction."
    return f"{said}: write `{fix.edits[0].text}`."
