"""Tasks: how they are declared, and a real worker that takes what the outbox hands over."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kombu import Consumer, Message, Producer

from config.celery import QUEUES, app, route
from config.schedule import BEAT
from plumbing.models import OutboxEvent
from plumbing.rowsec import current_scope, system_scope
from tests.plumbing import chores
from tests.servers import Servers, url_of

ROOT = Path(__file__).resolve().parents[2]


def wait_for(happened: Callable[[], bool], *, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not happened():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


@pytest.fixture
def worker(
    committed_system: str, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> Iterator[subprocess.Popen[bytes]]:
    """A real worker on the test's own database and the session's Valkey."""
    monkeypatch.setattr("config.celery._quiet_until", 0.0)
    app.control.purge()
    with running_worker(servers, committed_system) as process:
        yield process


@contextmanager
def running_worker(servers: Servers, database: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "tests.plumbing.worker_settings",
        "DATABASE_URL": url_of(servers, database), "REDIS_URL": servers.redis_url,
    }  # fmt: skip
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c1", "-l", "WARNING", "--without-gossip"]
    process = subprocess.Popen([*command, "--without-mingle"], env=environment, cwd=ROOT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(20)


def kinds() -> list[str]:
    return list(OutboxEvent.objects.order_by("id").values_list("kind", flat=True))


def test_a_task_takes_keywords_only(system: None) -> None:
    with pytest.raises(TypeError, match="keywords"):
        chores.answer(str(chores.TENANT), "note")


def test_a_task_runs_in_the_system_scope_and_leaves_it(db: None) -> None:
    chores.answer(tenant_id=str(chores.TENANT), word="note")
    with system_scope():
        assert kinds() == ["done: note"]
    assert current_scope() == (None, False)


def test_a_task_outlives_its_worker() -> None:
    assert (chores.answer.acks_late, chores.answer.reject_on_worker_lost) == (True, True)
    assert chores.answer.name == "tests.plumbing.chores.answer"


def test_every_task_has_a_queue_that_workers_take() -> None:
    app.loader.import_default_modules()
    ours = {name for name in app.tasks if not name.startswith("celery.")}
    assert {route(name)["queue"] for name in ours} <= set(QUEUES)  # type: ignore[index]


def test_however_much_is_sold_the_fleet_is_looked_after_first(committed_system: str) -> None:
    app.control.purge()
    seen: list[str] = []

    def take(_: object, message: Message) -> None:
        seen.append(message.delivery_info["routing_key"])
        message.ack()

    with app.connection_for_write() as link:
        for queue in reversed(app.conf.task_queues * 2):
            Producer(link).publish({}, routing_key=queue.name, declare=[queue])
        with Consumer(link, app.conf.task_queues, callbacks=[take], prefetch_count=1):
            while len(seen) < 2 * len(QUEUES):
                link.drain_events(timeout=5)
    assert seen == ["allocator"] * 2 + ["billing"] * 2 + ["default"] * 2 + ["market"] * 2


def test_the_beat_names_tasks_that_exist() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in BEAT.values()} <= set(app.tasks)
    assert {entry["options"]["queue"] for entry in BEAT.values()} <= set(QUEUES)


@pytest.mark.stack
def test_a_commit_reaches_its_task(worker: subprocess.Popen[bytes]) -> None:
    chores.ask("note")
    wait_for(lambda: kinds() == ["done: note"])


@pytest.mark.stack
def test_a_task_that_lost_the_database_is_tried_again(worker: subprocess.Popen[bytes]) -> None:
    chores.ask("stumble")
    wait_for(lambda: kinds() == ["tried: stumble", "done: stumble"])


@pytest.mark.stack
def test_a_killed_child_hands_its_task_to_the_next(worker: subprocess.Popen[bytes]) -> None:
    chores.ask("die")
    wait_for(lambda: kinds() == ["tried: die", "done: die"])
