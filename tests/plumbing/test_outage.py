"""PostgreSQL goes away and comes back: requests are told so at once, and nobody has to restart anything."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from config.embedded import RunningPostgres, start_postgres
from plumbing.models import OutboxEvent
from plumbing.rowsec import current_scope, system_scope
from tests.servers import Servers, admin

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def postgres(servers: Servers) -> Iterator[RunningPostgres]:
    """A server of the test's own, since it will be stopped."""
    running = start_postgres(data_dir=servers.folder / "outage", durable=False)
    yield running
    running.stop()


@pytest.fixture
def address(postgres: RunningPostgres, servers: Servers, tmp_path: Path) -> Iterator[str]:
    """The address of a REST server on that database, with the connection pool that production has."""
    port = free_port()
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.dev", "DATABASE_URL": postgres.app_url,
        "DATABASE_OWNER_URL": postgres.owner_url, "DJANGO_SECRET_KEY": "s" * 50, "VXPU_VAR": str(tmp_path),
        "REDIS_URL": servers.redis_url,
    }  # fmt: skip
    subprocess.run([sys.executable, "manage.py", "init", "-v0"], env=environment, cwd=ROOT, check=True)
    command = [sys.executable, "-m", "gunicorn", "-k", "gthread", "--threads", "4", "-b", f"127.0.0.1:{port}"]
    server = subprocess.Popen([*command, "--no-control-socket", "config.wsgi:application"], env=environment, cwd=ROOT)
    yield f"http://127.0.0.1:{port}/api/v1/me"
    server.terminate()
    server.wait(20)


def ask(address: str, token: str) -> tuple[int, float, str]:
    """(status, seconds, code of the problem document)."""
    started = time.monotonic()
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - our own
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - our own
            return answer.status, time.monotonic() - started, ""
    except urllib.error.HTTPError as error:
        with error:
            return error.code, time.monotonic() - started, json.load(error)["code"]


def ask_until(address: str, token: str, status: int, *, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if ask(address, token)[0] == status:
                return
        except urllib.error.URLError:  # the server has just been started
            time.sleep(0.1)
        assert time.monotonic() < deadline, f"no {status} within {timeout_s} s"


@pytest.mark.stack
def test_a_database_that_went_away_and_came_back(
    address: str, postgres: RunningPostgres, servers: Servers, tmp_path: Path
) -> None:
    token = (tmp_path / "operator.token").read_text().strip()
    ask_until(address, token, 200, timeout_s=30)
    postgres.stop()
    down = [ask(address, token) for _ in range(2)]
    assert [(status, code) for status, _, code in down] == [(503, "unavailable")] * 2
    assert max(seconds for _, seconds, _ in down) < 6
    again = start_postgres(data_dir=servers.folder / "outage", durable=False, port=postgres.port)
    try:
        ask_until(address, token, 200, timeout_s=10)
    finally:
        again.stop()


def test_the_scope_ends_with_the_connection(servers: Servers) -> None:
    with psycopg.connect(servers.app_url) as link:
        assert link.execute("SELECT current_setting('vxpu.system', true)").fetchone() == (None,)


def test_a_connection_that_is_lost_in_a_scope_is_closed(committed_db: str, servers: Servers) -> None:
    with system_scope():
        assert current_scope() == (None, True)
        first = connection.connection
        admin(servers, f"SELECT pg_terminate_backend({first.info.backend_pid})")
        with pytest.raises(OperationalError):
            current_scope()
    connection.close()  # as Django does between requests
    assert current_scope() == (None, False)


def test_a_connection_that_is_lost_at_the_end_of_a_scope_is_no_silent_commit(
    committed_db: str, servers: Servers
) -> None:
    """Django takes the transaction of a connection that was closed in it for rolled back, and would say nothing."""

    def publish() -> None:
        with transaction.atomic(), system_scope():
            OutboxEvent.objects.create(tenant_id=uuid4(), kind="tests.Happened", payload={})
            admin(servers, f"SELECT pg_terminate_backend({connection.connection.info.backend_pid})")

    with pytest.raises(OperationalError):
        publish()
    with system_scope():
        assert OutboxEvent.objects.count() == 0
