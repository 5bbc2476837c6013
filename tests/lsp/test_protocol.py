"""What our protocol does otherwise than pygls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tirx_lens.lsp.server import create_server

if TYPE_CHECKING:
    from collections.abc import Generator


def test_a_handler_that_is_done_is_forgotten() -> None:
    protocol = create_server().protocol
    said: list[Any] = []

    async def inner() -> str:
        return "found"

    def outer() -> Generator[Any, Any, str]:
        answer = yield inner, (), None
        return f"{answer}, and told"

    async def session() -> None:
        protocol._execute_handler("1", outer, callback=lambda done: said.append(done.result()))
        assert protocol._request_futures
        while not said:
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    asyncio.run(session())
    assert said == ["found, and told"]
    assert not protocol._request_futures
