"""Many at once, on real commits: nothing sold twice, nothing bought twice, and the losers are told."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from allocator.services import sweep
from marketplace.models import EVERYWHERE, Placement, Reservation, ReservationEvent, ReservationState
from marketplace.selectors import peak_and_count
from marketplace.services import quotas, rate, reconcile, release, start_earlier
from tests.marketplace.factories import HOUR, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node
from tests.racing import race

pytestmark = pytest.mark.usefixtures("committed_system")


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=datetime.now(UTC))


def asks(buyer: Buyer, body: dict[str, Any], key: str = "") -> Any:
    """One more client: its own connection, its own request."""
    return partial(buyer.post, "reservations", body, key=key)


def test_ten_clients_race_for_the_last_quarter(node: Node) -> None:
    first = make_buyer(now=datetime.now(UTC))
    assert first.post("reservations", first.body(slice={"memory_mib": 6144, "share_permille": 750})).status_code == 201
    buyers = [make_buyer(now=datetime.now(UTC)) for _ in range(5)]
    answers = race(*(asks(buyer, buyer.body()) for buyer in buyers * 2))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 9}
    refused = [answer.json() for answer in answers if answer.status_code == 409]
    assert {said["code"] for said in refused} == {"no_capacity"}
    assert all(said["next_free_at"] for said in refused)
    assert Reservation.objects.count() == 2
    assert sweep.sweep() == []


def test_the_same_key_ten_times_buys_once(node: Node) -> None:
    ada = make_buyer(now=datetime.now(UTC))
    body = ada.body()
    answers = race(*(asks(ada, body, key="once") for _ in range(10)))
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {201, 409}
    assert {answer.json()["id"] for answer in answers if answer.status_code == 201} == {
        ada.post("reservations", body, key="once").json()["id"]
    }
    late = [answer for answer in answers if answer.status_code == 409]
    assert all(answer.json()["code"] == "idempotency_in_flight" and answer["Retry-After"] for answer in late)
    assert (Reservation.objects.count(), Placement.objects.count()) == (1, 1)


def test_a_tenants_requests_do_not_slip_past_its_quota_together(node: Node) -> None:
    ada = make_buyer(now=datetime.now(UTC))
    quotas.set_quota(tenant_id=ada.tenant_id, project_id=None, nominal_permille=300, nominal_mib=8192,
                     max_reservations=99, by_operator=True, now=datetime.now(UTC))  # fmt: skip
    body = ada.body(slice={"memory_mib": 100, "share_permille": 100})
    answers = race(*(asks(ada, body) for _ in range(8)))
    assert Counter(answer.status_code for answer in answers) == {201: 3, 409: 5}
    now = datetime.now(UTC)
    assert peak_and_count(tenant_id=ada.tenant_id, project_id=None, starts_at=now, ends_at=None) == (300, 300, 3)


def test_two_first_purchases_make_one_quota_row(node: Node) -> None:
    ada = make_buyer(now=datetime.now(UTC))
    body = ada.body(slice={"memory_mib": 100, "share_permille": 100})
    assert {answer.status_code for answer in race(*(asks(ada, body) for _ in range(4)))} == {201}


def test_eight_halves_on_two_devices_make_four_winners(node: Node) -> None:
    Node(now=datetime.now(UTC))
    buyers = [make_buyer(now=datetime.now(UTC)) for _ in range(4)]
    half = {"memory_mib": 4096, "share_permille": 500}
    answers = race(*(asks(buyer, buyer.body(slice=half)) for buyer in buyers * 2))
    assert Counter(answer.status_code for answer in answers) == {201: 4, 409: 4}
    assert Counter(Counter(place.device_id for place in Placement.objects.all()).values()) == {2: 2}
    assert sweep.sweep() == []


def test_followers_and_releases_at_once_leave_one_story() -> None:
    make_price("3.20")
    node = Node(now=NOON)
    row = buy(make_buyer())
    node.beat(now=NOON)
    free = partial(release.release, reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + HOUR / 2)
    follow = partial(reconcile.reconcile_owners, owners=[row.pk], now=NOON + HOUR / 2)
    outcomes = race(free, follow, free, follow, free, follow)
    assert [outcome for outcome in outcomes if isinstance(outcome, BaseException)] == []
    events = list(ReservationEvent.objects.filter(reservation=row).order_by("version"))
    assert [event.version for event in events] == list(range(1, len(events) + 1))
    assert fresh(row).state == ReservationState.ENDING


def test_raters_at_once_charge_once() -> None:
    from billing import facade as billing

    make_price("3.20")
    node = Node(now=NOON)
    row = buy(make_buyer())
    node.beat(now=NOON)
    for minute in range(10):
        node.use(lease_of(row), window_start=NOON + minute * HOUR / 60, used_permille_s=60 * 200, now=NOON + HOUR)
    settle = partial(reconcile.reconcile, now=NOON + HOUR)
    outcomes = race(*(partial(rate.rate_dirty, now=NOON + HOUR) for _ in range(4)), settle, settle)
    assert [outcome for outcome in outcomes if isinstance(outcome, BaseException)] == []
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert {line.kind: line.quantity for line in lines} == {"used": 10 * 60 * 200, "idle": 250 * 3600 - 120_000}


def test_the_offered_room_goes_to_one_of_two(node: Node) -> None:
    now = datetime.now(UTC)
    whole = {"memory_mib": 8192, "share_permille": 1000}
    rows = [
        buy(make_buyer(now=now), now=now, **whole, starts_at=now + hours * HOUR, ends_at=now + (hours + 1) * HOUR)
        for hours in (2, 3)
    ]
    outcomes = race(
        *(
            partial(start_earlier.start_earlier, reach=EVERYWHERE, reservation_id=row.pk, actor="u", now=now)
            for row in rows
        )
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["DoesNotFit", "Reservation"]
    assert sweep.sweep() == []
