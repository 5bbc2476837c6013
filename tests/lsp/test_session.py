"""Sessions as VS Code (utf-16 columns) and Neovim (utf-8 columns) hold them."""

from __future__ import annotations

import asyncio

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tirx_lens.lsp.documents import apply_change
from tirx_lens.model.source import Encoding, SourceText

from .clients import make_client
from .raw import FAKE_SERVER

URI = "file:///workspace/a.py"
# CJK text and an emoji on an earlier line and before each finding on its line.
TEXT = "# tirx 内核 😀\nx = '内😀' + BAD\ny = NOTE\n"
BAD_COLUMN = {"utf-16": 12, "utf-8": 16}


@pytest_lsp.fixture(
    params=["visual_studio_code", "neovim"],
    config=ClientServerConfig(server_command=FAKE_SERVER, client_factory=make_client),
)
async def client(request, lsp_client: LanguageClient):
    capabilities = client_capabilities(request.param)
    result = await lsp_client.initialize_session(
        types.InitializeParams(capabilities=capabilities, root_uri="file:///workspace")
    )
    encoding = result.capabilities.position_encoding
    assert encoding == {"visual_studio_code": "utf-16", "neovim": "utf-8"}[request.param]
    yield
    await lsp_client.shutdown_session()


async def published(client: LanguageClient) -> types.PublishDiagnosticsParams:
    method = types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS
    publication = await asyncio.wait_for(client.wait_for_notification(method), 10)
    publication.diagnostics = list(publication.diagnostics)
    return publication


async def open_text(client: LanguageClient, text: str = TEXT) -> types.PublishDiagnosticsParams:
    item = types.TextDocumentItem(URI, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return await published(client)


def change(client: LanguageClient, version: int, *changes) -> None:
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(version, URI), list(changes)
        )
    )


def partial(line: int, start: int, end: int, text: str):
    place = types.Range(types.Position(line, start), types.Position(line, end))
    return types.TextDocumentContentChangePartial(range=place, text=text)


def encoding_of(client: LanguageClient) -> str:
    is_neovim = client.capabilities.general and client.capabilities.general.position_encodings
    return "utf-8" if is_neovim else "utf-16"


async def actions_at(client, place, diagnostics=(), only=None):
    found = await client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier(URI),
            place,
            types.CodeActionContext(list(diagnostics), only),
        )
    )
    return found or []


def edits_of(edit: types.WorkspaceEdit, *, version: int) -> list[types.TextEdit]:
    """Return the edits of our document; where they carry a version it must be the right one."""
    if edit.document_changes is None:
        return list(edit.changes[URI])
    (document,) = edit.document_changes
    assert document.text_document.uri == URI
    assert document.text_document.version == version
    return list(document.edits)


async def test_configurations_are_watched_where_the_client_takes_that(client: LanguageClient):
    await open_text(client)  # by then it has been asked
    watched = client.capabilities.workspace.did_change_watched_files
    expected = [types.WORKSPACE_DID_CHANGE_WATCHED_FILES] if watched.dynamic_registration else []
    assert client.registered == expected


async def test_diagnostics_say_all_there_is_to_say(client: LanguageClient):
    publication = await open_text(client)
    assert publication.version == 1
    bad, note = publication.diagnostics
    column = BAD_COLUMN[encoding_of(client)]
    assert bad.range == types.Range(types.Position(1, column), types.Position(1, column + 3))
    assert bad.code == "TX901"
    assert bad.code_description.href.endswith("/docs/rules/TX901-bad-word.md")
    assert bad.source == "tirx-lens"
    assert bad.severity == types.DiagnosticSeverity.Error
    (related,) = bad.related_information
    assert related.location.uri == URI
    assert related.message == "the text begins here"
    assert note.severity == types.DiagnosticSeverity.Warning
    assert note.range.start == types.Position(2, 4)


async def test_incremental_changes_keep_positions_right(client: LanguageClient):
    await open_text(client)
    column = BAD_COLUMN[encoding_of(client)]
    # Before the finding on its line, then a line above it, in one notification.
    change(client, 2, partial(1, column, column, "'é' + "), partial(0, 0, 0, "# 一行\n"))
    publication = await published(client)
    assert publication.version == 2
    shift = {"utf-16": 6, "utf-8": 7}[encoding_of(client)]
    assert publication.diagnostics[0].range.start == types.Position(2, column + shift)
    change(client, 3, partial(2, column + shift, column + shift + 3, "fine"))
    assert [d.code for d in (await published(client)).diagnostics] == ["TX903"]


async def test_a_fix_is_offered_and_mends(client: LanguageClient):
    bad = (await open_text(client)).diagnostics[0]
    actions = await actions_at(client, bad.range, [bad])
    fix = next(action for action in actions if action.title == "Write good instead")
    assert fix.kind == types.CodeActionKind.QuickFix
    assert fix.is_preferred
    assert list(fix.diagnostics) == [bad]
    (edit,) = edits_of(fix.edit, version=1)
    assert (edit.range, edit.new_text) == (bad.range, "good")
    change(client, 2, types.TextDocumentContentChangePartial(edit.range, edit.new_text))
    assert [d.code for d in (await published(client)).diagnostics] == ["TX903"]


async def test_documents_are_versioned_where_the_client_takes_that(client: LanguageClient):
    bad = (await open_text(client)).diagnostics[0]
    action = (await actions_at(client, bad.range))[0]
    takes_versions = bool(client.capabilities.workspace.workspace_edit.document_changes)
    assert (action.edit.document_changes is not None) == takes_versions
    assert (action.edit.changes is None) == takes_versions


async def test_an_unsafe_fix_is_offered_but_not_preferred(client: LanguageClient):
    (risky,) = (await open_text(client, "tirx = RISKY\n")).diagnostics
    actions = await actions_at(client, risky.range)
    assert [action.title for action in actions] == [
        "Write good instead",
        "Ignore TX902 on this line",
    ]
    assert not any(action.is_preferred for action in actions)


async def test_fix_all_as_a_source_action(client: LanguageClient):
    text = "tirx 内\nBAD RISKY\nnothing\nBAD BAD\n"
    everything = types.Range(types.Position(0, 0), types.Position(9, 0))
    await open_text(client, text)
    for only in ("source", "source.fixAll", "source.fixAll.tirxLens"):
        (action,) = await actions_at(client, everything, only=[only])
        assert action.kind == "source.fixAll.tirxLens"
        resolved = await client.code_action_resolve_async(action)
        edits = edits_of(resolved.edit, version=1)
        assert [edit.new_text for edit in edits] == ["good RISKY\n", "good good\n"]
        assert [edit.range.start.line for edit in edits] == [1, 3]
    assert await actions_at(client, everything, only=["source.organizeImports"]) == []
    assert await actions_at(client, everything, only=["refactor"]) == []


async def test_fix_all_as_a_quick_fix_when_there_is_more_than_one(client: LanguageClient):
    title = "Fix all safe TIRx Lens problems"
    (bad, _) = (await open_text(client)).diagnostics
    quick = [types.CodeActionKind.QuickFix]
    assert title not in [a.title for a in await actions_at(client, bad.range, only=quick)]
    change(client, 2, partial(0, 0, 0, "BAD\n"))
    await published(client)
    place = types.Range(types.Position(0, 0), types.Position(0, 0))
    (action,) = [a for a in await actions_at(client, place, only=quick) if a.title == title]
    assert action.kind == types.CodeActionKind.QuickFix
    resolved = await client.code_action_resolve_async(action)
    assert len(edits_of(resolved.edit, version=2)) == 2


async def test_a_fix_all_chosen_late_is_made_for_the_newest_text(client: LanguageClient):
    await open_text(client, "tirx\nBAD\n")
    place = types.Range(types.Position(1, 0), types.Position(1, 0))
    (action,) = await actions_at(client, place, only=["source.fixAll"])
    change(client, 2, partial(0, 0, 0, "a line\n"))
    resolved = await client.code_action_resolve_async(action)
    (edit,) = edits_of(resolved.edit, version=2)
    assert edit.range.start == types.Position(2, 0)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("BAD", "BAD  # tirx-lens: ignore[TX901]"),
        ("BAD  # why  ", "BAD  # why  # tirx-lens: ignore[TX901]"),
        ("BAD  # tirx-lens: ignore[TX102]", "BAD  # tirx-lens: ignore[TX102, TX901]"),
        ("BAD  # tirx-lens: ignore[]", "BAD  # tirx-lens: ignore[TX901]"),
    ],
)
async def test_suppression(client: LanguageClient, line, expected):
    text = "# tirx\n'内😀', {}\n"
    (bad,) = (await open_text(client, text.format(line))).diagnostics
    actions = await actions_at(client, bad.range, only=[types.CodeActionKind.QuickFix])
    (action,) = [action for action in actions if action.title == "Ignore TX901 on this line"]
    (edit,) = edits_of(action.edit, version=1)
    suppressed = types.TextDocumentContentChangePartial(edit.range, edit.new_text)
    source = apply_change(SourceText(text.format(line)), suppressed, Encoding(encoding_of(client)))
    assert source.text == text.format(expected)
    change(client, 2, suppressed)
    assert (await published(client)).diagnostics == []


async def test_no_suppression_where_a_comment_cannot_stand(client: LanguageClient):
    (bad,) = (await open_text(client, "tirx = BAD + \\\n    1\n")).diagnostics
    titles = [action.title for action in await actions_at(client, bad.range)]
    assert "Write good instead" in titles
    assert "Ignore TX901 on this line" not in titles


async def test_code_actions_wait_for_the_analysis_of_the_newest_text(client: LanguageClient):
    await open_text(client, "tirx SLOW\n")
    change(client, 2, partial(0, 0, 0, "BAD "))
    place = types.Range(types.Position(0, 0), types.Position(0, 0))
    actions = await actions_at(client, place)
    assert edits_of(actions[0].edit, version=2)[0].new_text == "good"


async def test_closing_clears(client: LanguageClient):
    assert len((await open_text(client)).diagnostics) == 2
    client.text_document_did_close(
        types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI))
    )
    publication = await published(client)
    assert (publication.diagnostics, publication.version) == ([], 1)


async def test_saving_analyses_again(client: LanguageClient):
    await open_text(client)
    client.text_document_did_save(
        types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(URI))
    )
    assert len((await published(client)).diagnostics) == 2


async def test_settings_choose_the_rules(client: LanguageClient):
    await open_text(client)

    def configure(**values):
        settings = {"tirx-lens": values}
        client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams(settings=settings)
        )

    configure(ignore=["TX901"])
    assert [d.code for d in (await published(client)).diagnostics] == ["TX903"]
    configure(select=["TX901"])
    assert [d.code for d in (await published(client)).diagnostics] == ["TX901"]
    configure(enable=False)
    assert (await published(client)).diagnostics == []
    configure(enable=True, select="nonsense")
    assert len((await published(client)).diagnostics) == 2
    assert any("tirx-lens.select" in message.message for message in client.log_messages)
    (shown,) = client.messages
    assert "tirx-lens.select must be a list of rule codes" in shown.message
