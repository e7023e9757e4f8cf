"""Workers at the queue at once, real commits, kill -9 in the middle: no wish placed twice, none lost, nothing held."""

from __future__ import annotations

import os
import signal
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.db import connections

from allocator.models import Lease, Segment
from allocator.services.sweep import sweep
from marketplace.models import EVERYWHERE, Placement, Reservation, ReservationState
from marketplace.services import cohorts, queue, quotas, release
from plumbing.rowsec import system_scope
from tests.marketplace.factories import HOUR, Buyer, buy, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from tests.racing import race

pytestmark = pytest.mark.usefixtures("committed_system")
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}
DEVICES = 3


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def waiting(now: datetime) -> list[Reservation]:
    """Six wishes for whole devices in line, three devices free: what stood before them is gone."""
    make_price()
    node = Node(now=now, devices=[make_device() for _ in range(DEVICES)])
    full = [wish(make_buyer(now=now), now) for _ in range(DEVICES)]
    rows = [wish(make_buyer(now=now), now) for _ in range(2 * DEVICES)]
    for row in full:
        release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=now)
    node.beat(now=now)
    return rows


def wish(buyer: Buyer, now: datetime) -> Reservation:
    return buy(buyer, now=now, queue=True, starts_at=None, ends_at=now + HOUR, **WHOLE)


def placed(rows: list[Reservation]) -> list[Reservation]:
    return list(Reservation.objects.filter(pk__in=[row.pk for row in rows]).exclude(state=ReservationState.QUEUED))


def check_books(rows: list[Reservation], *, wanted: int) -> None:
    """Each placed wish has exactly one live lease and one placement; nobody else holds anything."""
    done = placed(rows)
    assert len(done) == wanted
    owners = list(Lease.objects.filter(owner__in=[row.pk for row in rows]).values_list("owner", flat=True))
    assert sorted(owners) == sorted(row.pk for row in done)
    assert Placement.objects.filter(reservation__in=rows).count() == wanted
    assert Segment.objects.filter(live=True, lease__owner__in=[row.pk for row in rows]).count() == wanted
    assert sweep() == []


def test_workers_at_once_place_each_wish_once(waiting: list[Reservation], now: datetime) -> None:
    outcomes = race(*[partial(queue.place_queued, now=now)] * 4)
    assert all(isinstance(outcome, int) for outcome in outcomes), outcomes
    assert sum(outcomes) == DEVICES
    check_books(waiting, wanted=DEVICES)
    assert {row.pk for row in placed(waiting)} == {row.pk for row in waiting[:DEVICES]}


def test_workers_purchases_and_a_changing_tree_never_lock_each_other(waiting: list[Reservation], now: datetime) -> None:
    root = cohorts.create_cohort(name="Root", now=now, actor="user:test")
    team = cohorts.create_cohort(name="Team", now=now, actor="user:test", parent_id=root.pk)
    buyer = make_buyer(now=now)

    def move_about() -> None:
        for cohort in (root, team, root):
            for row in waiting:
                quotas.set_quota(tenant_id=row.tenant_id, project_id=None, nominal_permille=1000, nominal_mib=8192,
                                 max_reservations=9, by_operator=True, now=now, cohort_id=cohort.pk)  # fmt: skip
            cohorts.set_cohort(cohort_id=team.pk, now=now, actor="user:test", weight=2)

    def purchase() -> Any:
        return wish(buyer, now).state

    outcomes = race(move_about, *[partial(queue.place_queued, now=now)] * 3, purchase, purchase)
    assert not [one for one in outcomes if isinstance(one, BaseException)], outcomes
    queue.place_queued(now=now)
    assert sweep() == []
    assert Lease.objects.filter(state="assigned").count() == DEVICES


def test_a_worker_killed_in_the_middle_of_a_run_leaves_whole_placements_only(
    waiting: list[Reservation], now: datetime
) -> None:
    """It dies inside the second placement: the first stands, the second holds nothing, the next worker goes on."""
    connections.close_all()  # a connection must not be shared over a fork
    child = os.fork()
    if child == 0:
        try:
            with system_scope():
                _die_in_the_second_placement(now)
        finally:
            os._exit(1)  # never back into pytest
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with system_scope():
        check_books(waiting, wanted=1)
        assert queue.place_queued(now=now) == DEVICES - 1
        check_books(waiting, wanted=DEVICES)


def _die_in_the_second_placement(now: datetime) -> None:
    from django.db import connection

    bookings = 0

    def dying(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal bookings
        result = execute(sql, params, many, context)
        bookings += "allocator_book(" in sql
        if bookings == 2:
            os.kill(os.getpid(), signal.SIGKILL)  # capacity is taken, nothing is committed
        return result

    with connection.execute_wrapper(dying):
        queue.place_queued(now=now)
