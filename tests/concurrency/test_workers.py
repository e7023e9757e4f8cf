"""Eight allocation workers on one queue, killed at random: no device over capacity, no lease lost, none double."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from django.db import connection, connections, transaction

from allocator.models import Device, Lease
from allocator.models import Node as NodeRow
from allocator.models.lease import LIVE
from allocator.services.sweep import sweep
from marketplace.models import TAKES_CAPACITY, Placement, Reservation, ReservationState
from marketplace.services import fail_over, reconcile
from plumbing.rowsec import system_scope
from tests.concurrency.workers import Crew
from tests.marketplace.factories import NOON, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from tests.servers import Servers
from tests.soak import SayFigures, scaled

WORKERS = 8


def work(*, requests: int, kills: int, seed: int) -> Crew:
    """All requests are taken; now and then a worker dies in whatever it does."""
    make_price("3.20")
    for _ in range(4):
        Node(now=NOON, devices=[make_device() for _ in range(3)])
    crew = Crew(WORKERS, [make_buyer() for _ in range(3)])
    dice = random.Random(seed)  # noqa: S311 - a repeatable story
    deaths = {(at + 1) * requests // (kills + 1) for at in range(kills)}
    for number in range(requests):
        while not crew.ask(number, dice.getrandbits(64)):
            time.sleep(0.01)
        if number in deaths:
            time.sleep(dice.uniform(0.05, 0.3))  # let them get into the middle of something
            crew.kill_one(dice)
    assert set(crew.finish()) == {0}
    return crew


def wait_for_the_dead(servers: Servers, name: str) -> None:
    """Until the server has seen that nobody is there any more, and has rolled back what they left."""
    with psycopg.connect(servers.admin_url, autocommit=True) as link:
        for _ in range(200):
            found = link.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND usename = 'vxpu_app'", [name]
            ).fetchone()
            if found == (0,):
                return
            time.sleep(0.05)
    pytest.fail("connections of dead workers are still there")


def assert_nothing_is_locked() -> None:
    with transaction.atomic():
        for rows in (Reservation.objects, Device.objects, Lease.objects, NodeRow.objects):
            list(rows.select_for_update(nowait=True).order_by("pk"))
    with connection.cursor() as cursor:
        # Of this database: the server has others, whose tests run beside.
        cursor.execute(
            "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
            " WHERE NOT granted AND datname = current_database()"
        )
        assert cursor.fetchone() == (0,)


def settle(now_s: int) -> None:
    """Every node is back, and the periodic truth has been by."""
    NodeRow.objects.update(is_online=True)
    for step in range(3):
        now = NOON + timedelta(seconds=now_s + step)
        fail_over.fail_over(now=now)
        assert reconcile.reconcile(now=now).failed == 0


def assert_every_lease_is_somebodys_only_one() -> Counter[str]:
    """And everybody who should has one. The number of reservations by state."""
    live: dict[UUID, list[UUID]] = defaultdict(list)
    for owner, lease in Lease.objects.filter(state__in=LIVE).values_list("owner", "pk"):
        live[owner].append(lease)
    rows = {row.pk: row for row in Reservation.objects.all()}
    assert set(live) <= set(rows)
    for row in rows.values():
        holds = row.state in TAKES_CAPACITY and row.state != ReservationState.MOVING
        assert live[row.pk] == ([row.lease_id] if holds else []), (row.state, live[row.pk])
        current = Placement.objects.filter(reservation=row, is_current=True).values_list("lease_id", flat=True)
        assert list(current) == ([] if row.lease_id is None else [row.lease_id])
    return Counter(row.state for row in rows.values())


def prove(servers: Servers, name: str, *, requests: int, kills: int, seed: int) -> Counter[str]:
    crew = work(requests=requests, kills=kills, seed=seed)
    wait_for_the_dead(servers, name)
    connections.close_all()
    with system_scope():
        assert_nothing_is_locked()
        assert sweep() == []
        settle(requests + 60)
        assert sweep() == []
        assert crew.kills == kills
        return assert_every_lease_is_somebodys_only_one()


def test_eight_workers_on_one_queue_and_three_of_them_killed(committed_system: str, servers: Servers) -> None:
    states = prove(servers, committed_system, requests=160, kills=3, seed=1)
    assert states.total() > 20
    assert states["confirmed"] + states["activating"] > 5


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_eight_workers_for_long(committed_system: str, servers: Servers, say_figures: SayFigures, seed: int) -> None:
    requests, kills = scaled(4000), scaled(80)
    states = prove(servers, committed_system, requests=requests, kills=kills, seed=seed)
    say_figures(workers=WORKERS, requests=requests, kills=kills, violations=0, seed=seed, **dict(states))
