"""From purchase to charge, on a real database, with a node that speaks through the allocator's own services."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace.models import EVERYWHERE, Reservation, ReservationEvent, ReservationState
from marketplace.services import offer_earlier, rate, reconcile, release, resize, start_earlier
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=NOON)


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


@pytest.fixture
def bo() -> Buyer:
    return make_buyer()


@pytest.fixture
def cy() -> Buyer:
    return make_buyer()


def charged(row: Reservation) -> dict[str, str]:
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON - HOUR, ends_at=NOON + 24 * HOUR)
    return {kind: str(sum((line.amount for line in lines if line.kind == kind), Decimal(0))) for kind in
            sorted({line.kind for line in lines})}  # fmt: skip


def quantities(row: Reservation, kind: str) -> int:
    """Permille-seconds."""
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON - HOUR, ends_at=NOON + 24 * HOUR)
    return sum(line.quantity for line in lines if line.kind == kind)


def settle(node: Node, *, now: datetime) -> None:
    node.beat(now=now)
    reconcile.reconcile(now=now)
    rate.rate_dirty(now=now)


def test_a_quarter_for_an_hour_is_delivered_and_charged(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    settle(node, now=NOON)
    assert fresh(row).state == ReservationState.ACTIVE
    node.use_steadily(lease_of(row), since=NOON, until=NOON + HOUR, permille=200)
    settle(node, now=NOON + HOUR)
    assert fresh(row).state == ReservationState.COMPLETED
    assert charged(row) == {"idle": "0.16", "used": "0.64"}
    events = ReservationEvent.objects.filter(reservation=row).order_by("version")
    assert [event.to_state for event in events] == ["confirmed", "activating", "active", "ending", "completed"]


def test_c_is_told_when_and_what_would_fit_and_books_that(node: Node, ada: Buyer, bo: Buyer, cy: Buyer) -> None:
    buy(ada, ends_at=NOON + 2 * HOUR)
    buy(bo, memory_mib=4096, share_permille=500)
    with pytest.raises(DoesNotFit) as refused:
        buy(cy, memory_mib=4096, share_permille=500)
    said = refused.value.data
    assert said["next_free_at"] == NOON + HOUR
    assert said["constraints"] == {"memory_and_compute": 1}
    nearest = said["nearest"]
    assert isinstance(nearest, list)
    assert (nearest[0].memory_mib, nearest[0].share_permille) == (2048, 250)
    row = buy(cy, memory_mib=4096, share_permille=500, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    assert (row.state, row.starts_at) == (ReservationState.CONFIRMED, NOON + HOUR)


def test_a_resize_splits_the_charges_at_its_second(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    settle(node, now=NOON)
    at = NOON + 30 * MINUTE - timedelta(seconds=1)
    resize.resize(
        reach=EVERYWHERE, reservation_id=row.pk, memory_mib=1024, share_permille=125, actor="user:test", now=at
    )
    assert fresh(row).state == ReservationState.ACTIVE
    settle(node, now=NOON + HOUR)
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert sorted((line.text.split(": ")[1], line.quantity) for line in lines) == [
        ("1 GiB + 12.5 % of Test CPU", 125 * 1800),
        ("2 GiB + 25 % of Test CPU", 250 * 1800),
    ]


def test_what_was_booked_and_not_delivered_is_shown_and_free(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    settle(node, now=NOON + 5 * MINUTE)
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + 45 * MINUTE)
    assert fresh(row).state == ReservationState.ENDING
    settle(node, now=NOON + 45 * MINUTE)
    settle(node, now=NOON + 2 * HOUR)
    assert fresh(row).state == ReservationState.COMPLETED
    assert charged(row) == {"idle": "0.53", "reserved": "0.00"}
    assert quantities(row, "idle") == 250 * 40 * 60
    assert quantities(row, "reserved") == 250 * 20 * 60


def test_an_earlier_start_is_offered_and_not_imposed(node: Node, ada: Buyer, bo: Buyer) -> None:
    first = buy(ada, memory_mib=8192, share_permille=1000, ends_at=NOON + 2 * HOUR)
    later = buy(bo, memory_mib=8192, share_permille=1000, starts_at=NOON + 2 * HOUR, ends_at=NOON + 3 * HOUR)
    settle(node, now=NOON)
    assert offer_earlier.offer_earlier(now=NOON) == 0
    release.release(reach=EVERYWHERE, reservation_id=first.pk, actor="user:test", now=NOON + HOUR)
    settle(node, now=NOON + HOUR)
    assert offer_earlier.offer_earlier(now=NOON + HOUR) == 1
    assert (fresh(later).starts_at, fresh(later).earlier_start_at) == (NOON + 2 * HOUR, NOON + HOUR)
    assert offer_earlier.offer_earlier(now=NOON + HOUR + MINUTE) == 0
    begun = start_earlier.start_earlier(
        reach=EVERYWHERE, reservation_id=later.pk, actor="user:test", now=NOON + HOUR + 2 * MINUTE
    )
    assert (begun.starts_at, begun.ends_at) == (NOON + HOUR + 2 * MINUTE, NOON + 2 * HOUR + 2 * MINUTE)
    settle(node, now=NOON + HOUR + 2 * MINUTE)
    assert fresh(later).state == ReservationState.ACTIVE


def test_an_offer_that_others_took_is_withdrawn(node: Node, ada: Buyer, bo: Buyer, cy: Buyer) -> None:
    whole: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}
    later = buy(ada, **whole, starts_at=NOON + 2 * HOUR, ends_at=NOON + 3 * HOUR)
    assert offer_earlier.offer_earlier(now=NOON) == 1
    buy(bo, **whole, ends_at=NOON + 2 * HOUR)
    with pytest.raises(DoesNotFit) as refused:
        start_earlier.start_earlier(reach=EVERYWHERE, reservation_id=later.pk, actor="user:test", now=NOON)
    assert "stands" in refused.value.suggestion
    assert offer_earlier.offer_earlier(now=NOON) == 1
    kept = fresh(later)
    assert (kept.state, kept.starts_at, kept.earlier_start_at) == ("confirmed", NOON + 2 * HOUR, None)


def test_a_booking_taken_back_before_its_start_costs_nothing(node: Node, ada: Buyer) -> None:
    row = buy(ada, starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR)
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON)
    settle(node, now=NOON + 3 * HOUR)
    assert fresh(row).state == ReservationState.CANCELLED
    assert charged(row) == {}
    again = release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + HOUR)
    assert again.state == ReservationState.CANCELLED
