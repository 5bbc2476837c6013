"""What holds for every test.

None reads or fills the cache of the user who runs them, or leaves a file among the sources.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def clean_tree() -> Iterator[None]:
    """Hold the tests, and the programs they start, to leaving nothing among the sources."""
    before = {path.name for path in ROOT.iterdir()}
    yield
    left = {path.name for path in ROOT.iterdir()} - before
    assert not {name for name in left if not name.startswith(".")}


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep results of builds in a folder of this run, the programs it starts included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRX_LENS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
