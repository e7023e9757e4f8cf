"""The server's key, for every test of the room."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django import Settings

from plumbing.keyfile import provide_server_key


@pytest.fixture(scope="session")
def server_key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("server") / "key.pem"
    provide_server_key(path)
    return path


@pytest.fixture(autouse=True)
def server_key(settings: Settings, server_key_file: Path) -> None:
    settings.VXPU_SERVER_KEY_FILE = server_key_file
