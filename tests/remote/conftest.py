"""Fixtures for the tests over a real ssh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.remote.pythons import with_stand_in
from tests.remote.sshd import LoopbackSshd, why_no_sshd

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackSshd]:
    """A server for all tests that ask nothing special of it."""
    reason = why_no_sshd()
    if reason is not None:
        pytest.skip(reason)
    with LoopbackSshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """The words of a Python whose TVM is imported in no time and builds nothing."""
    return with_stand_in(tmp_path_factory.mktemp("site"))


@pytest.fixture
def own_server() -> type[LoopbackSshd]:
    """The class of servers, where one can be started: for tests that want their own."""
    reason = why_no_sshd()
    if reason is not None:
        pytest.skip(reason)
    return LoopbackSshd
