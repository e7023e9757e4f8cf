"""A node for the benchmarks, with a server key of the run's own."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from plumbing.keyfile import provide_server_key
from tests.allocator.factories import Node


def make_node(*, devices: int, now: datetime, **device: Any) -> Node:
    """In the caller's scope, which must be the system's."""
    if not Path(settings.VXPU_SERVER_KEY_FILE).is_relative_to(tempfile.gettempdir()):
        settings.VXPU_SERVER_KEY_FILE = Path(tempfile.mkdtemp(prefix="vxpu-bench-")) / "server-key.pem"
        provide_server_key(settings.VXPU_SERVER_KEY_FILE)
    return Node(devices=devices, now=now, **device)
