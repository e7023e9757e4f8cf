"""The outbox: committed with its cause, delivered at least once, lost never."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerError

from plumbing import db, outbox
from plumbing.models import OutboxEvent
from plumbing.rowsec import tenant_scope
from tests.racing import race
from tests.servers import Servers, point_celery_and_channels_at

TENANT = uuid4()


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Painted:
    """Everything that an event may carry."""

    tenant_id: UUID
    at: datetime
    colour: Colour
    coats: int
    note: str | None = None


class Recorder:
    """Stands where the broker stands: notes what it is handed, or refuses at the n-th call."""

    def __init__(self, *, refuse_at: int = 0, hears: str = outbox.EACH) -> None:
        self.calls: list[dict[str, Any]] = []
        self.refuse_at = refuse_at
        self.hears = hears
        self.name = f"tests.recorder.{uuid4()}"

    def apply_async(self, *, kwargs: dict[str, Any]) -> None:
        self.calls.append(kwargs)
        if len(self.calls) == self.refuse_at:
            raise BrokerError("gone")


@db.transaction
def paint(*, coats: int = 1, fail: bool = False) -> None:
    outbox.publish(Painted(tenant_id=TENANT, at=datetime(2026, 1, 2, tzinfo=UTC), colour=Colour.RED, coats=coats))
    if fail:
        raise ValueError("the paint ran out")


def test_an_event_arrives_as_plain_fields(system: None) -> None:
    paint(coats=3)
    recorder = Recorder()
    assert outbox.drain(subscribers={Painted: [recorder]}) == 1
    assert recorder.calls == [
        {"tenant_id": str(TENANT), "at": "2026-01-02T00:00:00+00:00", "colour": "red", "coats": 3, "note": None}
    ]
    assert OutboxEvent.objects.count() == 0


def test_many_events_are_one_call_for_a_task_that_takes_them_together(system: None) -> None:
    paint(coats=1)
    paint(coats=2)
    together, once = Recorder(hears=outbox.TOGETHER), Recorder(hears=outbox.ONCE)
    assert outbox.drain(subscribers={Painted: [together, once]}) == 2
    assert [[event["coats"] for event in call["events"]] for call in together.calls] == [[1, 2]]
    assert once.calls == [{}]


def test_one_run_is_asked_for_until_it_begins(system: None) -> None:
    once = Recorder(hears=outbox.ONCE, refuse_at=3)

    def drain() -> int:
        paint()
        outbox.drain(subscribers={Painted: [once]})
        return len(once.calls)

    assert [drain() for _ in range(3)] == [1, 1, 1]
    outbox.begin(once.name)
    assert [drain() for _ in range(2)] == [2, 2]
    outbox.begin(once.name)
    with pytest.raises(BrokerError):
        drain()
    assert drain() == 4  # what was refused is not taken for asked


def test_no_event_without_its_cause(system: None) -> None:
    with pytest.raises(ValueError, match="paint"):
        paint(fail=True)
    assert OutboxEvent.objects.count() == 0


def test_a_tenant_publishes_its_own_news_and_cannot_read_others(db: None) -> None:
    with tenant_scope(TENANT):
        paint()
        assert OutboxEvent.objects.count() == 1
    with tenant_scope(uuid4()):
        assert OutboxEvent.objects.count() == 0


def test_publish_wants_a_transaction(committed_system: str) -> None:
    with pytest.raises(db.TransactionMissing):
        outbox.publish(Painted(tenant_id=TENANT, at=datetime.now(UTC), colour=Colour.RED, coats=1))


def test_an_event_cannot_carry_a_float(system: None) -> None:
    with pytest.raises(TypeError, match="float"), transaction.atomic():
        outbox.publish(Painted(tenant_id=TENANT, at=datetime.now(UTC), colour=Colour.RED, coats=1.5))  # type: ignore[arg-type]


def test_a_crash_between_hand_over_and_commit_delivers_again(committed_system: str) -> None:
    paint(coats=1)
    paint(coats=2)
    broken, mended = Recorder(refuse_at=2), Recorder()
    with pytest.raises(BrokerError):
        outbox.drain(subscribers={Painted: [broken]})
    assert OutboxEvent.objects.count() == 2
    assert outbox.drain(subscribers={Painted: [mended]}) == 2
    assert [call["coats"] for call in broken.calls] == [1, 2]
    assert [call["coats"] for call in mended.calls] == [1, 2]


def test_drains_at_once_hand_each_event_over_once(committed_system: str) -> None:
    for coats in range(40):
        paint(coats=coats)
    recorder = Recorder()
    counts = race(*[lambda: outbox.drain(subscribers={Painted: [recorder]}, limit=10)] * 4)
    counts.append(outbox.drain(subscribers={Painted: [recorder]}, limit=40))
    assert sum(counts) == 40
    assert sorted(call["coats"] for call in recorder.calls) == list(range(40))


def test_an_event_that_nobody_knows_is_reported(system: None, caplog: pytest.LogCaptureFixture) -> None:
    paint()
    assert outbox.drain(subscribers={}) == 1
    assert "No entry in the subscriptions for tests.plumbing.test_outbox.Painted" in caplog.text


def test_several_events_nudge_once(system: None, django_capture_on_commit_callbacks: Any) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        paint()
        paint()
    assert len(callbacks) == 1


def test_a_nudge_without_a_broker_leaves_the_row_for_the_beat(
    committed_system: str, servers: Servers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.celery._quiet_until", 0.0)
    point_celery_and_channels_at("redis://127.0.0.1:1/0")
    try:
        for _ in range(20):
            paint()
    finally:
        point_celery_and_channels_at(servers.redis_url)
    assert caplog.text.count("The broker is away") == 1
    assert OutboxEvent.objects.count() == 20
