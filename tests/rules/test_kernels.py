"""The kernels of this repository: the correct ones are clean, the broken ones as written down."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib

from tirx_lens.analysis import analyse
from tirx_lens.files import read_source
from tirx_lens.fixes import apply_safe_fixes
from tirx_lens.model.source import SourceText

KERNELS = Path(__file__).parents[2] / "kernels"
CORRECT = sorted([*KERNELS.glob("*.py"), *KERNELS.glob("v0_26/*.py")])
BROKEN = sorted(KERNELS.glob("broken/*.py"))
EXPECTED = tomllib.loads((KERNELS / "broken" / "expected.toml").read_text("utf-8"))


def source_of(path: Path) -> SourceText:
    source = read_source(path)
    assert isinstance(source, SourceText)
    return source


def named(path: Path) -> str:
    return path.relative_to(KERNELS).as_posix()


@pytest.mark.parametrize("path", CORRECT, ids=named)
def test_correct_kernel_is_clean(path: Path) -> None:
    assert analyse(source_of(path)).findings == ()


@pytest.mark.parametrize("path", BROKEN, ids=named)
def test_broken_kernel_gives_what_is_written_down(path: Path) -> None:
    source = source_of(path)
    found = [
        [f.code, f.severity.value, source.line_of(f.span.start) + 1]
        for f in analyse(source).findings
    ]
    assert found == EXPECTED[path.name]


@pytest.mark.parametrize("path", BROKEN, ids=named)
def test_safe_fixes_mend_the_broken_kernel(path: Path) -> None:
    fixed = apply_safe_fixes(source_of(path), analyse)
    assert fixed.applied == len(EXPECTED[path.name])
    assert analyse(SourceText(fixed.text)).findings == ()


def test_every_broken_kernel_is_written_down() -> None:
    assert sorted(EXPECTED) == [path.name for path in BROKEN]
