"""Small secret files: whole or absent, and readable by their owner only."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def write_secret(path: Path, content: bytes) -> None:
    """Replace `path` by a file of mode 0600 in one step; a kill in the middle leaves the old one or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)


def provide_server_key(path: Path) -> bool:
    """Make the server's Ed25519 key (PEM, PKCS #8) unless there is one; True if made now. ValueError for junk."""
    if path.exists():
        load_server_key(path)
        return False
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_secret(path, pem)
    return True


def load_server_key(path: Path) -> Ed25519PrivateKey:
    """Raises ValueError for a file that holds no Ed25519 key, OSError where it cannot be read."""
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, Ed25519PrivateKey):
        raise ValueError(f"{path} holds another kind of key")  # noqa: TRY004 - the file's content, not an argument's type
    return key
