from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from tirx_lens.lsp.stdio import PipeReader


async def test_lines_and_bodies_come_whole_however_they_arrive():
    reading, writing = os.pipe()
    with ThreadPoolExecutor(1) as pool:
        reader = PipeReader(reading, pool)
        os.write(writing, b"Content-Length: 5\r\n\r\nab")
        assert await reader.readline() == b"Content-Length: 5\r\n"
        assert await reader.readline() == b"\r\n"
        os.write(writing, b"cdeNext")
        assert await reader.readexactly(5) == b"abcde"
        os.write(writing, b": 1\n")
        assert await reader.readline() == b"Next: 1\n"
        os.write(writing, b"the rest")
        os.close(writing)
        assert await reader.readline() == b"the rest"
        assert await reader.readline() == b""
        assert await reader.readexactly(3) == b""
    os.close(reading)


async def test_a_body_larger_than_a_pipe_holds():
    reading, writing = os.pipe()
    body = os.urandom(1_000_000)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(os.write, writing, body)
        assert await PipeReader(reading, pool).readexactly(len(body)) == body
    os.close(writing)
    os.close(reading)
