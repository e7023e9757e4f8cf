"""Races for capacity: real commits, one connection a client, and the sweep as the judge."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.db import IntegrityError, OperationalError
from psycopg.types.range import TimestamptzRange

from allocator import facade
from allocator.errors import DoesNotFit, HoldLapsed
from allocator.models import Lease, Segment
from allocator.services.hold import expire_holds
from allocator.services.sweep import sweep
from plumbing import db
from tests.allocator.factories import HOUR, MIB, NOON, TENANT, Node, at, book, make_wish, resize, started_lease
from tests.concurrency.clients import LEVELS, at_level, at_repeatable_read, outcomes
from tests.racing import OtherConnection, race
from vxpu.market import Candidate, LeaseView
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("committed_system")

HALF = {"memory_mib": MIB // 2, "share_permille": 500}
WHOLE = {"memory_mib": MIB, "share_permille": 1000}


def fill_all_but_a_quarter() -> None:
    Node()
    book(make_wish(memory_mib=MIB * 3 // 4, share_permille=750))


@pytest.mark.parametrize("isolation", LEVELS)
def test_ten_clients_race_for_the_last_quarter(isolation: str) -> None:
    fill_all_but_a_quarter()
    results = race(*[at_level(isolation, partial(book, make_wish()))] * 10)
    assert outcomes(results) == {"LeaseView": 1, "DoesNotFit": 9}
    assert sweep() == []


def test_a_second_booker_at_repeatable_read_fails_instead_of_overbooking() -> None:
    node = Node()
    candidate = Candidate(device_id=node.device_id(), node_id=node.id, score=0)

    @db.transaction
    def late_booking(rival: OtherConnection) -> LeaseView:
        facade.propose(wish=make_wish(**WHOLE), now=NOON)  # the snapshot is taken here
        rival.do(partial(book, make_wish(**WHOLE)))
        return facade.book(
            tenant_id=TENANT, owner=TENANT, wish=make_wish(**WHOLE), candidates=[candidate], hold_until=None, now=NOON
        )

    with OtherConnection() as rival, pytest.raises(OperationalError) as refused:
        at_repeatable_read(partial(late_booking, rival))()
    assert getattr(refused.value.__cause__, "sqlstate", "") == "40001"
    assert Lease.objects.count() == 1


def test_the_fence_fails_at_repeatable_read_as_well() -> None:
    node = Node()
    lease = book(make_wish(**HALF))

    @db.transaction
    def late_write(rival: OtherConnection) -> None:
        assert Segment.objects.count() == 1
        rival.do(partial(book, make_wish(**HALF)))
        Segment.objects.create(
            tenant_id=TENANT, lease_id=lease.id, device_id=node.device_id(), permille=500, mib=1, device_mib=MIB,
            period=TimestamptzRange(NOON, None),
        )  # fmt: skip

    with OtherConnection() as rival, pytest.raises(OperationalError):
        at_repeatable_read(partial(late_write, rival))()
    assert sweep() == []


def test_sixteen_halves_at_once_on_eight_devices_and_a_seventeenth() -> None:
    node = Node(devices=8)
    wish = make_wish(ends_at=NOON + HOUR, policy="spread", **HALF)
    results = race(*[partial(book, wish)] * 16, timeout_s=60)
    assert outcomes(results) == {"LeaseView": 16}
    assert [Segment.objects.filter(device_id=node.device_id(n)).count() for n in range(8)] == [2] * 8
    with pytest.raises(DoesNotFit) as refused:
        book(wish)
    assert refused.value.data["next_free_at"] == NOON + HOUR
    assert sweep() == []


def test_random_clients_never_oversell() -> None:
    node = Node(devices=3)

    def client(seed: int) -> None:
        own = random.Random(seed)  # noqa: S311 - a repeatable story
        for _ in range(6):
            start = NOON + timedelta(minutes=own.randrange(0, 120))
            wish = make_wish(
                memory_mib=own.randrange(1, MIB), share_permille=own.randrange(1, 1001), starts_at=start,
                ends_at=own.choice([None, start + timedelta(minutes=own.randrange(1, 60))]),
            )  # fmt: skip
            try:
                lease = book(wish, hold_until=own.choice([None, at(own.randrange(1, 60))]), now=at(own.randrange(60)))
                resize(lease.id, now=at(60), memory_mib=own.randrange(1, MIB), share_permille=own.randrange(1, 1001))
            except (DoesNotFit, HoldLapsed):
                continue

    results = race(*[partial(client, seed) for seed in range(10)], timeout_s=90)
    assert outcomes(results) <= Counter({"NoneType": 10, "LeaseLost": 10})
    assert Lease.objects.filter(device__node_id=node.id).count() > 3
    assert sweep() == []


def test_confirm_and_expiry_race_and_exactly_one_wins() -> None:
    Node()

    @db.transaction
    def confirm(lease: LeaseView) -> LeaseView:
        return facade.confirm(lease_id=lease.id, now=at(59.999))

    for _ in range(8):
        held = book(make_wish(memory_mib=1, share_permille=1), hold_until=at(60))
        confirmed, expired = race(partial(confirm, held), partial(expire_holds, now=at(60)))
        state = facade.get_lease(lease_id=held.id).state
        if isinstance(confirmed, LeaseView):
            assert (state, expired) == (LeaseState.ASSIGNED, 0)
        else:
            assert isinstance(confirmed, HoldLapsed)
            assert (state, expired) == (LeaseState.GONE, 1)
    assert sweep() == []


def test_a_booking_takes_over_a_lapsed_hold_while_its_owner_confirms() -> None:
    Node()

    @db.transaction
    def confirm(lease: LeaseView) -> LeaseView:
        return facade.confirm(lease_id=lease.id, now=at(59.999))

    held = book(make_wish(**WHOLE), hold_until=at(60))
    confirmed, booked = race(partial(confirm, held), partial(book, make_wish(**WHOLE), now=at(60)))
    winners = [one for one in (confirmed, booked) if isinstance(one, LeaseView)]
    assert len(winners) == 1
    assert isinstance(confirmed, LeaseView | HoldLapsed)
    assert isinstance(booked, LeaseView | DoesNotFit)
    assert sweep() == []


def test_two_resizes_race_for_the_rest_of_a_device() -> None:
    node = Node()
    first, second = started_lease(node), started_lease(node)
    grow = partial(resize, now=at(5), memory_mib=MIB // 2, share_permille=700)
    results = race(partial(grow, first.id), partial(grow, second.id))
    assert outcomes(results) == {"LeaseView": 1, "DoesNotFit": 1}
    assert sweep() == []


def test_direct_writes_of_two_connections_are_fenced() -> None:
    node = Node()
    lease = book(make_wish(**HALF))

    @db.transaction
    def write() -> None:
        Segment.objects.create(
            tenant_id=TENANT, lease_id=lease.id, device_id=node.device_id(), permille=500, mib=1, device_mib=MIB,
            period=TimestamptzRange(NOON, None),
        )  # fmt: skip

    results = race(write, write)
    assert outcomes(results) == {"NoneType": 1, "IntegrityError": 1}
    assert any(isinstance(result, IntegrityError) for result in results)
    assert sweep() == []


def test_heartbeats_that_change_devices_and_bookings_never_meet_in_a_ring() -> None:
    node = Node(devices=2)

    def heartbeats() -> None:
        for number in range(30):
            node.devices[0] = node.devices[0].model_copy(update={"model": f"Driver {number}"})
            node.sync(now=at(number / 10))

    def bookings() -> None:
        for _ in range(12):
            book(make_wish(memory_mib=1, share_permille=1))

    assert outcomes(race(heartbeats, bookings, bookings)) == {"NoneType": 3}
    assert sweep() == []
