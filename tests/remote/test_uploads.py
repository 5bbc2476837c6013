"""Texts go to a worker once, by their hashes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.remote.places import ANSWER, asking, bad, link, remote, stand_in

from tirx_lens.compile.command import CommandLauncher
from tirx_lens.compile.request import SourceFile
from tirx_lens.compile.result import Stage
from tirx_lens.compile.session import WorkerSession
from tirx_lens.compile.uploads import PORTION, Uploads, portions
from tirx_lens.worker.conversation import Text, Upload, sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from tirx_lens.compile.request import BuildRequest
    from tirx_lens.compile.service import Compiler

RAISES = "raise ValueError('this was run')\n"


def modules(count: int, comment: str = "") -> list[SourceFile]:
    return [SourceFile(f"/nowhere/m{n}.py", f"# {n} {comment}\n") for n in range(count)]


async def uploaded(compiler: Compiler, request: BuildRequest) -> list[str]:
    """Build and return what was said of uploads."""
    said: list[str] = []
    result = await compiler.build(request, said.append)
    assert result.diagnostics[0].message == ANSWER
    return [text for text in said if text.startswith("uploading")]


async def test_only_what_changed_is_sent(tmp_path: Path) -> None:
    async with remote(*stand_in(tmp_path)) as compiler:
        first, *others = modules(3)
        assert await uploaded(compiler, asking(RAISES, first, *others)) == ["uploading 4 files"]
        changed = SourceFile(first.path, "# changed\n")
        assert await uploaded(compiler, asking(RAISES, changed, *others)) == ["uploading 1 file"]
        moved = SourceFile("/nowhere/moved.py", first.text)
        assert await uploaded(compiler, asking(RAISES, moved, *others)) == []


async def test_a_new_worker_is_sent_all_of_it(tmp_path: Path) -> None:
    argv = (*bad("cut", "result", tmp_path), *stand_in(tmp_path))
    async with remote(*argv) as compiler:
        said = await uploaded(compiler, asking(RAISES, *modules(2)))
        assert said == ["uploading 3 files", "uploading 3 files"]


async def test_what_a_worker_has_forgotten_is_sent_again(tmp_path: Path) -> None:
    launcher = CommandLauncher(stand_in(tmp_path), (sys.executable,))
    session = await WorkerSession.start(launcher, link())
    try:
        asked = asking(RAISES, *modules(2))
        believed = [Text(sha256_of(file.text), file.text) for file in asked.files[1:]]
        session._uploads.sent(Upload(tuple(believed)))
        said: list[str] = []
        await session.warm()
        result = await session.build(asked, doing="building b", on_progress=said.append)
        assert result.diagnostics[0].message == ANSWER
        assert said[:2] == ["uploading 1 file", "uploading 2 files"]
    finally:
        await session.close()


async def test_more_than_a_worker_keeps_is_refused_in_a_sentence(tmp_path: Path) -> None:
    large = SourceFile("/nowhere/large.py", "# " + "量" * (25 << 20))
    async with remote(*stand_in(tmp_path)) as compiler:
        (told,) = (await compiler.build(asking(RAISES, large))).diagnostics
        assert (await compiler.build(asking(RAISES))).diagnostics[0].message == ANSWER
    assert told.stage is Stage.LIMIT
    assert told.message == (
        "The kernel's file and the modules it imports are 75 MiB, "
        "and a worker takes 64 MiB of sources"
    )


def test_uploads_are_cut_between_texts() -> None:
    texts = {name: name * PORTION for name in "abc"} | {"d": "d", "e": "e"}
    cut = [[text.sha256 for text in upload.texts] for upload in portions(texts)]
    assert cut == [["a"], ["b"], ["c"], ["d", "e"]]
    assert portions({}) == []


def test_what_was_sent_and_what_was_forgotten() -> None:
    uploads = Uploads()
    texts = {"one": "1", "two": "2"}
    assert uploads.missing(texts) == texts
    uploads.sent(Upload((Text("one", "1"),)))
    assert uploads.missing(texts) == {"two": "2"}
    uploads.forgotten(["one", "never sent"])
    assert uploads.missing(texts) == texts
