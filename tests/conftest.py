"""Fixtures of every room. See tests/servers.py for what runs behind them.

- `db` (or `@pytest.mark.django_db`): the test's transaction is rolled back. No rows are visible until a scope is
  entered: add `system` for the system scope.
- `committed_db`: a database of the test's own, where commits are real; for races, `on_commit`, kill -9. Do not use
  `transactional_db`: it empties tables by TRUNCATE, which append-only tables refuse.
- `valkey`: broker and channel layer of this process are the session's Valkey. `committed_db` includes it.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection, connections
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from plumbing.rowsec import system_scope
from tests import servers as session_servers
from tests import soak
from tests.servers import Servers

_session = contextlib.ExitStack()

# A property is about its examples, not about how busy the machine is; pytest-timeout still bounds the test. A change is
# judged by the same examples each time; the lane `wild` looks for others.
_patient = hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.register_profile("house", _patient, derandomize=True)
hypothesis_settings.register_profile("wild", _patient, print_blob=True)
hypothesis_settings.load_profile("house")


def pytest_sessionstart(session: pytest.Session) -> None:
    """With workers, the servers are started before them, so that they inherit the addresses."""
    if getattr(session.config.option, "numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        _session.enter_context(session_servers.running_servers())


def pytest_sessionfinish() -> None:
    _session.close()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """The session's PostgreSQL and Valkey."""
    with session_servers.running_servers() as found:
        yield found


@pytest.fixture(scope="session")
def django_db_setup(servers: Servers, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """This worker's database, as pytest-django wants it."""
    name = f"vxpu_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    with django_db_blocker.unblock():
        session_servers.provide_template(servers)
        session_servers.clone(servers, name)
        session_servers.point_django_at(servers, name)
        session_servers.point_celery_and_channels_at(servers.redis_url)
        yield
        connections.close_all()


@pytest.fixture
def system(db: None) -> Iterator[None]:
    """The system scope for the whole test."""
    with system_scope():
        yield


@pytest.fixture
def valkey(servers: Servers) -> str:
    """The address of the session's Valkey; broker and channel layer of this process point there."""
    session_servers.point_celery_and_channels_at(servers.redis_url)
    return servers.redis_url


@pytest.fixture
def committed_db(
    request: pytest.FixtureRequest, servers: Servers, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """A database of the test's own, cloned from the template, where commits are real; yields its name."""
    if "db" in request.fixturenames or request.node.get_closest_marker("django_db"):
        pytest.fail("committed_db and django_db exclude each other")
    name = f"vxpu_committed_{uuid.uuid4().hex[:12]}"
    with django_db_blocker.unblock():
        before = connection.settings_dict["NAME"]
        session_servers.clone(servers, name)
        session_servers.point_django_at(servers, name)
        try:
            yield name
        finally:
            session_servers.point_django_at(servers, before)
            session_servers.drop(servers, name)


@pytest.fixture
def committed_system(committed_db: str) -> Iterator[str]:
    """`committed_db` in the system scope (of the test's own thread; `racing.race` sees to its threads)."""
    with system_scope():
        yield committed_db


@pytest.fixture
def say_figures(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> soak.SayFigures:
    """``say_figures(rounds=100, losses=0)``: one line on the screen, one in var/test/soak.jsonl."""

    def say(**figures: object) -> None:
        line = soak.keep_figures(request.node.name.removeprefix("test_"), figures)
        with capsys.disabled():
            print(f"\n{line}", flush=True)

    return say
