from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .raw import FAKE_SERVER, RawClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def start() -> Iterator[Callable[..., RawClient]]:
    """Start servers that end with the test, come what may."""
    clients: list[RawClient] = []

    def start_one(command: list[str] | None = None) -> RawClient:
        clients.append(RawClient(command or FAKE_SERVER))
        return clients[-1]

    yield start_one
    for client in clients:
        client.kill()
