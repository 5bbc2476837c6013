"""The worksheets of some kernels, word for word, as a person has read them."""

from __future__ import annotations

import pytest
from golden_sheets import FOLDER, KERNELS, golden_file, sheet_text


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_worksheet_is_as_it_was_read(kernel: str) -> None:
    assert sheet_text(kernel) == golden_file(kernel).read_text("utf-8")


def test_no_worksheet_is_kept_of_a_kernel_that_is_gone() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {golden_file(k).name for k in KERNELS}
