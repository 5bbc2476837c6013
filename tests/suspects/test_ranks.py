"""The guide for what is seen lists what is wrong among the first, and nothing wrong as checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.suspects.ranks import BROKEN, mistakes, of_broken, of_mistake, of_mutant, sample

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hardware.mistakes import Mistake

HARMFUL = sample()
EARLY = 0.9  # of the sampled mutants, among the first three: measured 0.95 of 169


@pytest.mark.parametrize("mistake", mistakes(), ids=lambda mistake: mistake.what)
def test_what_did_harm_on_the_gpu_comes_first(mistake: Mistake) -> None:
    ranked = of_mistake(mistake)
    assert ranked.rank == 1, ranked


@pytest.mark.parametrize("path", sorted(BROKEN.glob("*.py")), ids=lambda path: path.stem)
def test_what_is_wrong_with_a_broken_kernel_comes_first(path: Path) -> None:
    ranked = of_broken(path)
    assert ranked.rank == 1, ranked


def test_harmful_mutants_are_listed_early() -> None:
    ranked = [of_mutant(mutant) for mutant in HARMFUL[::4]]
    early = sum(one.rank is not None and one.rank <= 3 for one in ranked)
    assert early >= EARLY * len(ranked), [one for one in ranked if one.rank not in (1, 2, 3)]
