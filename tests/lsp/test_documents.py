from __future__ import annotations

import random
import time

import pytest
from lsprotocol import types

from tirx_lens.lsp.documents import Documents, apply_change, byte_offset, lsp_range
from tirx_lens.model.source import Encoding, SourceText

URI = "file:///a.py"


def replace(line: int, start: int, end_line: int, end: int, text: str):
    place = types.Range(types.Position(line, start), types.Position(end_line, end))
    return types.TextDocumentContentChangePartial(range=place, text=text)


def columns(text: str, encoding: Encoding) -> int:
    if encoding is Encoding.UTF32:
        return len(text)
    if encoding is Encoding.UTF16:
        return len(text.encode("utf-16-le")) // 2
    return len(text.encode("utf-8"))


@pytest.mark.parametrize("encoding", list(Encoding))
def test_random_edits_match_edits_on_the_string(encoding):
    """Any sequence of edits, counted in any unit, does what slicing the string does."""
    chance = random.Random(7)
    letters = ["a", " ", "é", "内", "核", "😀", "\n", "\r\n", "\f", "\u2028", "\x1c"]
    text = "".join(chance.choices(letters, k=200))
    source = SourceText(text)
    for _ in range(300):
        first, last = sorted(chance.choices(range(len(text) + 1), k=2))
        last = min(last, first + 6)
        if any(text[i - 1 : i + 1] == "\r\n" for i in (first, last)):
            continue  # no position lies between the two
        inserted = "".join(chance.choices(letters, k=chance.randrange(6)))
        ends = []
        for index in (first, last):
            before = text[:index].replace("\r\n", "\r\r").replace("\r\r", "\n")
            line = before.count("\n")
            ends += [line, columns(before.rpartition("\n")[2], encoding)]
        source = apply_change(source, replace(*ends, inserted), encoding)
        text = text[:first] + inserted + text[last:]
        if "\r" in text.replace("\r\n", ""):  # a pair was torn: begin again
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            source = SourceText(text)
        assert source.text == text


def test_lines_end_where_the_protocol_says():
    source = SourceText("a\fb\u2028c\x85d\ne\rf\r\ng")
    offset = byte_offset(source, types.Position(3, 0), Encoding.UTF16)
    assert source.data[offset:] == b"g"


@pytest.mark.parametrize(
    ("position", "rest"),
    [((0, 99), "\nxy"), ((1, 99), ""), ((99, 0), ""), ((1, 1), "y")],
)
def test_positions_past_an_end_mean_that_end(position, rest):
    source = SourceText("内核\nxy")
    for encoding in Encoding:
        offset = byte_offset(source, types.Position(*position), encoding)
        assert source.data[offset:].decode() == rest


@pytest.mark.parametrize(("encoding", "column"), [(Encoding.UTF8, 2), (Encoding.UTF16, 1)])
def test_a_column_inside_a_character_is_its_start(encoding, column):
    assert byte_offset(SourceText("😀x"), types.Position(0, column), encoding) == 0


def test_ranges_are_counted_in_the_unit_agreed_on():
    source = SourceText("# 内核\n内😀x = 1\n")
    start = source.data.index(b"x")
    found = {e: lsp_range(source, start, start + 1, e).start.character for e in Encoding}
    assert found == {Encoding.UTF8: 7, Encoding.UTF16: 3, Encoding.UTF32: 2}


def test_a_lone_surrogate_keeps_its_width():
    source = SourceText("x = '\ud800' + y")
    changed = apply_change(source, replace(0, 10, 0, 11, "z"), Encoding.UTF16)
    assert changed.text == "x = '?' + z"


def test_each_change_applies_to_what_the_one_before_it_left():
    documents = Documents()
    documents.open(types.TextDocumentItem(URI, "python", 1, "abc\n"))
    changes = [replace(0, 0, 0, 1, "xx"), replace(0, 2, 0, 3, "")]
    document = documents.change(URI, 2, changes)
    assert (document.source.text, document.version) == ("xxc\n", 2)


def test_the_whole_text_can_be_replaced():
    documents = Documents()
    documents.open(types.TextDocumentItem(URI, "python", 1, "abc"))
    whole = types.TextDocumentContentChangeWholeDocument("new")
    assert documents.change(URI, 2, [whole]).source.text == "new"


def test_a_document_that_is_not_open_has_no_changes():
    documents = Documents()
    assert documents.change(URI, 2, []) is None
    assert documents.close(URI) is None


def test_two_spellings_of_a_uri_are_one_document():
    documents = Documents()
    documents.open(types.TextDocumentItem("file:///c%3A/a.py", "python", 1, "abc"))
    assert documents.get("file:///c:/a.py").source.text == "abc"


@pytest.mark.parametrize("encoding", list(Encoding))
def test_a_line_of_a_megabyte_is_edited_quickly(encoding):
    source = SourceText("# 内" + "x" * 1_000_000 + "\ny\n")
    assert source.line_starts
    times = []
    for _ in range(5):
        began = time.process_time()
        source = apply_change(source, replace(0, 500_000, 0, 500_001, "yz"), encoding)
        times.append(time.process_time() - began)
    assert min(times) < 0.1
