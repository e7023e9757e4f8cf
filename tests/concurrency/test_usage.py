"""Senders that repeat themselves, die at the wrong moment, or meet a taker: counted once, never zero times."""

from __future__ import annotations

from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection

from allocator import facade
from allocator.models import Lease, UsageWindow
from allocator.services._dirty import mark_dirty
from allocator.services._windows import Measured, store
from plumbing import db
from tests.allocator.factories import NOON, Node, at, started_lease
from tests.racing import OtherConnection, race
from vxpu.market import DirtyHour
from vxpu.wire.usage import UsageEvent, UsageStatus

pytestmark = pytest.mark.usefixtures("committed_system")


def batch(node: Node, lease: Any, size: int = 500) -> list[dict[str, Any]]:
    return [node.window(lease, at(60 * number), seq=number) for number in range(size)]


@db.transaction
def take() -> list[DirtyHour]:
    return facade.take_dirty_hours(limit=1000)


def test_the_same_batch_five_times_by_four_senders_counts_once() -> None:
    node = Node()
    lease = started_lease(node)
    events = batch(node, lease)
    orders = [events, events[::-1], events, events[250:] + events[:250]]

    def sender(order: list[dict[str, Any]]) -> list[str]:
        return [result.status for _ in range(5) for result in node.send(*order, now=at(40_000)).results]

    results = race(*[partial(sender, order) for order in orders], timeout_s=60)
    statuses = [status for result in results for status in result]
    assert statuses.count(UsageStatus.ACCEPTED) == 500
    assert statuses.count(UsageStatus.DUPLICATE) == 20 * 500 - 500
    report = facade.usage_report(lease_id=lease.id)
    assert (report.windows_counted, report.used_permille_s, report.seqs_missing) == (500, 500 * 15_000, 0)


def test_a_sender_that_dies_before_the_commit_and_tries_again_counts_once_never_zero() -> None:
    node = Node()
    lease = started_lease(node)
    node.send(node.window(lease, NOON), now=at(61))

    @db.transaction
    def send_and_die() -> None:
        event = UsageEvent.model_validate(node.window(lease, at(60), seq=1))
        store(measured=[Measured(event=event, lease=Lease.objects.get(pk=lease.id))], received_at=at(121))
        assert connection.connection is not None
        connection.connection.close()

    with OtherConnection() as victim, pytest.raises(Exception, match="closed"):
        victim.do(send_and_die)
    assert UsageWindow.objects.count() == 1
    assert node.statuses(node.window(lease, at(60), seq=1), now=at(130)) == ["accepted"]
    assert UsageWindow.objects.count() == 2


def test_a_connection_killed_after_the_commit_and_before_the_reply() -> None:
    node = Node()
    lease = started_lease(node)
    events = batch(node, lease, 100)

    def send_without_hearing() -> None:
        node.send(*events, now=at(40_000))
        assert isinstance(connection.connection, psycopg.Connection)
        connection.connection.close()

    with OtherConnection() as victim:
        victim.do(send_without_hearing)
    assert node.statuses(*events, now=at(40_001)) == ["duplicate"] * 100
    assert facade.usage_report(lease_id=lease.id).windows_counted == 100


def test_a_mark_made_while_it_is_taken_is_not_lost() -> None:
    node = Node()
    lease = started_lease(node)
    take()

    @db.transaction
    def take_slowly(other: OtherConnection) -> int:
        taken = facade.take_dirty_hours(limit=10)
        wait = other.start(lambda: node.send(node.window(lease, at(60), seq=1), now=at(121)))
        with pytest.raises(TimeoutError):  # it waits for our commit, then makes the mark anew
            wait(0.5)
        return len(taken)

    node.send(node.window(lease, NOON), now=at(61))
    with OtherConnection() as other:
        assert take_slowly(other) == 1
        other.do(lambda: None)
    assert [hour.starts_at for hour in take()] == [NOON]


def test_a_taker_leaves_a_mark_whose_facts_it_cannot_see() -> None:
    node = Node()
    lease = started_lease(node)

    @db.transaction
    def send_slowly(other: OtherConnection) -> list[DirtyHour]:
        mark_dirty(leases=[Lease.objects.get(pk=lease.id)], at=NOON, now=at(1))
        taken: list[DirtyHour] = other.do(take)
        return taken

    with OtherConnection() as other:
        assert send_slowly(other) == []
    assert [hour.starts_at for hour in take()] == [NOON]
