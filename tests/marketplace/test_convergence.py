"""Events are hints: lost, late, doubled or out of order, the reconciler brings everything to the truth."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.conf import settings

from allocator import facade as allocator
from billing import facade as billing
from marketplace.models import EVERYWHERE, Placement, Reservation, ReservationEvent, ReservationState
from marketplace.services import rate, reconcile, release
from marketplace.services.follow import follow
from plumbing import db
from plumbing.models import OutboxEvent
from tests.delivery import deliver
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node, make_device

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=NOON)


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


def states(row: Reservation) -> list[str]:
    return [event.to_state for event in ReservationEvent.objects.filter(reservation=row).order_by("version")]


def charges(row: Reservation) -> list[tuple[str, int]]:
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON - HOUR, ends_at=NOON + 24 * HOUR)
    return sorted((line.kind, line.quantity) for line in lines)


def test_all_events_lost_and_the_beat_alone_finds_the_end(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    node.beat(now=NOON + HOUR)
    OutboxEvent.objects.all().delete()
    found = reconcile.reconcile(now=NOON + 2 * HOUR)
    assert (found.seen, found.done, found.failed) == (1, 1, 0)
    assert states(row) == ["confirmed", "activating", "active", "ending", "completed"]
    assert charges(row) == [("idle", 250 * 3600)]
    assert reconcile.reconcile(now=NOON + 3 * HOUR).seen == 0


def test_events_alone_are_enough_when_they_come(node: Node, ada: Buyer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [NOON]
    monkeypatch.setattr("marketplace.tasks.timezone.now", lambda: clock[0])
    row = buy(ada)
    node.beat(now=NOON)
    deliver()
    assert fresh(row).state == ReservationState.ACTIVE
    clock[0] = NOON + HOUR
    node.beat(now=NOON + HOUR)
    deliver()
    assert fresh(row).state == ReservationState.COMPLETED
    assert charges(row) == [("idle", 250 * 3600)]


def test_double_events_are_harmless(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    for _ in range(3):
        assert reconcile.reconcile_owners(owners=[row.pk], now=NOON).seen == 1
    before = states(row)
    node.beat(now=NOON + HOUR)
    for _ in range(3):
        reconcile.reconcile_owners(owners=[row.pk], now=NOON + HOUR)
        rate.rate_dirty(now=NOON + HOUR)
    assert states(row) == [*before, "ending", "completed"]
    assert charges(row) == [("idle", 250 * 3600)]


def test_an_event_of_another_owner_is_nobodys_business(node: Node) -> None:
    assert reconcile.reconcile_owners(owners=[settings.VXPU_OPERATOR_TENANT], now=NOON).seen == 0


def test_a_slice_that_ends_by_itself_has_failed(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    with_lease = node.running.popitem()
    node.gone[with_lease[0]] = with_lease[1]
    node.beat(now=NOON + 10 * MINUTE)
    follow(reservation_id=row.pk, now=NOON + 10 * MINUTE)
    ended = fresh(row)
    assert (ended.state, ended.end_reason) == (ReservationState.FAILED, "ended_by_node")
    reconcile.reconcile(now=NOON + 11 * MINUTE)
    assert charges(row)[0] == ("idle", 250 * 600)


def test_a_slice_that_was_never_ready_costs_nothing(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=NOON + 10 * MINUTE)
    reconcile.reconcile(now=NOON + 2 * HOUR)
    assert fresh(row).state == ReservationState.CANCELLED
    lines = billing.charged_lines(sources=[lease_of(row)], starts_at=NOON, ends_at=NOON + HOUR)
    assert {(line.kind, str(line.amount)) for line in lines} == {("reserved", "0.00")}


def lose(row: Reservation, *, now: datetime) -> None:
    """The operator gives the silent node up."""

    @db.transaction
    def fence() -> None:
        allocator.fence(lease_id=lease_of(row), reason="node_lost", now=now)

    from allocator.models import Node as NodeRow

    lease = allocator.get_lease(lease_id=lease_of(row))
    NodeRow.objects.filter(pk=lease.node_id).update(is_online=False)
    fence()


def test_a_lost_node_moves_the_reservation_and_keeps_its_price(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    other = Node(now=NOON, devices=[make_device(model="Other CPU")])
    make_price_dearer()
    lose(row, now=NOON + 10 * MINUTE)
    reconcile.reconcile(now=NOON + 10 * MINUTE)
    moved = fresh(row)
    assert (moved.state, moved.device_id, moved.unit_price) == ("activating", other.device().id, row.unit_price)
    other.beat(now=NOON + 11 * MINUTE)
    reconcile.reconcile(now=NOON + 11 * MINUTE)
    assert fresh(row).state == ReservationState.ACTIVE
    assert [place.is_current for place in Placement.objects.filter(reservation=row).order_by("created_at")] == [
        False, True,
    ]  # fmt: skip


def make_price_dearer() -> None:
    make_price("9.99", sku="dear")


def test_a_lost_node_without_another_waits_and_then_fails(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    lose(row, now=NOON + 10 * MINUTE)
    reconcile.reconcile(now=NOON + 10 * MINUTE)
    assert fresh(row).state == ReservationState.MOVING
    reconcile.reconcile(now=NOON + HOUR)
    assert (fresh(row).state, fresh(row).end_reason) == (ReservationState.FAILED, "node lost")


def test_the_order_and_batching_of_windows_do_not_matter(node: Node, ada: Buyer) -> None:
    rows = [buy(ada), buy(ada)]
    node.beat(now=NOON)
    minutes = [7, 3, 55, 0, 21]
    for row, order in zip(rows, (minutes, sorted(minutes)), strict=True):
        for minute in order:
            node.use(lease_of(row), window_start=NOON + minute * MINUTE, used_permille_s=minute * 60, now=NOON + HOUR)
            if row is rows[0]:
                rate.rate_dirty(now=NOON + HOUR)
    rate.rate_dirty(now=NOON + HOUR)
    assert charges(rows[0]) == charges(rows[1])
    assert dict(charges(rows[0]))["used"] == sum(minutes) * 60


def test_a_window_that_began_before_ready_counts(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON + timedelta(seconds=20))
    node.use(lease_of(row), window_start=NOON, used_permille_s=40 * 100, now=NOON + MINUTE)
    rate.rate_dirty(now=NOON + MINUTE)
    assert charges(row) == [("idle", 40 * 150), ("reserved", 20 * 250), ("used", 40 * 100)]


def test_a_bucket_that_cannot_be_rated_is_not_forgotten(
    node: Node, ada: Buyer, caplog: pytest.LogCaptureFixture
) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    node.use(lease_of(row), window_start=NOON, used_permille_s=600, now=NOON + MINUTE)
    Reservation.objects.filter(pk=row.pk).update(account_id=settings.VXPU_OPERATOR_TENANT)
    assert rate.rate_dirty(now=NOON + MINUTE) > 0
    assert "not rated yet" in caplog.text
    Reservation.objects.filter(pk=row.pk).update(account_id=row.account_id)
    reconcile.reconcile(now=NOON + HOUR)
    assert ("used", 600) in charges(row)


def test_a_late_worker_with_an_old_clock_shortens_nothing(node: Node, ada: Buyer) -> None:
    row = buy(ada)
    node.beat(now=NOON)
    node.beat(now=NOON + HOUR)
    reconcile.reconcile(now=NOON + HOUR)
    before = charges(row)
    rate.rate_dirty(now=NOON + 10 * MINUTE)
    assert charges(row) == before == [("idle", 250 * 3600)]
