from __future__ import annotations

import asyncio
import threading

import pytest

from tirx_lens.analysis import Analysis
from tirx_lens.lsp.background import Background
from tirx_lens.lsp.documents import Document
from tirx_lens.lsp.schedule import Schedule
from tirx_lens.model.finding import Finding, Severity
from tirx_lens.model.source import SourceText
from tirx_lens.model.span import Span
from tirx_lens.protocol.wanted import NoLongerWantedError

URI = "file:///a.py"


def version(number: int, text: str = "tirx", uri: str = URI) -> Document:
    return Document(uri, number, "python", SourceText(text))


class Bench:
    """A schedule whose analyses wait for the test to let them go on."""

    def __init__(self, pause: float = 60) -> None:
        self.started: list[str] = []
        self.delivered: list[int] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.most_at_once = 0
        self._at_once = 0
        self.schedule = Schedule(lambda uri: self.analyse, Background(), self.deliver, pause)

    def analyse(self, source: SourceText, run_while=None) -> Analysis:
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
    def analyse(source: SourceText, run_while=None) -> Analysis:
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

        def analyse(source: SourceText, run_while=None) -> Analysis:
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


class Runs:
    """An analyser that finds more when kernels are run, and runs until it is told to stop."""

    def __init__(self, pause: float, *, endless: bool = False) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.delivered: list[tuple[int, int]] = []
        self.given_up = 0
        self._endless = endless
        self.schedule = Schedule(lambda uri: self.analyse, Background(), self.deliver, pause)

    def analyse(self, source: SourceText, run_while=None) -> Analysis:
        self.asked.append((source.text, run_while is not None))
        if run_while is None:
            return Analysis(source)
        while self._endless:
            if not run_while():
                self.given_up += 1
                raise NoLongerWantedError
        finding = Finding("TX108", "handoff-deadlock", Severity.ERROR, "stops", Span(0, 1))
        return Analysis(source, (finding,))

    def deliver(self, analysed) -> None:
        self.delivered.append((analysed.document.version, len(analysed.findings)))

    async def until_delivered(self, count: int) -> None:
        while len(self.delivered) < count:
            await asyncio.sleep(0.001)


async def test_kernels_are_run_when_typing_pauses():
    runs = Runs(pause=0.01)
    runs.schedule.submit(version(1))
    await asyncio.wait_for(runs.until_delivered(2), 5)
    assert runs.delivered == [(1, 0), (1, 1)]
    assert len(runs.schedule.done(URI).findings) == 1


async def test_no_kernel_is_run_while_versions_come():
    runs = Runs(pause=60)
    for number in range(5):
        runs.schedule.submit(version(number))
        await asyncio.wait_for(runs.schedule.newest(URI), 5)
    assert not any(run for _, run in runs.asked)


async def test_a_run_is_given_up_when_the_next_version_comes():
    runs = Runs(pause=0, endless=True)
    runs.schedule.submit(version(1, "tirx 1"))
    while ("tirx 1", True) not in runs.asked:
        await asyncio.sleep(0.001)
    runs.schedule.submit(version(2, "tirx 2"))
    analysed = await asyncio.wait_for(runs.schedule.newest(URI), 5)
    assert analysed.document.version == 2
    assert runs.given_up == 1
    runs.schedule.forget(URI)
    while runs.given_up < 2 and ("tirx 2", True) in runs.asked:
        await asyncio.sleep(0.001)
    assert runs.delivered == [(1, 0), (2, 0)]


async def test_a_closed_document_is_not_run():
    runs = Runs(pause=0.01)
    runs.schedule.submit(version(1))
    await asyncio.wait_for(runs.schedule.newest(URI), 5)
    runs.schedule.forget(URI)
    await asyncio.sleep(0.05)
    assert runs.delivered == [(1, 0)]
