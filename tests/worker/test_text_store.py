"""The texts that a worker was sent."""

from tirx_lens.worker.conversation import BuildOrder, Text, sha256_of
from tirx_lens.worker.messages import BuildRequest, SourceFile
from tirx_lens.worker.text_store import TextStore


def text(content: str) -> Text:
    return Text(sha256_of(content), content)


def test_what_is_not_what_its_hash_says_is_not_taken() -> None:
    store = TextStore()
    store.add([Text(sha256_of("x = 1\n"), "x = 2\n"), text("y = 1\n")])
    assert list(store.texts.values()) == ["y = 1\n"]
    assert store.missing([sha256_of("x = 1\n"), sha256_of("y = 1\n")]) == (sha256_of("x = 1\n"),)


def test_what_was_used_longest_ago_makes_room() -> None:
    store = TextStore(capacity=30)
    store.add([text("a" * 10), text("b" * 10), text("c" * 10)])
    assert store.missing([sha256_of("a" * 10)]) == ()
    store.add([text("量" * 4)])  # twelve bytes
    assert list(store.texts.values()) == ["a" * 10, "量" * 4]
    store.add([text("量" * 4)])
    assert len(store.texts) == 2


def test_an_order_carries_no_text_and_gets_them_back() -> None:
    files = (SourceFile("/w/k.py", "x = '\ud800'\n"), SourceFile("/w/m.py", ""))
    request = BuildRequest("/w/k.py", files, builder="b")
    order = BuildOrder.of(request)
    assert order.request.files == ()
    assert order.with_texts({sha256_of(file.text): file.text for file in files}) == request
