"""Messages in a stream of bytes."""

import random
import zlib

import pytest

from tirx_lens.worker import framing
from tirx_lens.worker.framing import (
    COMPRESSED_FROM,
    MAX_FRAME,
    FrameReader,
    FramingError,
    frame,
)

MESSAGES = [{"id": 1, "text": "量\r\n\r\n"}, {"id": 2}, {"id": 3, "text": "x" * 5000}]


def stream(*, compress: bool = False) -> list[bytes]:
    numbered = enumerate(MESSAGES, start=1)
    return [frame(message, compress=compress, number=number) for number, message in numbered]


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("chunk", [1, 7, 100, 100_000])
def test_any_chunking_gives_the_messages(chunk: int, compress: bool) -> None:
    data = b"".join(stream(compress=compress))
    reader = FrameReader()
    received = []
    for start in range(0, len(data), chunk):
        received += reader.feed(data[start : start + chunk])
    assert received == MESSAGES


@pytest.mark.parametrize(
    "data",
    [
        b"Traceback (most recent call last):\r\n\r\n",
        b"Content-Length: ten\r\n\r\n",
        b"Content-Length: %d\r\n\r\n" % (MAX_FRAME + 1),
        b"Content-Length: 2\r\n\r\n[]",
        b"Content-Length: 2\r\n\r\n{x",
        b"x" * 2000,
        b"Segmentation fault",
        b"Content-Length: 2\r\nno field\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-CRC32: 00000000\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Encoding: br\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Encoding: deflate\r\n\r\n{}",
        b"Content-Length: 4\r\nContent-Encoding: deflate\r\n\r\n" + zlib.compress(b"{}")[:4],
        b"Content-Length: 2\r\nContent-Number: 2\r\n\r\n{}",
    ],
)
def test_what_is_no_frame_is_told(data: bytes) -> None:
    with pytest.raises(FramingError):
        FrameReader().feed(data)


def test_only_what_is_large_is_compressed() -> None:
    small, large = {"id": 1}, {"id": 1, "text": "x" * COMPRESSED_FROM}
    assert frame(small, compress=True) == frame(small)
    assert b"Content-Encoding: deflate" in frame(large, compress=True)
    assert len(frame(large, compress=True)) < len(frame(large)) / 10


def test_what_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = frame({"text": "x" * 100_000}, compress=True)
    monkeypatch.setattr(framing, "MAX_FRAME", 50_000)
    with pytest.raises(FramingError, match="over the limit of 50000 bytes when unpacked"):
        FrameReader().feed(bomb)


def test_a_damaged_bit_changes_no_message() -> None:
    data = b"".join(stream(compress=True))
    generator = random.Random(1)
    for _ in range(300):
        position, bit = generator.randrange(len(data)), 1 << generator.randrange(8)
        damaged = data[:position] + bytes([data[position] ^ bit]) + data[position + 1 :]
        reader = FrameReader()
        try:
            received = reader.feed(damaged)
        except FramingError:
            continue
        assert received == MESSAGES[: len(received)]


@pytest.mark.parametrize("chunk", [1, 7, 100_000])
@pytest.mark.parametrize(
    "noise", [b"hello\n", b"\r\n\r\n", b"Content-Type: text/plain\r\n\r\n", b"Content-", b"x" * 900]
)
def test_noise_between_messages_is_skipped(noise: bytes, chunk: int) -> None:
    data = noise + noise.join(stream()) + noise
    reader = FrameReader(noise=4096)
    received = []
    for start in range(0, len(data), chunk):
        received += reader.feed(data[start : start + chunk])
    assert received == MESSAGES


def test_noise_in_place_of_a_message_and_noise_without_end_are_told() -> None:
    first, _, third = stream()
    with pytest.raises(FramingError, match="message 2 was lost"):
        FrameReader(noise=4096).feed(first + b"something else\n" + third)
    with pytest.raises(FramingError, match="no frame header"):
        FrameReader(noise=4096).feed(b"All work and no play makes Jack a dull boy\n" * 100)
