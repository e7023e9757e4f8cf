"""Quota that was lent comes back: who is below its own nominal and refused for the cohort alone evicts borrowers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings

from marketplace.errors import QuotaExceeded
from marketplace.models import EVERYWHERE, Cohort, Eviction, Reservation, ReservationState
from marketplace.services import cohorts, gang_orders, queue, quotas, reconcile, release
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, make_buyer, make_order, make_price
from tests.marketplace.node import Node, make_device
from vxpu.ids import new_uuid

pytestmark = pytest.mark.usefixtures("system")
S = ReservationState
HALF: dict[str, Any] = {"memory_mib": 4096, "share_permille": 500}
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}
ASKED = NOON + 15 * MINUTE
TOLD = NOON + 20 * MINUTE
GONE = TOLD + timedelta(seconds=settings.VXPU_PREEMPT_NOTICE_S)
DAY = 24 * HOUR


@pytest.fixture
def node() -> Node:
    """Four devices: there is always room."""
    make_price()
    return Node(now=NOON, devices=[make_device() for _ in range(4)])


def make_cohort(name: str = "House", **over: Any) -> Cohort:
    return cohorts.create_cohort(name=name, now=NOON, actor="user:test", **over)


def member(cohort: Cohort, nominal: int, **over: Any) -> Buyer:
    """May borrow all that is idle."""
    buyer = make_buyer()
    quotas.set_quota(
        tenant_id=buyer.tenant_id, project_id=None, nominal_permille=nominal, nominal_mib=8 * 8192, max_reservations=20,
        by_operator=True, now=NOON, cohort_id=cohort.pk, **{"borrow_permille": None, "borrow_mib": None, **over},
    )  # fmt: skip
    return buyer


def run(node: Node, buyer: Buyer, **over: Any) -> Reservation:
    """Runs since noon for a day, as preemptible."""
    row = buy(buyer, **{**HALF, "preemptible": True, "ends_at": NOON + DAY, **over})
    settle(node, NOON)
    return row


def settle(node: Node, now: Any) -> None:
    node.beat(now=now)
    reconcile.reconcile(now=now)


def wait(buyer: Buyer, **over: Any) -> Reservation:
    return buy(buyer, now=ASKED, **{**HALF, "queue": True, "starts_at": None, "ends_at": ASKED + HOUR, **over})


def states(*rows: Reservation) -> list[str]:
    return [str(fresh(row).state) for row in rows]


def test_who_lent_takes_it_back_though_there_is_room(node: Node) -> None:
    house = make_cohort()
    lender, borrower = member(house, 1000), member(house, 500)
    kept, taken = run(node, borrower), run(node, borrower)
    run(node, lender)
    wish = wait(lender)
    assert (fresh(wish).state, fresh(wish).waits_for) == (S.QUEUED, "quota_exceeded")
    assert queue.place_queued(now=TOLD) == 1
    assert states(kept, taken, wish) == [S.ACTIVE, S.PREEMPTING, S.CONFIRMED]
    assert (fresh(wish).starts_at, fresh(wish).ends_at, fresh(taken).evict_at) == (GONE, GONE + HOUR, GONE)
    for _ in range(2):
        settle(node, GONE)
    assert queue.place_queued(now=GONE) == 0
    assert states(kept, taken, wish) == [S.ACTIVE, S.QUEUED, S.ACTIVE]
    assert {(one.kind, one.reason) for one in Eviction.objects.all()} == {
        ("noticed", "reclaimed"), ("evicted", "reclaimed"),
    }  # fmt: skip
    settle(node, GONE + HOUR)
    settle(node, GONE + HOUR)
    assert queue.place_queued(now=GONE + HOUR) == 1
    assert states(taken) == [S.CONFIRMED]


def test_who_does_not_wait_is_refused_as_ever(node: Node) -> None:
    house = make_cohort()
    lender, borrower = member(house, 500), member(house, 0)
    run(node, borrower)
    with pytest.raises(QuotaExceeded) as refused:
        buy(lender, **HALF)
    assert refused.value.data["scope"] == "cohort"


def test_what_was_not_bought_so_is_waited_for(node: Node) -> None:
    house = make_cohort()
    lender, borrower = member(house, 500), member(house, 0)
    firm = run(node, borrower, preemptible=False)
    wish = wait(lender)
    assert queue.place_queued(now=TOLD) == 0
    release.release(reach=EVERYWHERE, reservation_id=firm.pk, actor="user:test", now=TOLD)
    settle(node, TOLD)
    assert queue.place_queued(now=TOLD + MINUTE) == 1
    assert states(wish) == [S.CONFIRMED]


def test_the_rules_of_notice_hold_and_a_borrower_takes_from_nobody(node: Node) -> None:
    house = make_cohort()
    lender, borrower, other = member(house, 1000), member(house, 0), member(house, 500)
    run(node, other)
    young = run(node, borrower)
    last = run(node, borrower)
    wish, more = wait(lender), wait(other)
    assert queue.place_queued(now=NOON + timedelta(seconds=settings.VXPU_PREEMPT_MIN_RUN_S - 1)) == 0
    assert queue.place_queued(now=ASKED + timedelta(seconds=settings.VXPU_PREEMPT_DELAY_S - 1)) == 0
    assert queue.place_queued(now=TOLD) == 1
    assert states(young, last, wish, more) == [S.ACTIVE, S.PREEMPTING, S.CONFIRMED, S.QUEUED]
    assert queue.place_queued(now=TOLD + MINUTE) == 0


def test_only_who_makes_room_in_the_quota_is_told(node: Node) -> None:
    """The newest borrower has the spare quota of a branch that keeps it from the lender."""
    root = make_cohort()
    team, apart = make_cohort("Team", parent_id=root.pk), make_cohort("Apart", parent_id=root.pk, lend_permille=0)
    lender, near = member(team, 500), member(team, 0)
    member(apart, 500)
    taken = run(node, near)
    far = run(node, member(apart, 0))
    wish = wait(lender)
    assert queue.place_queued(now=TOLD) == 1
    assert states(taken, far, wish) == [S.PREEMPTING, S.ACTIVE, S.CONFIRMED]


def test_neither_quota_nor_room_and_the_same_slice_has_both() -> None:
    make_price()
    node, house = Node(now=NOON), make_cohort()
    lender, borrower = member(house, 1000), member(house, 0)
    taken = run(node, borrower, **WHOLE)
    wish = wait(lender, **WHOLE)
    assert queue.place_queued(now=TOLD) == 1
    assert states(taken, wish) == [S.PREEMPTING, S.CONFIRMED]


def test_room_from_one_and_quota_from_another() -> None:
    make_price()
    small, large, house = Node(now=NOON), Node(now=NOON), make_cohort()
    lender, borrower, outsider = member(house, 1000), member(house, 0), make_buyer()
    other = run(large, borrower, **WHOLE, device_id=large.device().id)
    here = run(small, outsider, **WHOLE, device_id=small.device().id, priority="low")
    wish = wait(lender, **WHOLE, device_id=small.device().id)
    assert queue.place_queued(now=TOLD) == 1
    assert states(other, here, wish) == [S.PREEMPTING, S.PREEMPTING, S.CONFIRMED]
    reasons = {one.reservation_id: one.reason for one in Eviction.objects.all()}
    assert reasons == {other.pk: "reclaimed", here.pk: "preempted"}


def test_a_gang_takes_back_for_all_of_it_or_for_none(node: Node) -> None:
    house = make_cohort()
    lender, borrower = member(house, 1000), member(house, 0)
    lent = [run(node, borrower) for _ in range(2)]
    order = make_order(lender, **HALF, starts_at=None, ends_at=ASKED + HOUR, queue=True)
    wanted: dict[str, Any] = {"requested_by": new_uuid(), "actor": "user:test", "now": ASKED}
    gang = gang_orders.reserve_gang(order=order, count=2, together="any", **wanted).gang
    assert queue.place_queued(now=TOLD) == 2
    assert states(*lent) == [S.PREEMPTING] * 2
    rows = Reservation.objects.filter(gang_id=gang.pk)
    assert [(row.state, row.starts_at) for row in rows] == [(S.CONFIRMED, GONE)] * 2


def test_the_lender_goes_and_the_borrower_stays_unless_the_quota_went_too(node: Node) -> None:
    house = make_cohort()
    lender, borrower = member(house, 500), member(house, 0)
    taken = run(node, borrower)
    for goes_too, now in ((False, TOLD), (True, TOLD + 10 * MINUTE)):
        wish = wait(lender)
        assert queue.place_queued(now=now) == 1
        release.release(reach=EVERYWHERE, reservation_id=wish.pk, actor="user:test", now=now)
        if goes_too:
            buy(lender, **HALF, now=now, starts_at=now + 5 * MINUTE, ends_at=now + HOUR)
        reconcile.reconcile_victims(for_id=wish.pk, now=now + MINUTE)
        assert states(taken) == [S.PREEMPTING if goes_too else S.ACTIVE]
