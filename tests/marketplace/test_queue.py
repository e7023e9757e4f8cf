"""Who waits is told for what, and gets room in the order of asking."""

from __future__ import annotations

from typing import Any

import pytest

from allocator.errors import DoesNotFit
from marketplace.errors import QuotaExceeded, WrongPeriod
from marketplace.models import EVERYWHERE, Reservation, ReservationState
from marketplace.services import queue, quotas, release
from tests.delivery import deliver
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from vxpu.ids import new_uuid
from vxpu.states import DeviceKind

pytestmark = pytest.mark.usefixtures("system")
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}


@pytest.fixture
def node() -> Node:
    make_price()
    return Node(now=NOON)


@pytest.fixture
def full(node: Node) -> Reservation:
    """Somebody has the whole device for an hour."""
    return buy(make_buyer(), **WHOLE)


def wait(buyer: Buyer | None = None, **over: Any) -> Reservation:
    return buy(buyer or make_buyer(), queue=True, **{**WHOLE, **over})


def fill_a_card() -> None:
    """A device of another kind, and somebody has it."""
    make_price(sku="nvidia")
    Node(now=NOON, devices=[make_device(kind=DeviceKind.NVIDIA)])
    buy(make_buyer(), **WHOLE, device_kind="nvidia")


def free(row: Reservation, node: Node) -> None:
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + MINUTE)
    node.beat(now=NOON + MINUTE)


def test_a_wish_that_does_not_fit_waits_and_says_for_what(full: Reservation) -> None:
    row = wait()
    assert (row.state, row.lease_id, row.price_id) == (ReservationState.QUEUED, None, None)
    assert (row.waits_for, row.estimated_start_at) == ("memory_and_compute", NOON + HOUR)
    assert row.queued_until == NOON + 24 * HOUR


def test_a_wish_that_no_device_could_ever_take_does_not_wait(node: Node) -> None:
    for over in ({"memory_mib": 10**6}, {"device_kind": "nvidia"}, {"device_id": new_uuid()}):
        with pytest.raises(DoesNotFit) as refused:
            wait(**over)
        assert "queue" not in refused.value.suggestion
    assert Reservation.objects.count() == 0


def test_it_waits_for_what_may_come_free_however_many_devices_are_of_another_sort(full: Reservation) -> None:
    Node(now=NOON, devices=[make_device(model="Another CPU") for _ in range(3)])
    assert wait(models=("Test CPU",)).waits_for == "memory_and_compute"


def test_a_wish_that_fits_does_not_wait(node: Node) -> None:
    assert wait().state == ReservationState.CONFIRMED


def test_freed_room_goes_to_who_asked_first_and_keeps_the_length(node: Node, full: Reservation) -> None:
    first, second = wait(), wait()
    free(full, node)
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 1
    placed = fresh(first)
    assert (placed.state, placed.starts_at) == (ReservationState.CONFIRMED, NOON + 2 * MINUTE)
    assert placed.ends_at == NOON + 2 * MINUTE + HOUR
    assert placed.price_id is not None
    assert fresh(second).estimated_start_at == placed.ends_at


def test_a_short_wish_may_pass_only_if_it_delays_nobody(node: Node) -> None:
    half: dict[str, Any] = {"memory_mib": 4096, "share_permille": 500}
    leaves = buy(make_buyer(), **half, ends_at=NOON + 2 * HOUR)
    buy(make_buyer(), **half, ends_at=NOON + 2 * HOUR)
    head = wait()
    long = wait(**half, ends_at=NOON + 3 * HOUR)
    short = wait(**half, ends_at=NOON + HOUR)
    free(leaves, node)
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 1
    assert [fresh(row).state for row in (head, long, short)] == ["queued", "queued", "confirmed"]
    assert fresh(head).estimated_start_at == NOON + 2 * HOUR


def test_the_place_in_line_is_a_range(full: Reservation) -> None:
    fill_a_card()
    rows = [wait(), wait(ends_at=None), wait(device_kind="nvidia")]
    places = [queue.position_of(fresh(row), now=NOON) for row in rows]
    assert [(place.best, place.worst) for place in places if place] == [(1, 1), (2, 2), (1, 1)]


def test_it_waits_no_longer_than_it_was_told(full: Reservation) -> None:
    row = wait(queued_until=NOON + MINUTE)
    queue.place_queued(now=NOON + MINUTE)
    assert fresh(row).state == ReservationState.EXPIRED
    with pytest.raises(WrongPeriod):
        wait(queued_until=NOON)


def test_a_wish_can_be_taken_back(full: Reservation) -> None:
    row = wait()
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON)
    assert fresh(row).state == ReservationState.CANCELLED
    assert queue.place_queued(now=NOON + 2 * HOUR) == 0


def test_a_wish_beyond_the_quota_never_waits(full: Reservation) -> None:
    buyer = make_buyer()
    quotas.set_quota(tenant_id=buyer.tenant_id, project_id=None, nominal_permille=500, nominal_mib=8192,
                     max_reservations=5, by_operator=True, now=NOON)  # fmt: skip
    with pytest.raises(QuotaExceeded):
        wait(buyer)


def test_one_tenants_full_quota_holds_up_nobody(node: Node, full: Reservation) -> None:
    poor, other = make_buyer(), make_buyer()
    stuck, next_one = wait(poor), wait(other)
    quotas.set_quota(tenant_id=poor.tenant_id, project_id=None, nominal_permille=1, nominal_mib=8192,
                     max_reservations=5, by_operator=True, now=NOON)  # fmt: skip
    free(full, node)
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 1
    assert (fresh(stuck).waits_for, fresh(next_one).state) == ("quota_exceeded", ReservationState.CONFIRMED)


def test_the_news_of_freed_room_wakes_the_queue(node: Node, full: Reservation, monkeypatch: pytest.MonkeyPatch) -> None:
    row = wait()
    free(full, node)
    monkeypatch.setattr("marketplace.tasks.timezone.now", lambda: NOON + 2 * MINUTE)
    deliver()
    assert fresh(row).state in {ReservationState.CONFIRMED, ReservationState.ACTIVATING}
