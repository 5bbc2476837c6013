"""Which texts a worker has been sent, and in what portions the others are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirx_lens.worker.conversation import STORE_BYTES, Text, Upload

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PORTION = 128 * 1024
"""Characters after which an upload goes on in another message: between two it can be cancelled."""


class TooLargeError(Exception):
    """The sources of a build are more than a worker keeps. The text is a sentence for the user."""


class Uploads:
    """The hashes that one worker was sent, as far as is known: it forgets the oldest texts."""

    def __init__(self) -> None:
        self._sent: set[str] = set()

    def missing(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the texts, by hash, that are to be sent. Raises TooLargeError."""
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts.values())
        if size > STORE_BYTES:
            raise TooLargeError(
                f"The kernel's file and the modules it imports are {size / 2**20:.0f} MiB, "
                f"and a worker takes {STORE_BYTES // 2**20} MiB of sources"
            )
        return {name: text for name, text in texts.items() if name not in self._sent}

    def sent(self, upload: Upload) -> None:
        """Take note of what has been sent."""
        self._sent.update(text.sha256 for text in upload.texts)

    def forgotten(self, hashes: Iterable[str]) -> None:
        """Take note of what the worker says it does not have."""
        self._sent.difference_update(hashes)


def portions(texts: Mapping[str, str]) -> list[Upload]:
    """Cut what is to be sent into messages of some size; no text is cut."""
    found: list[Upload] = []
    pending: list[Text] = []
    size = 0
    for name, text in texts.items():
        pending.append(Text(name, text))
        size += len(text)
        if size >= PORTION:
            found.append(Upload(tuple(pending)))
            pending, size = [], 0
    return [*found, Upload(tuple(pending))] if pending else found
