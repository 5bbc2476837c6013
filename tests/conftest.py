"""What holds for every test: none reads or fills the cache of the user who runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep results of builds in a folder of this run, the programs it starts included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRX_LENS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
