"""The server's Ed25519 key: it signs lease tokens; agents got the public half at enrolment."""

from __future__ import annotations

import base64
from functools import lru_cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from plumbing.keyfile import load_server_key


def server_key() -> Ed25519PrivateKey:
    """Raises ImproperlyConfigured when `manage.py init` has not made it."""
    path = Path(settings.VXPU_SERVER_KEY_FILE)
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError as error:
        raise ImproperlyConfigured(f"There is no server key at {path}; run `manage.py init`.") from error


def server_public_key() -> str:
    """base64 of the raw 32 bytes."""
    return base64.b64encode(server_key().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()


@lru_cache(maxsize=4)
def _read(path: Path, changed_ns: int) -> Ed25519PrivateKey:  # noqa: ARG001 - a changed file is another entry
    return load_server_key(path)
