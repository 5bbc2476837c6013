"""Calls in the spelling of TVM 0.26, or older, rewritten in that of 0.27.

0.27 replaced all of `T.ptx`: what was a keyword is a modifier of the chain, what was a Python
function has the form that PTX gives it. Only what is named here is rewritten, each row tried with
both releases: the instructions are the same. Names and arguments that stay are left where they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tirx_lens.api.judge import LANG, TIRX, as_of_tvm
from tirx_lens.api.surface import surface_of
from tirx_lens.model.finding import Edit
from tirx_lens.model.given import TvmVersion
from tirx_lens.model.span import Span
from tirx_lens.rules.changes.keywords import Written, arguments_of
from tirx_lens.syntax.constants import constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tirx_lens.model.kernel import WrittenCall
    from tirx_lens.model.source import SourceText

_PTX = f"{TIRX}ptx."


@dataclass(frozen=True, slots=True)
class Text:
    """An argument that is no literal: its text in the source."""

    text: str


Value: TypeAlias = "Text | int | str | bool | None"
Values: TypeAlias = "Mapping[str, Any]"


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument that stays one. Unless it is a number it is cast to `cast`, where that is named.

    `left_out` is what the new form is given where the old one was given nothing.
    """

    name: str
    cast: str | None = None
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """How one call of 0.26 is spelled in 0.27.

    `callee` makes what comes behind `T` from the arguments, or None where these have no new
    spelling. `operands` are the arguments that stay, in the order of the new form.
    """

    callee: Callable[[Values], str | None]
    operands: tuple[Operand, ...] = ()


def migrated(source: SourceText, call: WrittenCall) -> tuple[Edit, ...] | None:
    """Return the edits that spell a call as 0.27 does; None where there is no such rule."""
    path = as_of_tvm(call.name)
    if path.startswith(LANG):
        return _renamed_method(source, call)
    if not path.startswith(_PTX) or not call.complete:
        return None
    name = path[len(_PTX) :]
    row = ROWS.get(name)
    head = _head(source, call)
    if row is None or head is None:
        return None
    arguments = arguments_of(source, call.span)
    given = _bound(name, arguments)
    if given is None:
        return None
    values = _values(source, name, given)
    callee = row.callee(values)
    stay = [operand for operand in row.operands if _stays(operand, given, values)]
    kept = [given[operand.name] for operand in stay]
    kept += [given["pred"]] if "pred" in given else []
    if callee is None or [one for one in arguments if one in kept] != kept:
        return None
    dropped = _dropped(source, call, arguments, kept)
    if any("#" in source.slice(edit.span) for edit in dropped):
        return None  # a comment would go with the argument that it is about
    edits = [Edit(call.callee, f"{head}{callee}"), *dropped]
    for operand in row.operands:
        if operand in stay:
            edits += _operand(source, given[operand.name], operand.cast, head)
        elif operand.left_out is not None:
            inside = _opening(source, call)
            edits.append(Edit(Span(inside, inside), operand.left_out))
    return tuple(edits)


def _stays(operand: Operand, given: Mapping[str, Written], values: Values) -> bool:
    return operand.name in given and not (operand.name == "cta_mask" and values["cta_mask"] == 0)


def _opening(source: SourceText, call: WrittenCall) -> int:
    """Return where the arguments of a call begin, behind its bracket."""
    behind = source.slice(Span(call.callee.end, call.span.end)).encode()
    return call.callee.end + behind.index(b"(") + 1


def _head(source: SourceText, call: WrittenCall) -> str | None:
    """Return what a chain begins with, before `.ptx`."""
    text = source.slice(call.callee)
    head, dot, rest = text.partition(".ptx.")
    plain = dot and head.replace(".", "").replace("_", "").isalnum()
    return head if plain and "[" not in rest else None


def _bound(name: str, arguments: tuple[Written, ...]) -> dict[str, Written] | None:
    """Return the arguments by the parameters that they are for."""
    signature = surface_of(TvmVersion.V0_26).functions.get(f"T.ptx.{name}")
    if signature is None:
        return {} if not arguments else None
    places = [one.name for one in signature.parameters if not one.is_keyword_only]
    found: dict[str, Written] = {}
    for index, argument in enumerate(arguments):
        if argument.keyword is None and index >= len(places):
            return None
        found[argument.keyword or places[index]] = argument
    return found if all(one in signature.names for one in found) else None


def _values(source: SourceText, name: str, given: Mapping[str, Written]) -> dict[str, Value]:
    signature = surface_of(TvmVersion.V0_26).functions.get(f"T.ptx.{name}")
    values: dict[str, Value] = {}
    for parameter in signature.parameters if signature is not None else ():
        if parameter.name in given:
            values[parameter.name] = _literal(source.slice(given[parameter.name].value))
        elif parameter.default is not None:
            values[parameter.name] = _literal(parameter.default)
    return values


def _literal(text: str) -> Value:
    try:
        value = constant(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return Text(text)
    return value if isinstance(value, (int, str, bool, type(None))) else Text(text)


def _operand(source: SourceText, argument: Written, cast: str | None, head: str) -> list[Edit]:
    edits = []
    if argument.keyword is not None:
        edits.append(Edit(Span(argument.span.start, argument.value.start), ""))
    text = source.slice(argument.value)
    known = not isinstance(_literal(text), Text) or text.startswith(f"{head}.{cast}(")
    if cast is not None and not known:
        start, end = argument.value.start, argument.value.end
        edits.append(Edit(Span(start, start), f"{head}.{cast}("))
        edits.append(Edit(Span(end, end), ")"))
    return edits


def _dropped(
    source: SourceText, call: WrittenCall, arguments: tuple[Written, ...], kept: list[Written]
) -> list[Edit]:
    """Return the edits that take out what a modifier says now, each with one comma."""
    if arguments and not kept:  # all of them, and a comma behind the last
        return [Edit(Span(_opening(source, call), call.span.end - 1), "")]
    edits = []
    for index, argument in enumerate(arguments):
        if argument in kept:
            continue
        if any(one in kept for one in arguments[:index]):
            before = arguments[index - 1]
            edits.append(Edit(Span(before.span.end, argument.span.end), ""))
        else:
            behind = arguments[index + 1]
            edits.append(Edit(Span(argument.span.start, behind.span.start), ""))
    return edits


def _renamed_method(source: SourceText, call: WrittenCall) -> tuple[Edit, ...] | None:
    method = call.name[len(LANG) :]
    if f"{LANG}{method}" in ARRIVALS:
        return _remote(source, call, method)
    new = METHODS.get(method)
    if new is None:
        return None
    start = call.callee.start + source.slice(call.callee).encode().rfind(b".") + 1
    return (Edit(Span(start, call.callee.end), new),)


def _remote(source: SourceText, call: WrittenCall, method: str) -> tuple[Edit, ...] | None:
    """Rename the keyword for the CTA whose barrier is meant."""
    given = {one.keyword: one for one in arguments_of(source, call.span)}
    counts_bytes = method == "TMABar.arrive" and ("tx_count" in given or call.positional > 1)
    if not call.complete or "cta_id" not in given or "remote" in given or counts_bytes:
        return None  # with a byte count 0.25 passes over the CTA, and later releases do not
    start = given["cta_id"].span.start
    return (Edit(Span(start, start + len("cta_id")), "remote"),)


# Rows


def _always(callee: str) -> Callable[[Values], str]:
    return lambda _: callee


def _string(*modifiers: Value) -> str | None:
    """Spell an instruction as a string; what only the kernel's author knows goes in braces."""
    parts = [f"{{{one.text}}}" if isinstance(one, Text) else str(one) for one in modifiers]
    text = "".join(parts)
    if any(isinstance(one, Text) and set(one.text) & set("\"'{}\\\n") for one in modifiers):
        return None
    prefix = "f" if any(isinstance(one, Text) for one in modifiers) else ""
    return f'.ptx[{prefix}"{text}"]'


def _plain(values: Values, **defaults: Value) -> bool:
    """Tell whether arguments that have no new spelling are as they are when left out."""
    return all(values.get(name) == default for name, default in defaults.items())


def _alloc(values: Values) -> str | None:
    group = values["cta_group"]
    return _string("tcgen05.alloc.cta_group::", group, ".sync.aligned.shared::cta.b32")


def _dealloc(values: Values) -> str | None:
    return _string("tcgen05.dealloc.cta_group::", values["cta_group"], ".sync.aligned.b32")


def _relinquish(values: Values) -> str | None:
    group = values["cta_group"]
    return _string("tcgen05.relinquish_alloc_permit.cta_group::", group, ".sync.aligned")


def _commit(values: Values) -> str | None:
    multicast = "" if values["cta_mask"] == 0 else ".multicast::cluster"
    form = f".mbarrier::arrive::one.shared::cluster{multicast}.b64"
    return _string("tcgen05.commit.cta_group::", values["cta_group"], form)


def _arrive(values: Values) -> str | None:
    if not _plain(values, sem="", scope="", space=None, remote=None):
        return None
    return ".ptx.mbarrier.arrive.shared.b64"


def _expect_tx(values: Values) -> str | None:
    if not _plain(values, sem="", scope="", space=None, remote=None):
        return None
    return ".ptx.mbarrier.arrive.expect_tx.shared.b64"


def _fence(values: Values) -> str | None:
    sem, scope = values["sem"], values["scope"]
    if isinstance(sem, str) and isinstance(scope, str) and sem and scope:
        return f".ptx.fence.{sem}.{scope}"
    return _string("fence.", sem, ".", scope)


def _proxy_fence(values: Values) -> str | None:
    space = values["space"]
    if not isinstance(space, str):
        return None
    spelled = {"": "", "global": ".global_"}.get(space, "." + space.replace("::", "__"))
    return f".ptx.fence.proxy.async_{spelled}"


def _bulk_wait(values: Values) -> str | None:
    read = values["read"]
    if not isinstance(read, bool):
        return None
    return ".ptx.cp.async_.bulk.wait_group" + (".read" if read else "")


def _cluster_arrive(values: Values) -> str | None:
    sem, aligned = values["sem"], values["aligned"]
    if not isinstance(sem, str) or not isinstance(aligned, bool):
        return None
    words = ("", sem) if sem else ("",)
    return ".ptx.barrier.cluster.arrive" + ".".join(words) + (".aligned" if aligned else "")


def _cluster_wait(values: Values) -> str | None:
    acquire, aligned = values["acquire"], values["aligned"]
    if not isinstance(acquire, bool) or not isinstance(aligned, bool):
        return None
    middle = ".acquire" if acquire else ""
    return f".ptx.barrier.cluster.wait{middle}" + (".aligned" if aligned else "")


def _setmaxnreg(values: Values) -> str | None:
    inc = values["inc"]
    if not isinstance(inc, bool):
        return None
    return f".ptx.setmaxnreg.{'inc' if inc else 'dec'}.sync.aligned.u32"


def _copy_arrive(values: Values) -> str | None:
    noinc = values["noinc"]
    if not isinstance(noinc, bool) or values["space"] != "shared":
        return None
    return ".ptx.cp.async_.mbarrier.arrive" + (".noinc" if noinc else "") + ".shared.b64"


def _prefetch(values: Values) -> str | None:
    return ".ptx.prefetch.tensormap" if values["space"] == "" else None


_BAR = Operand("bar")

ROWS: Mapping[str, Row] = {
    "mbarrier.init": Row(
        _always(".ptx.mbarrier.init.shared.b64"), (_BAR, Operand("thread_count", "uint32"))
    ),
    "mbarrier.try_wait": Row(_always(".cuda.mbarrier_wait"), (_BAR, Operand("phase"))),
    "mbarrier.try_wait_acquire_cluster": Row(
        _always(".cuda.mbarrier_wait_acquire_cluster"), (_BAR, Operand("phase"))
    ),
    "mbarrier.arrive": Row(_arrive, (_BAR, Operand("count", "uint32"))),
    "mbarrier.arrive.expect_tx": Row(_expect_tx, (_BAR, Operand("byte_count", "uint32"))),
    "elect_sync": Row(_always(".cuda.elect_sync")),
    "fence": Row(_fence),
    "fence.proxy_async": Row(_proxy_fence),
    "fence.mbarrier_init": Row(_always(".ptx.fence.mbarrier_init.release.cluster")),
    "cp_async.commit_group": Row(_always(".ptx.cp.async_.commit_group")),
    "cp_async.wait_group": Row(
        _always(".ptx.cp.async_.wait_group"), (Operand("num", left_out="0"),)
    ),
    "cp_async.mbarrier.arrive": Row(_copy_arrive, (_BAR,)),
    "cp_async.bulk.commit_group": Row(_always(".ptx.cp.async_.bulk.commit_group")),
    "cp_async.bulk.wait_group": Row(_bulk_wait, (Operand("n", left_out="0"),)),
    "tcgen05.alloc": Row(_alloc, (Operand("dst_ptr"), Operand("n_cols", "uint32"))),
    "tcgen05.dealloc": Row(_dealloc, (Operand("taddr"), Operand("n_cols", "uint32"))),
    "tcgen05.relinquish_alloc_permit": Row(_relinquish),
    "tcgen05.commit": Row(_commit, (_BAR, Operand("cta_mask", "uint16"))),
    "tcgen05.wait.ld": Row(_always(".ptx.tcgen05.wait__ld.sync.aligned")),
    "tcgen05.wait.st": Row(_always(".ptx.tcgen05.wait__st.sync.aligned")),
    "tcgen05.fence.after_thread_sync": Row(_always(".ptx.tcgen05.fence__after_thread_sync")),
    "tcgen05.fence.before_thread_sync": Row(_always(".ptx.tcgen05.fence__before_thread_sync")),
    "barrier.cluster.arrive": Row(_cluster_arrive),
    "barrier.cluster.wait": Row(_cluster_wait),
    "setmaxnreg": Row(_setmaxnreg, (Operand("reg_count"),)),
    "prefetch_tensormap": Row(_prefetch, (Operand("tensormap_addr"),)),
}

DRIFTED = frozenset(f"{_PTX}{name}" for name in ("barrier.cluster.arrive", "barrier.cluster.wait"))
"""Calls that both releases take as they are, for another instruction: aligned, and not."""

ARRIVALS = frozenset({f"{LANG}MBarrier.arrive", f"{LANG}TMABar.arrive"})
"""Methods whose `cta_id` of 0.25 is `remote` since 0.26; of 0.25 no table says what they take."""

METHODS: Mapping[str, str] = {"SMEMPool.alloc_mma": "alloc_tcgen05_mma_AB"}
