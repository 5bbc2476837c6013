"""Byte offsets and the positions editors count, in every encoding."""

from __future__ import annotations

import pickle

import pytest

from tirx_lens.model.source import Encoding, Position, SourceText

TEXT = "a = 1\n字 = '🚀'  # x\r\nlast\rend"


@pytest.mark.parametrize(
    ("encoding", "column"), [(Encoding.UTF8, 11), (Encoding.UTF16, 7), (Encoding.UTF32, 6)]
)
def test_columns_after_wide_characters(encoding: Encoding, column: int) -> None:
    source = SourceText(TEXT)
    offset = source.data.index(b"'  #")
    assert source.position(offset, encoding) == Position(1, column)


@pytest.mark.parametrize("encoding", list(Encoding))
def test_every_character_comes_back(encoding: Encoding) -> None:
    source = SourceText(TEXT)
    offset = 0
    for character in TEXT:
        if character not in "\r\n":
            assert source.offset(source.position(offset, encoding), encoding) == offset
        offset += len(character.encode())


def test_lines_end_as_in_lsp() -> None:
    source = SourceText(TEXT)
    assert [source.line_bytes(i) for i in range(len(source.line_starts))] == [
        b"a = 1",
        "字 = '🚀'  # x".encode(),
        b"last",
        b"end",
    ]
    assert SourceText("x\u2028y\x0cz").line_starts == (0,)  # no line ends for Python, none for LSP


def test_past_the_end_is_the_end() -> None:
    source = SourceText("ab\n")
    assert source.position(99) == Position(1, 0)
    assert source.offset(Position(0, 99)) == 2
    assert source.offset(Position(7, 0)) == 3
    assert SourceText("").position(0) == Position(0, 0)


def test_a_lone_surrogate_is_no_reason_to_fail() -> None:
    assert SourceText("a\ud800b").data == b"a?b"


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("", ["\n"]),
        ("a", ["\n"]),
        ("a\nb", ["\n", "\n"]),
        ("a\r\n\r\nb\rc\n", ["\r\n", "\r\n", "\r", "\n", "\n"]),
        ("a\rb", ["\r", "\r"]),
    ],
)
def test_a_line_ends_as_it_does_or_as_the_one_above(text: str, ends: list[str]) -> None:
    source = SourceText(text)
    assert [source.line_end(line) for line in range(len(source.line_starts))] == ends


def test_a_pickle_has_the_text_once() -> None:
    source = SourceText("x = 1\n" * 10_000)
    assert len(source.line_starts) == 10_001
    source.answers["a question"] = "its answer"
    pickled = pickle.dumps(source)
    assert len(pickled) < len(source.text) + 1_000
    copied = pickle.loads(pickled)
    assert copied == source
    assert (copied.line_starts, copied.answers) == (source.line_starts, {})
