"""`manage.py init` as a newcomer runs it: a process, an empty database, two roles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from identity.models import User
from plumbing.rowsec import system_scope
from tests.identity.factories import client_for
from tests.servers import Servers, admin, drop, url_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty(servers: Servers) -> Iterator[str]:
    """A database without a table."""
    name = f"vxpu_init_{uuid4().hex[:12]}"
    admin(servers, f"CREATE DATABASE {name} OWNER vxpu_owner")
    yield name
    drop(servers, name)


def init(servers: Servers, database: str, var: Path, **over: str) -> subprocess.CompletedProcess[str]:
    owner = servers.owner_url.rsplit("/", 1)[0] + f"/{database}"
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.dev", "DATABASE_URL": url_of(servers, database),
        "DATABASE_OWNER_URL": owner, "DJANGO_SECRET_KEY": "s" * 50, "VXPU_VAR": str(var), **over,
    }  # fmt: skip
    command = [sys.executable, "manage.py", "init", "-v0"]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_init_twice_from_nothing(servers: Servers, empty: str, tmp_path: Path) -> None:
    first, token = init(servers, empty, tmp_path), (tmp_path / "operator.token").read_text()
    second = init(servers, empty, tmp_path)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "password" in first.stdout
    assert second.stdout == ""
    assert (tmp_path / "operator.token").read_text() == token
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "operator.login": 0o600, "operator.token": 0o600, "server-key.pem": 0o600,
    }  # fmt: skip
    email, password = (tmp_path / "operator.login").read_text().split()
    assert (email, len(password) >= 20, password in first.stdout) == ("operator@vxpu.internal", True, False)
    with psycopg.connect(url_of(servers, empty)) as link:
        assert link.execute("SELECT count(*) FROM identity_user").fetchone() == (0,)


def test_two_at_once_do_no_harm(servers: Servers, committed_db: str, tmp_path: Path) -> None:
    owner = servers.owner_url.rsplit("/", 1)[0] + f"/{committed_db}"
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.dev", "DATABASE_URL": url_of(servers, committed_db),
        "DATABASE_OWNER_URL": owner, "DJANGO_SECRET_KEY": "s" * 50, "VXPU_VAR": str(tmp_path),
        "VXPU_ADMIN_PASSWORD": "a given password",
    }  # fmt: skip
    command = [sys.executable, "manage.py", "init", "-v0"]
    both = [subprocess.Popen(command, env=environment, cwd=ROOT) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    secret = (tmp_path / "operator.token").read_text().strip()
    assert client_for(secret).get("/api/v1/me").json()["is_operator"] is True
    with system_scope():
        assert User.objects.get().check_password("a given password")


def test_a_role_that_sees_past_the_policies_is_refused(servers: Servers, empty: str, tmp_path: Path) -> None:
    owner = servers.owner_url.rsplit("/", 1)[0] + f"/{empty}"
    ran = init(servers, empty, tmp_path, DATABASE_URL=owner)
    assert ran.returncode == 1
    assert "DATABASE_URL: vxpu_owner must be no superuser" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["DATABASE_OWNER_URL", "DATABASE_URL", "DJANGO_SECRET_KEY"])
def test_a_missing_setting_is_named(servers: Servers, tmp_path: Path, name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DATABASE", "DJANGO"))}
    environment |= {"DATABASE_URL": servers.app_url, "DJANGO_SECRET_KEY": "s" * 50, "VXPU_VAR": str(tmp_path)}
    environment.pop(name, None)
    command = [sys.executable, "manage.py", "init"]
    ran = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert name in ran.stderr
