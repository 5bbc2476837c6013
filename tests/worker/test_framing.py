"""Messages in a stream of bytes."""

import pytest

from tirx_lens.worker.framing import MAX_FRAME, FrameReader, FramingError, frame

MESSAGES = [{"id": 1, "text": "量\r\n\r\n"}, {"id": 2}, {"id": 3, "text": "x" * 5000}]


@pytest.mark.parametrize("chunk", [1, 7, 100, 100_000])
def test_any_chunking_gives_the_messages(chunk: int) -> None:
    data = b"".join(map(frame, MESSAGES))
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
    ],
)
def test_what_is_no_frame_is_told(data: bytes) -> None:
    with pytest.raises(FramingError):
        FrameReader().feed(data)
