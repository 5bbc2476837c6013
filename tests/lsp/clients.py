"""A client of pytest-lsp that takes dynamic registrations, as the editors it stands for do."""

from __future__ import annotations

from lsprotocol import types
from pytest_lsp import LanguageClient, make_test_lsp_client


def make_client() -> LanguageClient:
    client = make_test_lsp_client()
    client.registered = []

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        client.registered += [one.method for one in params.registrations]

    return client
