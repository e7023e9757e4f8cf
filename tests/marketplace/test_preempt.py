"""Who waits gets room from who was bought as preemptible: notice, end, back in line; and nobody for nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings

from allocator import facade as allocator
from allocator.models import Lease
from billing.models import Charge
from marketplace.models import EVERYWHERE, Eviction, Reservation, ReservationState
from marketplace.services import cohorts, gang_orders, preempt_end, queue, quotas, reconcile, reconcile_device, release
from marketplace.services.show import show_one
from tests.marketplace.factories import (
    HOUR,
    MINUTE,
    NOON,
    Buyer,
    buy,
    fresh,
    lease_of,
    make_buyer,
    make_order,
    make_price,
)
from tests.marketplace.node import Node, make_device
from vxpu.ids import new_uuid
from vxpu.market import LeaseView

pytestmark = pytest.mark.usefixtures("system")
S = ReservationState
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}
HALF: dict[str, Any] = {"memory_mib": 4096, "share_permille": 500}
ASKED = NOON + 15 * MINUTE
TOLD = NOON + 20 * MINUTE
GONE = TOLD + timedelta(seconds=settings.VXPU_PREEMPT_NOTICE_S)
DAY = 24 * HOUR


@pytest.fixture
def node() -> Node:
    make_price()
    return Node(now=NOON)


def run(node: Node, buyer: Buyer | None = None, **over: Any) -> Reservation:
    """A preemptible slice that is running since noon."""
    row = buy(buyer or make_buyer(), **{**WHOLE, "preemptible": True, "ends_at": NOON + DAY, **over})
    settle(node, NOON)
    assert fresh(row).state == S.ACTIVE
    return row


def settle(node: Node, now: datetime) -> None:
    node.beat(now=now)
    reconcile.reconcile(now=now)


def wait(**over: Any) -> Reservation:
    """Somebody asks for a whole device for an hour, and waits."""
    now, buyer = over.pop("now", ASKED), over.pop("buyer", None) or make_buyer()
    wanted = {**WHOLE, "queue": True, "starts_at": None, "ends_at": now + HOUR, **over}
    return buy(buyer, now=now, **wanted)


def lease(row: Reservation) -> LeaseView:
    return allocator.get_lease(lease_id=lease_of(fresh(row)))


def steps(row: Reservation) -> list[str]:
    return [one.kind for one in Eviction.objects.filter(reservation=row).order_by("at", "id")]


def test_a_wish_that_waited_is_booked_into_the_room_that_the_notice_makes(node: Node) -> None:
    victim, wish = run(node), wait()
    assert queue.place_queued(now=TOLD) == 1
    told, placed = fresh(victim), fresh(wish)
    assert (told.state, told.notice_at, told.evict_at) == (S.PREEMPTING, TOLD, GONE)
    assert (placed.state, placed.starts_at, placed.ends_at) == (S.CONFIRMED, GONE, GONE + HOUR)
    assert (lease(victim).period.ends_at, lease(wish).period.starts_at) == (GONE, GONE)
    node.beat(now=TOLD)
    (running,) = node.running.values()
    assert running.hook is not None
    assert (running.hook.reason, running.hook.deadline, running.ends_at) == ("preempt", GONE, GONE)
    row = Eviction.objects.get()
    assert (row.reservation_id, row.for_id, row.kind, row.reason) == (victim.pk, wish.pk, "noticed", "preempted")
    assert row.wasted_permille_s == 1000 * 20 * 60
    assert queue.place_queued(now=TOLD) == 0


def test_the_place_that_it_was_given_is_not_a_device_that_it_asked_for(node: Node) -> None:
    run(node)
    wish = wait(device_id=None)
    assert queue.place_queued(now=TOLD) == 1
    assert Lease.objects.get(pk=lease_of(fresh(wish))).pinned is False


def test_the_victim_goes_back_in_line_with_its_age_and_the_rest_of_its_time(node: Node) -> None:
    victim, wish = run(node), wait()
    queue.place_queued(now=TOLD)
    settle(node, GONE)
    settle(node, GONE)
    row = fresh(victim)
    assert (row.state, row.lease_id, row.evictions, row.waits_for) == (S.QUEUED, None, 1, "preempted")
    assert (row.created_at, row.starts_at, row.ends_at) == (NOON, GONE, NOON + DAY)
    assert fresh(wish).state == S.ACTIVE
    assert steps(victim) == ["noticed", "evicted"]
    settle(node, GONE + HOUR)
    settle(node, GONE + HOUR)
    assert queue.place_queued(now=GONE + HOUR) == 1
    assert fresh(victim).ends_at == NOON + DAY + HOUR
    settle(node, GONE + HOUR)
    assert fresh(victim).state == S.ACTIVE


def test_while_it_waits_again_it_shows_what_it_has_cost(node: Node) -> None:
    victim, _ = run(node), wait()
    queue.place_queued(now=TOLD)
    for now in (GONE, GONE, GONE):
        settle(node, now)
    shown = show_one(fresh(victim), now=GONE)
    assert (shown.row.state, shown.lease, shown.placement, shown.per_hour) == (S.QUEUED, None, None, None)
    assert shown.cost is not None
    assert (shown.cost.amount, shown.cost.quality) == (Decimal("1.0667"), "measured")


def test_from_the_notice_on_nothing_is_charged_and_the_device_still_adds_up(node: Node) -> None:
    victim, _ = run(node), wait()
    queue.place_queued(now=TOLD)
    for now in (GONE, GONE, GONE + HOUR):
        settle(node, now)
    charges = Charge.objects.filter(reverses=None, superseded=False, text__contains="notice")
    notice_s = settings.VXPU_PREEMPT_NOTICE_S
    assert sum(one.quantity for one in charges) == 1000 * notice_s
    assert {one.unit_price for one in charges} == {0}
    assert Eviction.objects.get(kind="evicted").refunded_permille_s == 1000 * notice_s
    paid = Charge.objects.filter(source=lease_of(victim), reverses=None, superseded=False).exclude(unit_price=0)
    assert sum(one.quantity for one in paid) == 1000 * 20 * 60
    found = reconcile_device.reconcile_device(
        device_id=node.device().id, starts_at=NOON, ends_at=NOON + HOUR, currency="EUR", now=GONE + HOUR
    )
    assert found.quantities.cut == 0


@pytest.mark.parametrize("over", [{"preemptible": False}, {"ends_at": NOON + 21 * MINUTE}])
def test_who_did_not_buy_it_so_or_ends_anyway_is_not_told(node: Node, over: dict[str, Any]) -> None:
    victim, wish = run(node, **over), wait()
    queue.place_queued(now=TOLD)
    assert fresh(victim).state == S.ACTIVE
    assert (fresh(wish).state, Eviction.objects.count()) == (S.QUEUED, 0)


def test_too_short_a_wait_and_too_young_a_victim(node: Node) -> None:
    victim = run(node)
    wait(now=TOLD - timedelta(seconds=settings.VXPU_PREEMPT_DELAY_S - 1))
    assert queue.place_queued(now=TOLD) == 0
    young = NOON + timedelta(seconds=settings.VXPU_PREEMPT_MIN_RUN_S - 1)
    assert queue.place_queued(now=young) == 0
    assert fresh(victim).state == S.ACTIVE


def test_a_preemptible_wish_evicts_no_equal_and_two_wishes_count_on_one_victim_once(node: Node) -> None:
    victim = run(node)
    equal = wait(preemptible=True)
    assert queue.place_queued(now=TOLD) == 0
    first, second = wait(), wait()
    assert queue.place_queued(now=TOLD) == 1
    assert [fresh(row).state for row in (victim, equal, first, second)] == [
        S.PREEMPTING, S.QUEUED, S.CONFIRMED, S.QUEUED,
    ]  # fmt: skip


def test_low_work_on_a_node_that_cannot_be_freed_stays_and_the_queue_moves_on() -> None:
    make_price()
    node = Node(now=NOON, devices=[make_device(), make_device()])
    high = [buy(make_buyer(), **HALF, ends_at=NOON + DAY, device_id=node.device(n).id) for n in (0, 1)]
    low = [run(node, **HALF, device_id=node.device(n).id) for n in (0, 1)]
    big = wait()
    small = wait(memory_mib=4096, share_permille=500)
    assert queue.place_queued(now=TOLD) == 1
    assert fresh(big).state == S.QUEUED
    assert fresh(small).state == S.CONFIRMED
    assert sorted(fresh(row).state for row in low) == [S.ACTIVE, S.PREEMPTING]
    assert [fresh(row).state for row in high] == [S.ACTIVE] * 2


def test_the_pre_emptor_goes_and_the_victim_stays(node: Node) -> None:
    victim, wish = run(node), wait()
    queue.place_queued(now=TOLD)
    release.release(reach=EVERYWHERE, reservation_id=wish.pk, actor="user:test", now=TOLD)
    reconcile.reconcile_victims(for_id=wish.pk, now=TOLD + MINUTE)
    row = fresh(victim)
    assert (row.state, row.notice_at, row.evict_at) == (S.ACTIVE, None, None)
    assert (lease(victim).period.ends_at, steps(victim)) == (NOON + DAY, ["noticed", "spared"])
    settle(node, GONE + HOUR)
    assert not Charge.objects.filter(text__contains="notice", superseded=False).exclude(quantity=0).exists()


def test_once_it_drains_it_is_too_late_to_stay(node: Node) -> None:
    victim, wish = run(node), wait()
    queue.place_queued(now=TOLD)
    release.release(reach=EVERYWHERE, reservation_id=wish.pk, actor="user:test", now=GONE)
    assert not preempt_end.spare(reservation_id=victim.pk, now=GONE)
    settle(node, GONE)
    settle(node, GONE)
    assert fresh(victim).state == S.QUEUED


def test_a_victim_that_leaves_by_itself_is_done_and_pays_for_no_minute_of_the_notice(node: Node) -> None:
    victim, _ = run(node), wait()
    queue.place_queued(now=TOLD)
    release.release(reach=EVERYWHERE, reservation_id=victim.pk, actor="user:test", now=TOLD + MINUTE)
    settle(node, TOLD + MINUTE)
    settle(node, TOLD + MINUTE)
    assert (fresh(victim).state, steps(victim)) == (S.COMPLETED, ["noticed"])
    paid = Charge.objects.filter(source=lease_of(victim), reverses=None, superseded=False).exclude(unit_price=0)
    assert sum(one.quantity for one in paid) == 1000 * 20 * 60


def test_a_checkpoint_makes_a_cheaper_victim_and_a_pair_meets_once() -> None:
    make_price()
    node = Node(now=NOON, devices=[make_device(), make_device()])
    older, saved = (run(node, device_id=node.device(n).id) for n in (0, 1))
    Reservation.objects.filter(pk=saved.pk).update(checkpointed_at=TOLD - MINUTE)
    wish = wait()
    assert queue.place_queued(now=TOLD) == 1
    assert (fresh(saved).state, fresh(older).state) == (S.PREEMPTING, S.ACTIVE)
    assert Eviction.objects.get().wasted_permille_s == 1000 * 60
    from marketplace.services._evictions import pairs_of

    assert pairs_of(saved.pk, now=TOLD + HOUR - MINUTE) == pairs_of(saved.pk, now=TOLD) == {wish.pk}
    assert pairs_of(wish.pk, now=TOLD + HOUR) == frozenset()


def test_who_lacks_of_its_own_takes_back_what_it_lent(node: Node) -> None:
    """Equal ranks: only the lender, and only while it is below its own nominal."""
    lender, borrower, stranger = make_buyer(), make_buyer(), make_buyer()
    cohort = cohorts.create_cohort(name="shared", now=NOON, actor="user:test")
    for buyer, nominal in ((lender, 1000), (borrower, 500)):
        quotas.set_quota(
            tenant_id=buyer.tenant_id, project_id=None, nominal_permille=nominal, nominal_mib=8192,
            max_reservations=9, by_operator=True, now=NOON, cohort_id=cohort.pk, borrow_permille=500,
        )  # fmt: skip
    kept, taken = (run(node, borrower, **HALF) for _ in range(2))
    wait(buyer=stranger, preemptible=True, **HALF)
    assert queue.place_queued(now=TOLD) == 0
    wish = wait(buyer=lender, preemptible=True, **HALF)
    assert queue.place_queued(now=TOLD) == 1
    assert [fresh(row).state for row in (kept, taken, wish)] == [S.ACTIVE, S.PREEMPTING, S.CONFIRMED]
    assert [one.reason for one in Eviction.objects.all()] == ["reclaimed"]


def test_a_gang_evicts_on_the_node_that_can_be_freed_and_on_no_other() -> None:
    """Case of low work on every node: one node has a slice that stays, the other can be emptied."""
    make_price()
    mixed, low = (Node(now=NOON, devices=[make_device(), make_device()]) for _ in range(2))
    buy(make_buyer(), **WHOLE, ends_at=NOON + DAY, device_id=mixed.device(0).id)
    stays = run(mixed, device_id=mixed.device(1).id)
    gone = [run(low, device_id=low.device(n).id) for n in (0, 1)]
    order = make_order(make_buyer(), **WHOLE, starts_at=None, ends_at=ASKED + HOUR, queue=True)
    wanted: dict[str, Any] = {"requested_by": new_uuid(), "actor": "user:test", "now": ASKED}
    gang_orders.reserve_gang(order=order, count=3, together="node", **wanted)
    two = gang_orders.reserve_gang(order=order, count=2, together="node", **wanted)
    assert queue.place_queued(now=TOLD) == 2
    assert [fresh(row).state for row in (stays, *gone)] == [S.ACTIVE, S.PREEMPTING, S.PREEMPTING]
    rows = Reservation.objects.filter(gang_id=two.gang.pk)
    assert {(row.state, row.starts_at) for row in rows} == {(S.CONFIRMED, GONE)}
    assert {row.device_id for row in rows} == {low.device(n).id for n in (0, 1)}
