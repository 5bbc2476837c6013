"""TX501: a kernel calls something that its TVM does not have."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from tirx_lens.api.forms import attribute, has_attribute_form
from tirx_lens.api.judge import TIRX, Judgement, Trouble
from tirx_lens.model.finding import Applicability, Edit, Finding, Fix, Severity
from tirx_lens.model.imported import is_elsewhere
from tirx_lens.model.symptom import Symptom
from tirx_lens.rules.changes.keywords import keyword_span
from tirx_lens.rules.changes.names import names_in
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.releases import Against, held, misfit_message
from tirx_lens.rules.rule import Invalid, KernelView, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tirx_lens.model.span import Span
    from tirx_lens.rules.facts.releases import Held

_MOST_NAMES = 8
"""How many names a message lists."""


class UnknownApi(Rule):
    """A kernel calls something that its TVM does not have, or gives it what it does not take.

    ## What it does
    Holds every call of TVM's that the kernel spells out against the release it is written for:
    names below `T`, `T.cuda`, `T.ptx` and `Tx`, the modifiers of an instruction one by one, methods
    of barriers, pools, states and schedulers, keywords, and how many arguments there are. It says
    which name or modifier may stand there.

    The release is the one that the user names (`tvm-version`), else the one of the interpreter or
    target that builds the file in the editor, else the newest one that takes every call. If no
    release does, a name is reported only when it looks like a slip of the pen for one that exists,
    because TVM may be newer than this rule. A TVM that is newer, or a development build, is asked
    what it has with the first build; until then nothing is held against it.

    A kernel that is written for a newer release than the TVM that would build it is told of so
    once, as a warning at the first call that is refused.

    ## Why it is bad
    TVM refuses the kernel when it is parsed, at the first such call only: with several, each costs
    another build. An instruction without a modifier that it needs is refused with a list of forms.

    ## Example
    ```python
    T.cuda.cta_snyc()
    T.ptx.fence.mbarrier_init.cluster()  # which order?
    ```

    ## Use instead
    ```python
    T.cuda.cta_sync()
    T.ptx.fence.mbarrier_init.release.cluster()
    ```

    ## Fix
    Writes the nearest name. It is unsafe: only the author knows which one was meant.

    ## When not to
    Which modifiers of an instruction go together TVM checks by rules of its own, which are not
    repeated here; nor are keywords that a tile operation takes unseen (`**kwargs`).

    ## References
    - TVM, `python/tvm/backend/cuda/ptx/table.py` and `engine.py`
    - TVM, `python/tvm/tirx/script/builder/tirx.py`
    """

    code: ClassVar[str] = "TX501"
    name: ClassVar[str] = "unknown-api"
    levels: ClassVar[str] = "error; warning where only the installed TVM is another"
    symptoms: ClassVar[tuple[Symptom, ...]] = (Symptom.BUILD,)
    fix_title: ClassVar[str | None] = "Write the nearest name"

    VALID = (
        in_kernel("""
            T.ptx.fence.mbarrier_init.release.cluster()
            T.ptx["fence.proxy.async.shared::cta"]()
            T.ptx.setmaxnreg.inc.sync.aligned.u32(232)
            T.cuda.cta_sync()
        """),
        in_kernel("""
            T.ptx.fence.proxy_async("shared::cta")
            T.ptx.tcgen05.wait.ld()
        """),
        # A release that is newer than the rule: nothing like it is known.
        in_kernel("T.cuda.grid_of_clusters_dance()"),
    )

    INVALID = (
        Invalid(
            in_kernel("T.cuda.cta_snyc()  # <-"),
            replacement=in_kernel("T.cuda.cta_sync()"),
        ),
        Invalid(
            in_kernel("""
                T.ptx.fence.mbarrier_init.cluster()  # <-
                T.ptx.setmaxnreg.inc.sync.aligned.u32(232, 4)  # <-
            """),
        ),
        Invalid(
            in_kernel("""
                T.ptx.fence.mbarrier_init.release.clustre()  # <-
                T.ptx["fence.proxy.asynk.shared::cta"]()  # <-
            """),
            replacement=in_kernel("""
                T.ptx.fence.mbarrier_init.release.cluster()
                T.ptx["fence.proxy.async.shared::cta"]()
            """),
        ),
        Invalid(
            in_kernel("""
                pool = T.SMEMPool()
                full = MBarrier(pool, 4)
                full.init(1)
                pool.commit()
                T.cuda.cta_sync()
                if wg_id == 0:
                    if warp_id == 0:
                        if T.cuda.elect_sync():
                            full.arrive(0, remot=0)  # <-
            """),
        ),
    )

    def check(self, view: KernelView) -> Iterator[Finding]:
        """Report the calls that no older release takes either: those are TX508's."""
        found = view.once(held)
        if found.misfit is not None and not found.misfit.is_newer_than(found.version):
            refused = found.misfit.refused[0]
            message = misfit_message(view, found, found.misfit)
            yield self.finding(Severity.WARNING, message, refused.call.callee)
        for against in found.troubles:
            other = against.release_with
            if against.is_renamed:
                continue
            if other is None and _is_newer(found, against.judgement):
                continue
            span = place(view, against)
            message = _message(found, against.judgement)
            if other is not None:
                message += f" TVM {other.value} takes it."
            yield self.finding(Severity.ERROR, message, span, fix=_fix(against, span))


def place(view: KernelView, against: Against) -> Span:
    """Return the name, modifier or keyword that is meant; the whole call for what is lacking."""
    call, judgement = against.call, against.judgement
    if judgement.trouble is Trouble.KEYWORD:
        return keyword_span(view.source, call.span, judgement.name) or call.callee
    if not judgement.is_about_names:
        return call.callee
    names = names_in(view.source, call.callee)
    spelled = call.name.replace(".[", ".").rstrip("]").split(".")
    # Counted from the end: what the chain begins with may go by another name.
    behind = len(spelled) - _BEFORE - 1 - judgement.index if judgement.index else 0
    return names[-1 - behind] if behind < len(names) else call.callee


_BEFORE = TIRX.count(".")


def _is_newer(found: Held, judgement: Judgement) -> bool:
    """Tell whether the call may be one of a release that is not known here."""
    return not found.is_certain and judgement.is_about_names and _nearest(judgement) is None


def _nearest(judgement: Judgement) -> str | None:
    if not judgement.is_about_names:
        return None
    near = get_close_matches(judgement.name, judgement.known, n=1, cutoff=0.8)
    return near[0] if near else None


def _message(found: Held, judgement: Judgement) -> str:
    tvm = found.name
    owner, name, near = judgement.owner, judgement.name, _nearest(judgement)
    match judgement.trouble:
        case Trouble.NAME:
            hint = f": did you mean `{near}`?" if near else "."
            return f"{tvm} has no `{owner}.{name}`{hint}"
        case Trouble.STRING_FORM:
            return f'{tvm} has no `T.ptx["..."]`: its instructions are attributes.'
        case Trouble.MODIFIER:
            if not judgement.known:
                return (
                    f"`{owner}` takes no further modifier in {tvm}, and `{name}` is one too many."
                )
            hint = f": did you mean `{near}`?" if near else f", but {_listed(judgement.known)}."
            return f"`{owner}` takes no `{name}` here in {tvm}{hint}"
        case Trouble.MISSING_MODIFIER:
            return f"`{owner}` lacks a modifier in {tvm}: {_listed(judgement.known)}."
        case Trouble.KEYWORD:
            return f"`{owner}` has no parameter `{name}` in {tvm}: {_listed(judgement.known)}."
        case Trouble.TOO_FEW:
            lacks = f"lacks {name}" if name else "is given too few operands"
            return f"`{owner}` {lacks}: in {tvm} it takes {_taken(judgement)}."
        case Trouble.TOO_MANY:
            return f"`{owner}` is given too many arguments: in {tvm} it takes {_taken(judgement)}."


def _taken(judgement: Judgement) -> str:
    texts = [one if one.startswith("(") else f"({one})" for one in judgement.known]
    return " or ".join(f"`{text}`" for text in texts[:3])


def _listed(names: tuple[str, ...]) -> str:
    shown = [f"`{name}`" for name in names[:_MOST_NAMES]]
    if len(names) > _MOST_NAMES:
        shown.append(f"{len(names) - _MOST_NAMES} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]


def _fix(against: Against, span: Span) -> Fix | None:
    near = _nearest(against.judgement)
    if near is None or is_elsewhere(span):
        return None
    names = against.judgement.owner == "T.ptx" or against.judgement.trouble is Trouble.MODIFIER
    if names and not against.call.has_string_form:
        if not has_attribute_form(near):
            return None
        near = attribute(near)
    return Fix(f"Write `{near}`", Applicability.UNSAFE, (Edit(span, near),))
