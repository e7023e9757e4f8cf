"""Every test of the shop has a server key for the nodes that enrol, and nodes that may be silent for a day."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from allocator.services import partitions
from plumbing.keyfile import provide_server_key


@pytest.fixture(scope="session")
def server_key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "server-key.pem"
    provide_server_key(path)
    return path


@pytest.fixture(autouse=True)
def server_key(monkeypatch: pytest.MonkeyPatch, server_key_file: Path) -> None:
    monkeypatch.setattr(settings, "VXPU_SERVER_KEY_FILE", server_key_file)
    # Stories of hours are told with a few heartbeats; silences are the allocator's own tests.
    monkeypatch.setattr(settings, "VXPU_AUTHORITY_S", 86_400)
    monkeypatch.setattr(settings, "VXPU_FAILURE_TIMEOUT_S", 86_405)
    # The partitions that this process remembers went with the rolled-back transaction of the test before.
    partitions._seen.clear()
