"""Code actions: the fix of each finding, all safe fixes at once, suppression, and migration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types

from tirx_lens.fixes import is_fixable
from tirx_lens.lsp import edits
from tirx_lens.lsp.diagnostics import SOURCE, to_diagnostic
from tirx_lens.lsp.documents import byte_offset
from tirx_lens.lsp.suppress import suppression
from tirx_lens.lsp.whole_messages import SHOW, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tirx_lens.lsp.documents import Document
    from tirx_lens.lsp.schedule import Analysed
    from tirx_lens.lsp.whole_messages import WholeMessages
    from tirx_lens.model.finding import Edit, Finding
    from tirx_lens.model.source import Encoding, SourceText

FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.tirxLens"
FIX_ALL_TITLE = "Fix all safe TIRx Lens problems"
MIGRATE = f"{types.CodeActionKind.Source.value}.migrate.tirxLens"
MIGRATE_TITLE = "Migrate TIRx file to 0.27"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL, MIGRATE)


@dataclass(frozen=True, slots=True)
class Client:
    """What of a client's abilities the actions depend on."""

    encoding: Encoding
    versioned: bool
    resolves: bool


def code_actions(
    analysed: Analysed, params: types.CodeActionParams, client: Client
) -> list[types.CodeAction]:
    """Return the actions for a range. Those on the whole file have no edit yet: see `with_edit`."""
    document, findings = analysed.document, analysed.findings
    wanted = params.context.only
    actions: list[types.CodeAction] = []
    if admits(wanted, types.CodeActionKind.QuickFix.value):
        for index, finding in _touched(document, findings, params.range, client.encoding):
            shown = _as_sent(finding, index, document, params.context.diagnostics, client)
            actions += _quick_fixes(finding, shown, document, client)
    safe = sum(is_fixable(finding) for finding in findings)
    if safe > 1 and actions:
        actions.append(_fix_all(document, types.CodeActionKind.QuickFix))
    if safe and admits(wanted, FIX_ALL):
        actions.append(_fix_all(document, FIX_ALL))
    return actions


def migration(document: Document, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the action that spells a file as TVM 0.27 does, where it is spelled otherwise.

    Only where a client asks for actions on the whole source: it is none for a lamp at a line.
    """
    from tirx_lens.rules.changes.spelling import looks_older

    wanted = params.context.only
    if wanted is None or not admits(wanted, MIGRATE) or not looks_older(document.source.text):
        return []
    return [types.CodeAction(title=MIGRATE_TITLE, kind=MIGRATE, data={"uri": document.uri})]


def actions_for_built(
    built: Sequence[Finding],
    document: Document,
    params: types.CodeActionParams,
    client: Client,
    messages: WholeMessages,
) -> list[types.CodeAction]:
    """Return the actions on what builds said of a range: to show all of it, and to silence it."""
    actions: list[types.CodeAction] = []
    if not admits(params.context.only, types.CodeActionKind.QuickFix.value):
        return actions
    name = document.uri.rpartition("/")[2]
    for _, finding in _touched(document, built, params.range, client.encoding):
        title = f"{unquote(name)} {finding.code}"
        uri = messages.put(title, finding.message, finding.detail)
        shown = _as_sent(finding, None, document, params.context.diagnostics, client)
        if uri is not None:
            actions.append(
                types.CodeAction(
                    title=TITLE,
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[shown] if shown else None,
                    command=types.Command(title=TITLE, command=SHOW, arguments=[uri]),
                )
            )
        if not finding.detail:  # what does not build is not mended by a comment
            actions += _quick_fixes(finding, shown, document, client)
    return actions


def admits(wanted: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Tell whether a client that wants only these kinds, or kinds below them, wants this one."""
    if wanted is None:
        return True
    names = [str(getattr(name, "value", name)) for name in wanted]
    return any(name == "" or kind == name or kind.startswith(f"{name}.") for name in names)


def needs_edit(action: types.CodeAction) -> bool:
    """Tell whether this is an action on the whole file whose edit is still to be made."""
    return action.title in (FIX_ALL_TITLE, MIGRATE_TITLE) and action.edit is None


def with_edit(
    action: types.CodeAction, document: Document, text: SourceText, client: Client
) -> types.CodeAction:
    """Give an action on the whole file the edit that turns the document into `text`."""
    action.edit = edits.edit_into(document, text, client.encoding, versioned=client.versioned)
    return action


def document_of(action: types.CodeAction) -> str | None:
    """Return the URI that an action on the whole file is about."""
    data: Any = action.data
    uri = data.get("uri") if isinstance(data, dict) else None
    return uri if isinstance(uri, str) else None


def _touched(
    document: Document, findings: Sequence[Finding], place: types.Range, encoding: Encoding
) -> Iterable[tuple[int, Finding]]:
    start = byte_offset(document.source, place.start, encoding)
    end = byte_offset(document.source, place.end, encoding)
    for index, finding in enumerate(findings):
        if finding.span.start <= end and start <= finding.span.end:
            yield index, finding


def _as_sent(
    finding: Finding,
    index: int | None,
    document: Document,
    sent: Sequence[types.Diagnostic],
    client: Client,
) -> types.Diagnostic | None:
    """Find the client's own diagnostic for a finding: by its data, else by rule and place."""
    ours = to_diagnostic(finding, index, document, client.encoding)
    candidates = [d for d in sent if d.source == SOURCE and d.code == finding.code]
    same = [d for d in candidates if d.data == ours.data and d.message == ours.message]
    return next(iter(same or [d for d in candidates if d.range == ours.range]), None)


def _quick_fixes(
    finding: Finding, shown: types.Diagnostic | None, document: Document, client: Client
) -> Iterable[types.CodeAction]:
    diagnostics = [shown] if shown else None
    if finding.fix is not None:
        yield types.CodeAction(
            title=finding.fix.message,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=diagnostics,
            is_preferred=True if is_fixable(finding) else None,
            edit=_workspace_edit(document, finding.fix.edits, client),
        )
    edit = suppression(document.source, finding) if finding.is_of_rule else None
    if edit is not None:
        yield types.CodeAction(
            title=f"Ignore {finding.code} on this line",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=diagnostics,
            edit=_workspace_edit(document, [edit], client),
        )


def _fix_all(document: Document, kind: types.CodeActionKind | str) -> types.CodeAction:
    return types.CodeAction(title=FIX_ALL_TITLE, kind=kind, data={"uri": document.uri})


def _workspace_edit(
    document: Document, changes: Iterable[Edit], client: Client
) -> types.WorkspaceEdit:
    return edits.workspace_edit(document, changes, client.encoding, versioned=client.versioned)
