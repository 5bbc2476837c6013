"""Which TVM a kernel is held against: what is said, what is installed, how it is spelled."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tirx_lens.analysis import Selection, analyse
from tirx_lens.api.surface import is_sound, surface_of
from tirx_lens.fixes import apply_edits
from tirx_lens.migrating import migrate
from tirx_lens.model.given import Given, TvmVersion
from tirx_lens.model.installed import TVM_TIRX, Installed, ReadTable
from tirx_lens.model.source import SourceText
from tirx_lens.rules.changes.spelling import tvm_of
from tirx_lens.rules.examples import in_kernel
from tirx_lens.rules.facts.releases import Held, hold
from tirx_lens.syntax.read import read_kernels

V25, V26, V27 = TvmVersion
NEUTRAL = "T.cuda.cta_sync()"
OLD = "T.ptx.fence.mbarrier_init()\nT.ptx.tcgen05.wait.ld()"
NEW = "T.ptx.fence.mbarrier_init.release.cluster()\nT.ptx.tcgen05.wait__ld.sync.aligned()"
KERNELS = Path(__file__).resolve().parents[2] / "kernels"
API = Selection(select=("TX501", "TX502", "TX508"))


def table_of(release: str) -> dict[str, Any]:
    return json.loads(resources.files("tirx_lens.api").joinpath(f"data/{release}.json").read_text())


def newer() -> Installed:
    """Return a stand-in for 0.28: what 0.27 has, one name more, one less, one way more."""
    table = table_of("0.27")
    table["version"] = "0.28.0"
    table["functions"]["T.cuda.dance_of_clusters"] = "(bar, *, rounds=1)"
    del table["functions"]["T.cuda.mbarrier_wait"]
    table["dispatch"]["copy_async"].append("by_hand")
    return Installed("0.28.0", table=ReadTable("some build", table))


def held(body: str, *installed: Installed, said: TvmVersion | None = None) -> Held:
    (kernel,) = read_kernels(SourceText(in_kernel(body))).kernels
    return hold(kernel, said, installed)


def found(body: str, *installed: Installed, said: TvmVersion | None = None) -> list[Any]:
    given = Given(tvm_version=said, installed=installed)
    return list(analyse(SourceText(in_kernel(body)), API, given).findings)


def codes(body: str, *installed: Installed, said: TvmVersion | None = None) -> list[str]:
    return [one.code for one in found(body, *installed, said=said)]


@pytest.mark.parametrize(
    ("version", "release", "nearest"),
    [
        ("0.25.0.post1", V25, V25),
        ("0.26.0", V26, V26),
        ("0.27.0.post1", V27, V27),
        ("0.27.0+cu130", V27, V27),
        ("0.27.dev0", None, V27),
        ("0.27.0rc1", None, V27),
        ("0.27.0+checkout", None, V27),
        ("0.28.0", None, V27),
        ("0.24.0", None, V25),
        ("1.0", None, V27),
        ("unknown", None, V27),
    ],
)
def test_the_release_of_a_version(
    version: str, release: TvmVersion | None, nearest: TvmVersion
) -> None:
    tvm = Installed(version)
    assert (tvm.release, tvm.nearest) == (release, nearest)
    assert tvm.is_known == (release is not None)


def test_what_is_said_wins_over_what_is_installed() -> None:
    one = held(NEUTRAL, Installed("0.27.0"), said=V26)
    assert (one.version, one.is_said, one.name) == (V26, True, "TVM 0.26")


def test_what_is_installed_wins_over_the_spelling() -> None:
    for version in ("0.25.0", "0.26.0", "0.27.0"):
        one = held(NEUTRAL, Installed(version))
        assert (one.version, one.is_certain) == (Installed(version).release, True)
    assert held(NEUTRAL).version is V27
    assert not held(NEUTRAL).is_certain


def test_what_is_installed_makes_sure_of_a_name() -> None:
    assert codes("T.cuda.dance_of_clusters()") == []
    (one,) = found("T.cuda.dance_of_clusters()", Installed("0.27.0.post1"))
    assert one.message == "TVM 0.27.0.post1 has no `T.cuda.dance_of_clusters`."


@pytest.mark.parametrize(
    ("body", "installed", "code", "own"),
    [(OLD, "0.27.0.post1", "TX508", "0.26"), (NEW, "0.26.0", "TX501", "0.27")],
)
def test_a_kernel_for_another_release_is_told_of_so_once(
    body: str, installed: str, code: str, own: str
) -> None:
    (one,) = found(body, Installed(installed))
    assert (one.code, one.severity.value) == (code, "warning")
    assert f"written for TVM {own}" in one.message
    assert f"here is {installed}, which refuses 2 of its calls" in one.message
    assert held(body, Installed(installed)).version.value == own  # as its fixes are spelled


def test_all_calls_of_such_a_kernel_are_one_fix() -> None:
    source = SourceText(in_kernel(OLD))
    given = Given(installed=(Installed("0.27.0"),))
    (one,) = analyse(source, API, given).findings
    text = apply_edits(source, one.fix.edits)
    assert in_kernel(NEW) == text.text
    assert not analyse(text, API, given).findings


def test_an_older_call_in_a_kernel_of_the_installed_release_is_an_error() -> None:
    body = NEW + '\nT.ptx.fence.proxy_async("shared::cta")'
    (one,) = found(body, Installed("0.27.0"))
    assert (one.code, one.severity.value) == ("TX508", "error")


def test_slips_in_a_kernel_for_another_release_are_still_told() -> None:
    assert codes(OLD + "\nT.cuda.cta_snyc()", Installed("0.27.0")) == ["TX508", "TX501"]


@pytest.mark.parametrize("version", ["0.28.0", "0.27.dev1", "0.27.0+checkout"])
@pytest.mark.parametrize(
    "body", [OLD, NEW, "T.cuda.cta_snyc()", 'Tx.copy_async(A[:], A[:], dispatch="tam_auto")']
)
def test_nothing_is_held_against_a_tvm_of_which_nothing_is_known(version: str, body: str) -> None:
    assert codes(body, Installed(version)) == []


def test_a_newer_tvm_that_has_been_asked() -> None:
    there = newer()
    assert codes("T.cuda.dance_of_clusters(A, rounds=2)", there) == []
    (keyword,) = found("T.cuda.dance_of_clusters(A, round=2)", there)
    assert keyword.message.startswith(
        "`T.cuda.dance_of_clusters` has no parameter `round` in TVM 0.28.0"
    )
    (slip,) = found("T.cuda.dance_of_clutsers(A)", there)
    assert "TVM 0.28.0 has no" in slip.message
    assert slip.fix.edits[0].text == "dance_of_clusters"
    assert codes('Tx.copy_async(A[:], A[:], dispatch="by_hand")', there) == []


def test_what_a_newer_tvm_no_longer_has_is_renamed_and_has_no_known_spelling() -> None:
    (one,) = found(NEW + "\nT.cuda.mbarrier_wait(A, 0)\nT.cuda.dance_of_clusters(A)", newer())
    assert one.code == "TX508"
    assert "as TVM 0.27 spells it, and 0.28.0 refuses that" in one.message
    assert one.fix is None


@pytest.mark.parametrize("release", ["0.25", "0.26", "0.27", "tirx-0.1.0a4"])
def test_the_tables_here_are_sound(release: str) -> None:
    assert is_sound(table_of(release))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.pop("functions"),
        lambda table: table.update(functions=[]),
        lambda table: table["functions"].update({"T.x": 1}),
        lambda table: table["functions"].update({"T.x": "(a): ...\nimport os\ndef g()"}),
        lambda table: table["functions"].update({"T.x": "((("}),
        lambda table: table["functions"].update({"T.x\u202e": None}),
        lambda table: table["functions"].update({"T." + "x" * 999: None}),
        lambda table: table["ptx"].update(more=[{"slots": [["ab"]], "operands": []}]),
        lambda table: table["ptx"].update(more=[{"slots": [], "operands": [["a", "b"]]}]),
        lambda table: table["dispatch"].update(copy=[1]),
        lambda table: table.update(version=28),
    ],
)
def test_a_table_that_is_not_sound(change: Any) -> None:
    table = table_of("0.27")
    change(table)
    assert not is_sound(table)


@pytest.mark.parametrize("table", [None, [], "x", 1, {}, {"functions": {}}])
def test_what_is_no_table(table: object) -> None:
    assert not is_sound(table)


@pytest.mark.parametrize(
    ("body", "installed", "said", "expected"),
    [
        (NEUTRAL, (), None, V27),
        (OLD, (), None, V26),
        (NEUTRAL, (Installed("0.26.0"),), None, Installed("0.26.0")),
        (NEW, (Installed("0.26.0"),), None, V27),
        (OLD, (Installed("0.26.0"),), None, Installed("0.26.0")),
        (OLD, (Installed("0.27.0"),), None, V26),
        (OLD, (Installed("0.27.0"),), V27, V27),
        (NEUTRAL, (Installed("0.28.0"),), None, Installed("0.28.0")),
    ],
)
def test_the_tvm_of_a_text_by_its_words(
    body: str, installed: tuple[Installed, ...], said: TvmVersion | None, expected: Any
) -> None:
    assert tvm_of(in_kernel(body), Given(tvm_version=said, installed=installed)) == expected


@pytest.mark.parametrize("release", list(TvmVersion))
def test_kernels_of_this_repository_are_told_of_at_most_once(release: TvmVersion) -> None:
    given = Given(installed=(Installed(f"{release.value}.0"),))
    for path in sorted(KERNELS.glob("*.py")) + sorted((KERNELS / "v0_26").glob("*.py")):
        source = SourceText(path.read_text("utf-8"))
        told = analyse(source, API, given, run_while=None).findings
        kernels = read_kernels(source).kernels
        fits = (V26 if path.parent.name == "v0_26" else V27) is release
        assert len(told) == (0 if fits else len(kernels)), path


TIRX = """\
from tvm_tirx.script import tirx as T


@T.jit
def kernel(A: T.Tensor((128,), "float32")):
    with T.device_entry():
"""


def tirx_codes(body: str, *installed: Installed) -> list[str]:
    text = TIRX + "".join(f"        {line}\n" for line in body.splitlines())
    return [one.code for one in analyse(SourceText(text), API, Given(installed=installed)).findings]


def test_a_kernel_of_tvm_tirx_is_held_against_that() -> None:
    here, later = Installed("0.1.0a4", TVM_TIRX), Installed("0.1.0a5", TVM_TIRX)
    tvm = Installed("0.26.0")
    slip, strange = "T.ptx.fence.proxi.async_()", "T.cuda.dance_of_clusters()"
    assert tirx_codes(NEW, tvm, here) == []
    assert tirx_codes(slip, here) == ["TX501"]
    assert tirx_codes(strange, here) == ["TX501"]
    assert tirx_codes(strange) == []
    assert tirx_codes(slip + "\n" + strange, later) == []


def test_instructions_of_tvm_tirx_in_the_older_spelling_are_migrated() -> None:
    text = TIRX + "        T.ptx.fence.mbarrier_init()\n        T.ptx.tcgen05.wait.ld()\n"
    found = analyse(SourceText(text), API).findings
    assert [one.code for one in found] == ["TX508", "TX508"]
    done = migrate(SourceText(text))
    assert done.text == TIRX + "".join(f"        {line}\n" for line in NEW.splitlines())
    assert not done.left
    assert not analyse(SourceText(done.text), API).findings


def test_a_text_of_tvm_tirx() -> None:
    text = "from tvm_tirx.script import tirx as T\n"
    there = Installed("0.1.0a5", TVM_TIRX)
    assert tvm_of(text, Given(installed=(Installed("0.26.0"), there))) == there
    assert surface_of(tvm_of(text, Given())).release == "0.1.0a4"
