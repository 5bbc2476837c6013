"""The kernels of this repository: the correct ones are clean, the broken ones as written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomllib

from tirx_lens.analysis import analyse
from tirx_lens.files import read_source
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.model.finding import Severity
from tirx_lens.model.source import SourceText
from tirx_lens.rules.registry import RULES


def expected(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.with_suffix(".toml").read_text("utf-8"))


KERNELS = Path(__file__).parents[2] / "kernels"
CORRECT = sorted([*KERNELS.glob("*.py"), *KERNELS.glob("v0_26/*.py")])
QUIET = sorted(Path(__file__).parent.glob("quiet/*.py"))
BROKEN = sorted(KERNELS.glob("broken/*.py"))
MENDED = [path for path in BROKEN if expected(path)["mended_by_fixes"]]


def source_of(path: Path) -> SourceText:
    source = read_source(path)
    assert isinstance(source, SourceText)
    return source


def named(path: Path) -> str:
    return path.relative_to(KERNELS).as_posix()


@pytest.mark.parametrize("path", CORRECT, ids=named)
def test_correct_kernel_is_clean(path: Path) -> None:
    assert analyse(source_of(path)).findings == ()


@pytest.mark.parametrize("path", QUIET, ids=lambda path: path.stem)
def test_look_alike_is_quiet(path: Path) -> None:
    found = analyse(source_of(path)).findings
    assert not [f for f in found if f.severity in (Severity.ERROR, Severity.WARNING)]


@pytest.mark.parametrize("path", BROKEN, ids=named)
def test_broken_kernel_gives_what_is_written_down(path: Path) -> None:
    source = source_of(path)
    found = [
        [f.code, f.severity.value, source.line_of(f.span.start) + 1]
        for f in analyse(source).findings
    ]
    assert found == expected(path)["findings"]


@pytest.mark.parametrize("path", MENDED, ids=named)
def test_safe_fixes_mend_the_broken_kernel(path: Path) -> None:
    fixed = apply_safe_fixes(source_of(path), analyse)
    assert fixed.applied == len(expected(path)["findings"])
    assert analyse(SourceText(fixed.text)).findings == ()


def test_every_rule_has_its_broken_kernel() -> None:
    codes = {finding[0] for path in BROKEN for finding in expected(path)["findings"]}
    assert codes >= {rule.code for rule in RULES}
