"""Nodes that fall silent: what they ran is placed anew in one batch, at the same price, and nothing runs twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from allocator import facade as allocator
from allocator.models import Lease, NodeEvent
from allocator.services import standby, watch
from allocator.services.sweep import sweep
from marketplace.models import EVERYWHERE, Placement, Reservation, ReservationEvent, ReservationState
from marketplace.services import fail_over, reconcile, release
from marketplace.services.fail_over import Replaced
from tests.delivery import deliver
from tests.marketplace.factories import HOUR, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("system", "short_authority")
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}


@pytest.fixture
def short_authority(settings: Any) -> None:
    settings.VXPU_AUTHORITY_S, settings.VXPU_FAILURE_TIMEOUT_S = 25, 30
    make_price("3.20")


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def pass_time(until: int, *heard: Node, since: int = 0) -> Replaced:
    """The watch every two seconds; `heard` are the nodes that go on beating. What it did last."""
    done = Replaced(found=0, placed=0)
    for second in range(since + 2, until + 1, 2):
        for node in heard:
            node.beat(now=at(second))
        done = fail_over.watch(now=at(second))
    return done


def running(node: Node, *rows: Reservation) -> None:
    node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    assert {fresh(row).state for row in rows} == {"active"}


def states(row: Reservation) -> list[str]:
    return [event.to_state for event in ReservationEvent.objects.filter(reservation=row).order_by("version")]


def test_what_a_silent_node_ran_has_another_place_with_the_verdict_and_keeps_its_price(ada: Buyer) -> None:
    lost = Node(now=NOON)
    rows = [buy(ada) for _ in range(3)]
    running(lost, *rows)
    other = Node(now=NOON, devices=[make_device(), make_device()])
    assert pass_time(30, other) == Replaced(found=0, placed=0)
    assert pass_time(32, other, since=30) == Replaced(found=3, placed=3)
    for row in rows:
        moved = fresh(row)
        assert (moved.state, moved.unit_price, moved.price_id) == ("activating", row.unit_price, row.price_id)
        assert moved.device_id != row.device_id
        assert states(row)[-3:] == ["active", "moving", "activating"]
        assert [place.is_current for place in Placement.objects.filter(reservation=row).order_by("created_at")] == [
            False, True,
        ]  # fmt: skip
    other.beat(now=at(33))
    reconcile.reconcile(now=at(33))
    assert {fresh(row).state for row in rows} == {"active"}
    assert sweep() == []


def test_the_event_of_a_worker_that_died_in_between_does_the_rest(ada: Buyer, monkeypatch: Any) -> None:
    lost = Node(now=NOON)
    row = buy(ada)
    running(lost, row)
    other = Node(now=NOON)
    pass_time(30, other)
    other.beat(now=at(32))
    assert allocator.watch_nodes(now=at(32)) == 1
    monkeypatch.setattr("marketplace.tasks.timezone.now", lambda: at(33))
    assert fresh(row).state == ReservationState.ACTIVE
    deliver()
    assert (fresh(row).state, fresh(row).device_id) == ("activating", other.device().id)
    assert fail_over.fail_over(now=at(34)) == Replaced(found=0, placed=0)


def test_the_larger_ones_come_first_and_who_finds_no_room_waits_until_there_is(ada: Buyer) -> None:
    lost = Node(now=NOON, devices=[make_device(), make_device()])
    small, large = buy(ada), buy(ada, memory_mib=7000, share_permille=900)
    running(lost, small, large)
    other = Node(now=NOON)
    assert pass_time(32, other) == Replaced(found=2, placed=1)
    assert (fresh(large).state, fresh(small).state) == ("activating", "moving")
    assert lease_of(fresh(small)) == lease_of(small)
    more = Node(now=at(34))
    reconcile.reconcile(now=at(35))
    assert (fresh(small).state, fresh(small).device_id) == ("activating", more.device().id)


def test_a_device_that_was_asked_for_by_name_is_waited_for_with_its_memory(ada: Buyer) -> None:
    lost = Node(now=NOON)
    row = buy(ada, device_id=lost.device().id)
    running(lost, row)
    other = Node(now=NOON)
    assert pass_time(60, other) == Replaced(found=0, placed=0)
    assert fresh(row).state == ReservationState.ACTIVE
    told = allocator.list_lease_news(tenant_id=ada.tenant_id, before=None, limit=9)
    assert (told[0].to_state, told[0].reason) == ("unreachable", watch.WAITS)
    lost.beat(now=at(61))
    assert allocator.get_lease(lease_id=lease_of(row)).state == LeaseState.READY


def test_what_was_released_ends_with_its_node_and_gets_no_other_place(ada: Buyer) -> None:
    lost = Node(now=NOON)
    row = buy(ada)
    running(lost, row)
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=at(10))
    other = Node(now=at(11))
    assert pass_time(32, other) == Replaced(found=0, placed=0)
    assert (fresh(row).state, fresh(row).ended_at) == (ReservationState.COMPLETED, at(32))
    assert Lease.objects.filter(owner=row.pk).count() == 1


def test_a_whole_device_of_another_size_is_asked_of_the_quota_as_well(ada: Buyer) -> None:
    lost = Node(now=NOON)
    row = buy(ada, isolation_at_least="exclusive", **WHOLE)
    running(lost, row)
    other = Node(now=NOON, devices=[make_device(memory_mib=32768, capacity_mib=16384)])
    assert pass_time(32, other) == Replaced(found=1, placed=1)
    assert allocator.get_lease(lease_id=lease_of(fresh(row))).slice.memory_mib == 16384


def test_a_booking_that_should_have_begun_on_a_silent_node_moves_and_a_later_one_waits(ada: Buyer) -> None:
    lost = Node(now=NOON)
    soon, later = buy(ada, starts_at=at(40)), buy(ada, starts_at=NOON + HOUR / 2)
    other = Node(now=NOON)
    pass_time(38, other)
    assert pass_time(40, other, since=38) == Replaced(found=1, placed=1)
    assert (fresh(soon).device_id, fresh(later).device_id) == (other.device().id, lost.device().id)
    assert (fresh(soon).state, fresh(later).state) == ("activating", "confirmed")


def test_a_node_that_stands_by_is_filled_first_and_the_lost_one_takes_its_part(ada: Buyer) -> None:
    lost, other, reserve = Node(now=NOON), Node(now=NOON), Node(now=NOON)
    standby.set_standby(node_id=reserve.id, standby=True, actor="olga", now=NOON)
    rows = [buy(ada, **WHOLE), buy(ada, **WHOLE)]
    lost, other = sorted((lost, other), key=lambda node: node.device().id != rows[0].device_id)
    running(lost, rows[0])
    running(other, rows[1])
    assert pass_time(32, other, reserve) == Replaced(found=1, placed=1)
    assert fresh(rows[0]).device_id == reserve.device().id
    kinds = NodeEvent.objects.filter(kind__startswith="standby", at=at(32)).order_by("kind")
    assert [(event.kind, event.node_id) for event in kinds] == [
        ("standby_set", lost.id), ("standby_used", reserve.id),
    ]  # fmt: skip
