"""TX508: a kernel calls something by a name that its TVM no longer has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tirx_lens.api.judge import judge
from tirx_lens.api.surface import surface_of
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.bound_address import bound_first, read_at_declaration
from tirx_lens.rules.changes.migration import DRIFTED, migrated
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.releases import held, misfit_message
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.rules.facts.releases import Against, Held, Misfit


class RenamedApi(Rule):
    """A kernel calls something in a spelling of an older TVM than the one it is for.

    ## What it does
    Finds calls that an older release takes and the kernel's own does not: names that are gone,
    keywords that have become modifiers, and names that mean something else by now
    (`T.ptx.elect_sync()` has no operands in 0.26 and three in 0.27). The kernel's release is the
    one that the user names (`tvm-version`), else the one of the interpreter or target that builds
    the file in the editor, else the one that takes the most of its calls.

    A kernel that is written for an older release than the TVM that would build it, and not only
    calls something in an older spelling, is told of so once: a warning at the first call that is
    refused.

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
    levels: ClassVar[str] = "error; warning where only the installed TVM is another"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.BUILD, Symptom.DEADLOCK)
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
        Invalid(
            in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                T.ptx.fence.mbarrier_init.release.cluster()
                left = T.decl_buffer((128,), "float32", scope="tmem", allocated_addr=addr[0])  # <-
                more = T.decl_buffer((128,), "float32", scope="tmem", allocated_addr=addr[0])  # <-
            """),
            replacement=in_kernel("""
                addr = T.alloc_shared([1], "uint32")
                T.ptx.fence.mbarrier_init.release.cluster()
                tmem_base: T.let[T.uint32] = addr[0]
                left = T.decl_buffer((128,), "float32", scope="tmem", allocated_addr=tmem_base)
                more = T.decl_buffer((128,), "float32", scope="tmem", allocated_addr=tmem_base)
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Report the calls that an older release takes as they are."""
        found = view.once(held)
        if found.misfit is not None and found.misfit.is_newer_than(found.version):
            yield self._misfit(view, found, found.misfit)
        has_spellings = found.version is TvmVersion.V0_27 and found.has_spellings
        for against in found.troubles:
            if not against.is_renamed:
                continue
            call = against.call
            edits = None
            if has_spellings and not is_elsewhere(call.callee):
                edits = migrated(view.source, call)
            fix = None
            if edits is not None:
                safety = Applicability.SAFE if found.is_said else Applicability.UNSAFE
                fix = Fix(f"Spell it as TVM {found.version.value} does", safety, edits)
            message = _message(view, against, found.name.removeprefix("TVM "), fix)
            yield self.finding(Severity.ERROR, message, call.callee, fix=fix)
        if has_spellings and (found.is_certain or _is_for_no_older(view)):
            yield from self._unbound_addresses(view, found)

    def _misfit(self, view: KernelView, found: Held, misfit: Misfit) -> Finding:
        message = misfit_message(view, found, misfit)
        edits = None
        if misfit.installed.nearest is TvmVersion.V0_27:
            message = message[:-1] + ', or migrate it: "Migrate TIRx file to 0.27".'
            edits = _migrated_calls(view, misfit)
        fix = None
        if edits:
            calls = f"these {len(misfit.refused)} calls" if len(misfit.refused) > 1 else "it"
            fix = Fix(f"Spell {calls} as TVM 0.27 does", Applicability.UNSAFE, edits)
        return self.finding(Severity.WARNING, message, misfit.refused[0].call.callee, fix=fix)

    def _unbound_addresses(self, view: KernelView, found: Held) -> Iterator[Finding]:
        """Report addresses in TMEM that are read at a declaration, which 0.26 takes."""
        places = read_at_declaration(view)
        for _, span in places:
            address = view.source.slice(span)
            edits = None if is_elsewhere(span) else bound_first(view, places, address)
            fix = None
            if edits is not None:
                safety = Applicability.SAFE if found.is_said else Applicability.UNSAFE
                fix = Fix("Bind the address first", safety, edits)
            message = (
                f"`allocated_addr={address}` reads an element where the buffer is declared, which "
                "TVM 0.26 takes and 0.27 refuses (`variables are used, but are not passed in`): "
                f"bind it first, `base: T.let[T.uint32] = {address}`."
            )
            yield self.finding(Severity.ERROR, message, span, fix=fix)


def _is_for_no_older(view: KernelView) -> bool:
    """Tell whether some call of a kernel is one that 0.26 refuses."""
    surface = surface_of(TvmVersion.V0_26)
    return any(judge(surface, call) is not None for call in view.kernel.calls)


def _migrated_calls(view: KernelView, misfit: Misfit) -> tuple[Edit, ...] | None:
    """Spell a kernel's calls as 0.27 does; None where it has no spelling of one of them."""
    refused = {against.call.callee.start for against in misfit.refused}
    edits: list[Edit] = []
    for call in view.kernel.calls:
        if call.callee.start not in refused and call.name not in DRIFTED:
            continue
        new = None if is_elsewhere(call.callee) else migrated(view.source, call)
        if new is None:
            return None
        edits += new
    return tuple(edits)


def _message(view: KernelView, against: Against, version: str, fix: Fix | None) -> str:
    older = against.release_with
    assert older is not None
    name = " ".join(view.source.slice(against.call.callee).split())
    said = f"`{name}` is called as TVM {older.value} spells it, and {version} refuses that"
    if fix is None:
        return f"{said}: it has no new spelling that TIRx Lens knows to be the same instruction."
    return f"{said}: write `{fix.edits[0].text}`."
