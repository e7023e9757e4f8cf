"""The queue in order: classes, rooms that are kept, tries that fail, and starts that are estimated."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings

from allocator.errors import DoesNotFit
from allocator.models import Segment
from marketplace.models import EVERYWHERE, Placement, Reservation, ReservationState
from marketplace.services import decay, estimate, gang_orders, queue, quotas, reconcile, release
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, make_buyer, make_order, make_price
from tests.marketplace.node import Node, make_device
from vxpu.states import DeviceKind, LeaseState
from vxpu.wire.node import LeaseReport

pytestmark = pytest.mark.usefixtures("system")
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}
HALF: dict[str, Any] = {"memory_mib": 4096, "share_permille": 500}
S = ReservationState


class DoomedNode(Node):
    """Whatever it is told to start ends at once, until it is mended."""

    mended = False

    def _reports(self) -> list[LeaseReport]:
        reports = super()._reports()
        if self.mended:
            return reports
        return [report.model_copy(update={"state": LeaseState.GONE}) for report in reports]


@pytest.fixture
def node() -> Node:
    make_price()
    return Node(now=NOON)


def wait(buyer: Buyer | None = None, **over: Any) -> Reservation:
    return buy(buyer or make_buyer(), queue=True, **{**WHOLE, **over})


def give_back(row: Reservation, node: Node, *, now: datetime = NOON + MINUTE) -> None:
    release.release(reach=EVERYWHERE, reservation_id=row.pk, actor="user:test", now=now)
    node.beat(now=now)


def states(*rows: Reservation) -> list[str]:
    return [str(fresh(row).state) for row in rows]


def test_urgent_goes_first_then_normal_then_low(node: Node) -> None:
    full = buy(make_buyer(), **WHOLE)
    low, normal, urgent = (wait(priority=one) for one in ("low", "normal", "urgent"))
    places = [queue.position_of(fresh(row), now=NOON) for row in (low, normal, urgent)]
    assert [place.worst for place in places if place] == [3, 2, 1]
    give_back(full, node)
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 1
    assert states(low, normal, urgent) == ["queued", "queued", "confirmed"]


def test_who_used_much_of_late_waits_for_who_used_little(node: Node) -> None:
    greedy, modest = make_buyer(), make_buyer()
    full = buy(greedy, **WHOLE)
    first, second = wait(greedy), wait(modest)
    decay.bring_up(now=NOON + 30 * MINUTE)
    give_back(full, node, now=NOON + 30 * MINUTE)
    queue.place_queued(now=NOON + 31 * MINUTE)
    assert states(first, second) == ["queued", "confirmed"]


def test_an_elder_goes_before_an_urgent_wish(node: Node) -> None:
    full = buy(make_buyer(), **WHOLE, ends_at=None)
    later = NOON + timedelta(seconds=settings.VXPU_QUEUE_ELDER_S)
    old, urgent = wait(priority="low"), wait(priority="urgent", now=later, starts_at=None, ends_at=later + HOUR)
    give_back(full, node, now=later)
    queue.place_queued(now=later + MINUTE)
    assert states(old, urgent) == ["confirmed", "queued"]


def test_a_purchase_that_fits_goes_beside_the_room_that_is_kept(node: Node) -> None:
    buy(make_buyer(), **HALF, ends_at=NOON + 2 * HOUR)
    head = wait()
    queue.place_queued(now=NOON)
    assert (fresh(head).planned_device_id, fresh(head).planned_start_at) == (node.device().id, NOON + 2 * HOUR)
    with pytest.raises(DoesNotFit) as refused:
        buy(make_buyer(), **HALF, ends_at=NOON + 3 * HOUR)
    assert refused.value.data["constraints"] == {"kept_for_queue": 1}
    assert buy(make_buyer(), **HALF, ends_at=NOON + 2 * HOUR).state == S.CONFIRMED


def test_small_purchases_do_not_starve_a_large_wish_without_an_end_in_sight(node: Node) -> None:
    parts = [buy(make_buyer(), **HALF, ends_at=None) for _ in range(2)]
    head = wait(queued_until=NOON + 48 * HOUR)
    later = NOON + timedelta(seconds=settings.VXPU_QUEUE_ELDER_S)
    queue.place_queued(now=later)
    give_back(parts[0], node, now=later + MINUTE)
    with pytest.raises(DoesNotFit):
        buy(make_buyer(), **HALF, now=later + MINUTE, starts_at=None, ends_at=None)
    give_back(parts[1], node, now=later + 2 * MINUTE)
    queue.place_queued(now=later + 3 * MINUTE)
    assert states(head) == ["confirmed"]


def test_another_kind_is_not_held_up(node: Node) -> None:
    buy(make_buyer(), **WHOLE)
    make_price(sku="nvidia")
    Node(now=NOON, devices=[make_device(kind=DeviceKind.NVIDIA)])
    buy(make_buyer(), **WHOLE, device_kind="nvidia")
    head, other = wait(device_kind="nvidia"), wait()
    full = wait()
    Node(now=NOON)
    assert queue.place_queued(now=NOON) == 1
    assert states(head, other, full) == ["queued", "confirmed", "queued"]


def test_a_wish_over_its_quota_keeps_no_room_and_its_turn_goes_on(node: Node) -> None:
    poor = make_buyer()
    full = buy(make_buyer(), **WHOLE)
    stuck, behind = wait(poor), wait()
    quotas.set_quota(tenant_id=poor.tenant_id, project_id=None, nominal_permille=10, nominal_mib=8192,
                     max_reservations=5, by_operator=True, now=NOON)  # fmt: skip
    queue.place_queued(now=NOON + MINUTE)
    assert (fresh(stuck).waits_for, fresh(stuck).planned_device_id) == ("quota_exceeded", None)
    assert fresh(behind).planned_device_id == node.device().id
    give_back(full, node, now=NOON + 2 * MINUTE)
    assert queue.place_queued(now=NOON + 3 * MINUTE) == 1
    assert states(stuck, behind) == ["queued", "confirmed"]


@pytest.fixture
def doomed() -> DoomedNode:
    make_price()
    return DoomedNode(now=NOON)


def fail(row: Reservation, doomed: DoomedNode, *, now: datetime) -> Reservation:
    """It is placed, its slice ends before it was ready, and the shop hears of it."""
    assert queue.place_queued(now=now) == 1
    doomed.beat(now=now)
    reconcile.reconcile(now=now)
    return fresh(row)


def test_an_activation_that_fails_waits_longer_each_time_and_holds_nothing(doomed: DoomedNode) -> None:
    full = buy(make_buyer(), **WHOLE, ends_at=NOON + MINUTE)
    row = wait()
    doomed.mended = True
    give_back(full, doomed, now=NOON + MINUTE)
    doomed.mended = False
    now, delays = NOON + 2 * MINUTE, []
    for _ in range(settings.VXPU_ACTIVATION_TRIES - 1):
        row = fail(row, doomed, now=now)
        assert (row.state, row.lease_id, row.waits_for) == (S.QUEUED, None, "activation_failed")
        assert (row.created_at, Segment.objects.filter(live=True).count()) == (NOON, 0)
        assert queue.place_queued(now=now) == 0
        assert row.next_try_at is not None
        delays.append((row.next_try_at - now).total_seconds())
        now = row.next_try_at
    assert delays == [10, 20, 40, 80]
    assert fail(row, doomed, now=now).state == S.FAILED


def test_a_purchase_that_never_waited_fails_at_once(doomed: DoomedNode) -> None:
    row = buy(make_buyer(), **HALF)
    doomed.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    assert states(row) == ["failed"]


def test_a_doomed_wish_does_not_starve_the_rest_and_ends_well_elsewhere(doomed: DoomedNode) -> None:
    other = Node(now=NOON)
    full = [buy(make_buyer(), **WHOLE) for _ in range(2)]
    row, behind = wait(), wait()
    doomed.mended = True
    give_back(next(one for one in full if one.device_id == doomed.device().id), doomed)
    doomed.mended = False
    assert fail(row, doomed, now=NOON + 2 * MINUTE).state == S.QUEUED
    doomed.mended = True
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 1
    assert states(row, behind) == ["queued", "confirmed"]
    give_back(next(one for one in full if one.device_id == other.device().id), other, now=NOON + 3 * MINUTE)
    queue.place_queued(now=NOON + 3 * MINUTE)
    other.beat(now=NOON + 3 * MINUTE)
    reconcile.reconcile(now=NOON + 3 * MINUTE)
    assert states(row) == ["active"]
    assert Placement.objects.filter(reservation=row, is_current=True).count() == 1


def test_a_booking_that_the_database_refuses_backs_off(node: Node) -> None:
    full = buy(make_buyer(), **WHOLE)
    row, behind = wait(), wait(ends_at=NOON + 2 * HOUR)
    give_back(full, node)
    # A wish that seems to be placed already: the second current placement breaks a rule of the database.
    Placement.objects.create(tenant_id=row.tenant_id, reservation=row, lease_id=row.pk, device_id=row.pk,
                             device_mib=1, booked_from=NOON)  # fmt: skip
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 1
    assert states(row, behind) == ["queued", "confirmed"]
    assert (fresh(row).waits_for, fresh(row).attempts) == ("try_failed", 1)
    assert fresh(row).next_try_at == NOON + 2 * MINUTE + timedelta(seconds=10)


def test_the_start_is_a_range_from_what_open_ends_lasted(node: Node) -> None:
    spare = Node(now=NOON, devices=[make_device()])
    for hours in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10):
        row = buy(make_buyer(), device_id=spare.device().id, ends_at=None, **HALF)
        spare.beat(now=NOON)
        give_back(row, spare, now=NOON + hours * HOUR)
        reconcile.reconcile(now=NOON + hours * HOUR)
    now = NOON + 10 * HOUR
    buy(make_buyer(), now=now, starts_at=None, ends_at=None, device_id=node.device().id, **WHOLE)
    row = wait(now=now, starts_at=None, ends_at=now + HOUR, device_id=node.device().id)
    assert fresh(row).estimated_start_at is None
    assert estimate.estimate_queue(now=now) == 1
    place = queue.position_of(fresh(row), now=now)
    assert place is not None
    assert place.estimated_start_at is not None
    assert place.estimated_start_by is not None
    # 20 draws of 10 lengths, spread evenly from where the lease's own id puts the first: a step to either side.
    assert now + 4 * HOUR <= place.estimated_start_at <= now + 6 * HOUR
    assert now + 8 * HOUR <= place.estimated_start_by <= now + 10 * HOUR
    assert estimate.estimate_queue(now=now) == 0


def test_what_is_not_known_is_null(node: Node) -> None:
    buy(make_buyer(), ends_at=None, **WHOLE)
    row = wait()
    estimate.estimate_queue(now=NOON)
    assert (fresh(row).estimated_start_at, fresh(row).estimated_start_by) == (None, None)


def wait_together(buyer: Buyer, count: int) -> Any:
    order = make_order(buyer, **WHOLE, queue=True)
    who: dict[str, Any] = {"requested_by": buyer.person.user.pk, "actor": "user:test", "now": NOON}
    return gang_orders.reserve_gang(order=order, count=count, together="devices", **who)


def test_of_two_gangs_one_gets_all_and_the_other_holds_nothing(node: Node) -> None:
    other = Node(now=NOON)
    full = [buy(make_buyer(), **WHOLE) for _ in range(2)]
    first, second = (wait_together(make_buyer(), 2) for _ in range(2))
    for row in full:
        give_back(row, node if row.device_id == node.device().id else other)
    other.beat(now=NOON + MINUTE)
    assert queue.place_queued(now=NOON + 2 * MINUTE) == 2
    assert states(*(one.row for one in first.members)) == ["confirmed"] * 2
    waiting = [fresh(one.row) for one in second.members]
    assert [(str(row.state), row.lease_id) for row in waiting] == [("queued", None)] * 2
    assert {row.planned_start_at for row in waiting} == {NOON + 2 * MINUTE + HOUR}
    assert len({row.planned_device_id for row in waiting}) == 2


def test_a_gang_that_lost_a_member_waits_with_a_reason_and_keeps_no_room(node: Node) -> None:
    Node(now=NOON)
    buy(make_buyer(), **WHOLE)
    members = [one.row for one in wait_together(make_buyer(), 2).members]
    release.release(reach=EVERYWHERE, reservation_id=members[0].pk, actor="user:test", now=NOON)
    queue.place_queued(now=NOON + MINUTE)
    left = fresh(members[1])
    assert (left.waits_for, left.planned_device_id) == ("gang_incomplete", None)
