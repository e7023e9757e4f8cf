"""Secret files: whole, private, and made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbing.keyfile import load_server_key, provide_server_key, write_secret


def test_the_server_key_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "deep/server-key.pem"
    assert (provide_server_key(path), provide_server_key(path)) == (True, False)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(load_server_key(path).sign(b"x")) == 64


def test_junk_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "server-key.pem"
    path.write_text("junk")
    with pytest.raises(ValueError, match="PEM"):
        provide_server_key(path)
    assert path.read_text() == "junk"


def test_a_secret_replaces_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "token"
    write_secret(path, b"one")
    write_secret(path, b"two")
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("token", b"two")]
