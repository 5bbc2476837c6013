from __future__ import annotations

import asyncio
import threading

import pytest

from tirx_lens.analysis import Analysis
from tirx_lens.lsp.background import Background
from tirx_lens.lsp.documents import Document
from tirx_lens.lsp.schedule import Schedule
from tirx_lens.model.source import SourceText

URI = "file:///a.py"


def version(number: int, text: str = "tirx", uri: str = URI) -> Document:
    return Document(uri, number, "python", SourceText(text))


class Bench:
    """A schedule whose analyses wait for the test to let them go on."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.delivered: list[int] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.most_at_once = 0
        self._at_once = 0
        self.schedule = Schedule(lambda uri: self.analyse, Background(), self.deliver)

    def analyse(self, source: SourceText) -> Analysis:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        self.started.append(source.text)
        self.threads.add(threading.get_ident())
        self.gate.wait(5)
        self._at_once -= 1
        if "break" in source.text:
            raise RuntimeError("broke")
        return Analysis(source)

    def deliver(self, analysed) -> None:
        self.delivered.append(analysed.document.version)

    async def until_started(self, count: int) -> None:
        while len(self.started) < count:
            await asyncio.sleep(0.001)


async def test_an_idle_schedule_analyses_at_once():
    bench = Bench()
    bench.gate.set()
    bench.schedule.submit(version(1))
    analysed = await asyncio.wait_for(bench.schedule.newest(URI), 5)
    assert analysed.document.version == 1
    assert bench.delivered == [1]


async def test_of_the_versions_that_come_meanwhile_only_the_newest_is_analysed():
    bench = Bench()
    bench.schedule.submit(version(1, "tirx 1"))
    await bench.until_started(1)
    for number in range(2, 8):
        bench.schedule.submit(version(number, f"tirx {number}"))
    bench.gate.set()
    analysed = await asyncio.wait_for(bench.schedule.newest(URI), 5)
    assert bench.started == ["tirx 1", "tirx 7"]
    assert bench.delivered == [7]
    assert analysed.document.version == 7
    assert bench.most_at_once == 1


async def test_documents_do_not_wait_for_each_other():
    bench = Bench()
    bench.schedule.submit(version(1))
    bench.schedule.submit(version(1, uri="file:///b.py"))
    await asyncio.wait_for(bench.until_started(2), 5)
    bench.gate.set()
    await bench.schedule.newest("file:///b.py")
    assert bench.most_at_once == 2


async def test_analysis_is_never_on_the_message_loop():
    bench = Bench()
    bench.gate.set()
    bench.schedule.submit(version(1))
    await bench.schedule.newest(URI)
    assert threading.get_ident() not in bench.threads


async def test_nothing_is_delivered_for_a_closed_document():
    bench = Bench()
    bench.schedule.submit(version(1))
    await bench.until_started(1)
    bench.schedule.forget(URI)
    bench.gate.set()
    assert await asyncio.wait_for(bench.schedule.newest(URI), 5) is None
    assert bench.delivered == []


async def test_a_document_closed_and_opened_again_is_another_one():
    bench = Bench()
    bench.schedule.submit(version(1, "tirx old"))
    await bench.until_started(1)
    bench.schedule.forget(URI)
    bench.schedule.submit(version(1, "tirx new"))
    bench.gate.set()
    analysed = await asyncio.wait_for(bench.schedule.newest(URI), 5)
    assert analysed.document.source.text == "tirx new"
    assert bench.delivered == [1]


async def test_a_failing_analysis_is_logged_and_the_next_one_runs(caplog):
    bench = Bench()
    bench.gate.set()
    bench.schedule.submit(version(1, "tirx break"))
    await bench.schedule.newest(URI)
    assert f"could not analyse {URI}: RuntimeError: broke" in caplog.text
    bench.schedule.submit(version(2))
    await bench.schedule.newest(URI)
    assert bench.delivered == [1, 2]


async def test_a_failing_rule_is_logged_and_the_others_report(caplog):
    def analyse(source: SourceText) -> Analysis:
        return Analysis(source, failures=(("TX102", "KeyError: 'x'"),))

    delivered = []
    schedule = Schedule(lambda uri: analyse, Background(), delivered.append)
    schedule.submit(version(1))
    await schedule.newest(URI)
    assert f"TX102 failed on {URI}: KeyError: 'x'" in caplog.text
    assert len(delivered) == 1


async def test_a_text_without_tirx_is_not_analysed():
    bench = Bench()
    bench.schedule.submit(version(1, "import torch\n" * 1000))
    assert (await asyncio.wait_for(bench.schedule.newest(URI), 5)).findings == ()
    assert bench.started == []
    assert bench.delivered == [1]


async def test_cancelling_who_waits_does_not_stop_the_analysis():
    bench = Bench()
    bench.schedule.submit(version(1))
    waiter = asyncio.create_task(bench.schedule.newest(URI))
    await bench.until_started(1)
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    bench.gate.set()
    await asyncio.wait_for(bench.schedule.newest(URI), 5)
    assert bench.delivered == [1]


async def test_the_end_does_not_wait_for_an_analysis():
    bench = Bench()
    bench.schedule.submit(version(1))
    await bench.until_started(1)
    bench.schedule.close()
    await asyncio.sleep(0)
    bench.gate.set()
    await asyncio.sleep(0.01)
    assert bench.delivered == []


async def test_background_work_that_exits_does_not_end_the_loop():
    def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        await Background().run(leave)


async def test_each_document_has_an_analyser_of_its_own_until_it_is_closed():
    made: list[list[str]] = []

    def new_analyser(uri):
        seen: list[str] = []
        made.append(seen)

        def analyse(source: SourceText) -> Analysis:
            seen.append(source.text)
            return Analysis(source)

        return analyse

    schedule = Schedule(new_analyser, Background(), lambda _: None)
    for document in (
        version(1, "tirx 1"),
        version(2, "tirx 2"),
        version(1, "tirx", "file:///b.py"),
    ):
        schedule.submit(document)
        await asyncio.wait_for(schedule.newest(document.uri), 5)
    schedule.forget(URI)
    schedule.submit(version(1, "tirx again"))
    await asyncio.wait_for(schedule.newest(URI), 5)
    assert made == [["tirx 1", "tirx 2"], ["tirx"], ["tirx again"]]
