"""A move as the tenant sees it: the same reservation and price, no gap in the bill and no second counted twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.conf import settings

from allocator import facade as allocator
from allocator.models import Lease, MovePlan, Relocation
from allocator.models import Node as NodeRow
from allocator.services import move_plans, relocate, run_moves
from billing import facade as billing
from marketplace.models import EVERYWHERE, Reservation, ReservationEvent
from marketplace.services import fail_over, queue, reconcile, release, resize
from marketplace.services import make_room as room
from marketplace.services import relocate as moving
from marketplace.services.reconcile_device import reconcile_device
from plumbing import db
from tests.marketplace.factories import HOUR, MINUTE, NOON, Buyer, buy, fresh, lease_of, make_buyer, make_price
from tests.marketplace.node import Node, make_device

pytestmark = pytest.mark.usefixtures("system")
BEGUN = NOON + 20 * MINUTE


def sec(seconds: float) -> datetime:
    """After the move was begun."""
    return BEGUN + timedelta(seconds=seconds)


class Fleet:
    """Two nodes of one device; a reservation on the first."""

    def __init__(self) -> None:
        make_price("3.20")
        self.old, self.new = Node(now=NOON), Node(now=NOON, devices=[make_device()])
        self.ada: Buyer = make_buyer()
        self.row = buy(self.ada, device_id=None)
        here = allocator.get_lease(lease_id=lease_of(self.row)).node_id
        if here != self.old.id:
            self.old, self.new = self.new, self.old
        self.old.beat(now=NOON)
        reconcile.reconcile(now=NOON)
        self.first_lease = lease_of(self.row)

    def plan(self) -> UUID:
        return move_plans.move_one(
            lease_id=self.first_lease, device_id=self.new.device().id, reason="test", actor="olga", now=BEGUN
        )

    def tick(self, seconds: float) -> None:
        """Everything that runs by the clock, and both nodes."""
        for node in (self.old, self.new):
            node.beat(now=sec(seconds))
        run_moves.run(now=sec(seconds))
        for node in (self.old, self.new):
            node.beat(now=sec(seconds))
        moving.switch_ready(now=sec(seconds))
        reconcile.reconcile(now=sec(seconds))

    def move_over(self) -> Relocation:
        self.plan()
        for seconds in range(1, 8):
            self.tick(seconds)
        return Relocation.objects.get()

    def charged(self, *, until: datetime = NOON + HOUR) -> dict[UUID, int]:
        """Delivered permille-seconds by lease."""
        found: dict[UUID, int] = {}
        for lease in allocator.list_leases(owners=[self.row.pk]):
            lines = billing.charged_lines(sources=[lease.id], starts_at=NOON, ends_at=until)
            found[lease.id] = sum(line.quantity for line in lines if line.kind != "reserved")
        return found


@pytest.fixture
def fleet() -> Fleet:
    return Fleet()


def test_a_move_changes_the_place_and_nothing_else(fleet: Fleet) -> None:
    before = fresh(fleet.row)
    done = fleet.move_over()
    after = fresh(fleet.row)
    assert (done.state, after.state, after.lease_id) == ("done", "active", done.successor_id)
    assert after.device_id == fleet.new.device().id
    for name in ("id", "unit_price", "price_id", "agreed_prices", "starts_at", "ends_at", "memory_mib"):
        assert getattr(after, name) == getattr(before, name)
    way = list(
        ReservationEvent.objects.filter(reservation=after).order_by("version").values_list("to_state", flat=True)
    )
    assert way[-3:] == ["active", "moving", "active"]
    assert allocator.get_lease(lease_id=fleet.first_lease).end_reason == "moved"


def test_the_bill_has_no_gap_and_no_second_twice_and_both_devices_add_up(fleet: Fleet) -> None:
    done = fleet.move_over()
    assert done.switched_at is not None
    for node in (fleet.old, fleet.new):
        node.beat(now=NOON + HOUR)
    reconcile.reconcile(now=NOON + 2 * HOUR)
    for node in (fleet.old, fleet.new):
        found = reconcile_device(
            device_id=node.device().id, starts_at=NOON, ends_at=NOON + HOUR, currency="EUR", now=NOON + 2 * HOUR
        )
        assert (found.quantities.cut, str(found.cost)) == (0, "3.20")
        assert found.charged + found.idle - found.over_recovery == found.cost
    first = int((done.switched_at - NOON).total_seconds())
    assert fleet.charged() == {fleet.first_lease: 250 * first, done.successor_id: 250 * (3600 - first)}
    lines = billing.charged_lines(sources=list(fleet.charged()), starts_at=NOON, ends_at=NOON + HOUR)
    assert [line.quantity for line in lines if line.kind == "reserved"] == []


def test_a_move_that_was_cancelled_or_failed_costs_the_tenant_nothing(fleet: Fleet) -> None:
    fleet.old.hook = "failed"
    failed = fleet.move_over()
    assert (failed.state, fresh(fleet.row).lease_id) == ("failed", fleet.first_lease)
    assert "hook failed" in failed.end_reason
    for node in (fleet.old, fleet.new):
        node.beat(now=NOON + HOUR)
    reconcile.reconcile(now=NOON + 2 * HOUR)
    assert fleet.charged() == {fleet.first_lease: 250 * 3600, failed.successor_id: 0}


def test_released_in_the_middle_it_ends_where_it_is(fleet: Fleet) -> None:
    fleet.old.hook = ""
    fleet.plan()
    for seconds in (1, 2):
        fleet.tick(seconds)
    assert Relocation.objects.get().state == "hooking"
    with pytest.raises(allocator.LeaseMoving):
        resize.resize(reach=EVERYWHERE, reservation_id=fleet.row.pk, memory_mib=2048, share_permille=300,
                      actor="user:test", now=sec(3))  # fmt: skip
    assert fresh(fleet.row).state == "active"
    release.release(reach=EVERYWHERE, reservation_id=fleet.row.pk, actor="user:test", now=sec(3))
    fleet.tick(4)
    fleet.tick(5)
    assert (Relocation.objects.get().state, fresh(fleet.row).state) == ("cancelled", "completed")
    assert {lease.state.value for lease in allocator.list_leases(owners=[fleet.row.pk])} == {"gone"}


def test_the_quota_counts_a_reservation_once_while_it_has_two_slices(fleet: Fleet) -> None:
    fleet.old.hook = ""
    fleet.plan()
    fleet.tick(1)
    live = [lease for lease in allocator.list_leases(owners=[fleet.row.pk]) if lease.is_live]
    assert len(live) == 2
    assert Reservation.objects.filter(tenant_id=fleet.ada.tenant_id).count() == 1


class Killed(Exception):
    """Stands for kill -9: what was not committed is gone."""


def killed(work: Callable[[], object]) -> None:
    """`work` runs to its end, and dies before its commit."""

    def die() -> None:
        with db.door():
            work()
            raise Killed

    with pytest.raises(Killed):
        die()


def test_killed_between_any_two_steps_it_goes_on_where_it_was(fleet: Fleet) -> None:
    fleet.plan()
    seen = []
    for seconds in range(1, 12):
        for node in (fleet.old, fleet.new):
            node.beat(now=sec(seconds))
        move = Relocation.objects.get()
        killed(lambda: relocate.advance(relocation_id=move.pk, now=sec(seconds)))  # noqa: B023 - run at once
        killed(lambda: moving.switch_ready(now=sec(seconds)))  # noqa: B023 - run at once
        assert Relocation.objects.get().state == move.state
        if not relocate.advance(relocation_id=move.pk, now=sec(seconds)):
            moving.switch_ready(now=sec(seconds))
        seen.append(Relocation.objects.get().state)
        live = {str(lease.state) for lease in allocator.list_leases(owners=[fleet.row.pk])}
        assert "ready" in live
    assert list(dict.fromkeys(seen)) == ["preparing", "ready", "hooking", "switched", "done"]
    assert len(allocator.list_leases(owners=[fleet.row.pk])) == 2


@db.transaction
def lose(lease_id: UUID, *, seconds: float) -> None:
    Lease.objects.filter(pk=lease_id).update(state="unreachable")
    allocator.fence(lease_id=lease_id, reason="node lost", now=sec(seconds))


def test_a_node_that_dies_in_the_middle_of_a_move_is_followed_by_the_slice_that_is_ready(fleet: Fleet) -> None:
    fleet.plan()
    fleet.tick(1)
    for seconds in (2, 3):
        fleet.new.beat(now=sec(seconds))
    move = Relocation.objects.get()
    lose(fleet.first_lease, seconds=4)
    assert fail_over.fail_over(now=sec(5)).found == 0
    row = fresh(fleet.row)
    assert (row.lease_id, row.state) == (move.successor_id, "active")
    assert Relocation.objects.get().state == "switched"
    assert len(allocator.list_leases(owners=[row.pk])) == 2


@pytest.mark.parametrize("steps", [0, 1], ids=["planned", "booked and not ready"])
def test_a_node_that_dies_before_the_new_slice_is_ready_leaves_one_place(fleet: Fleet, steps: int) -> None:
    fleet.plan()
    for _ in range(steps):
        relocate.advance(relocation_id=Relocation.objects.get().pk, now=sec(1))
    lose(fleet.first_lease, seconds=2)
    NodeRow.objects.filter(pk=fleet.old.id).update(is_online=False)
    for seconds in range(3, 9):
        fail_over.fail_over(now=sec(seconds))
        run_moves.run(now=sec(seconds))
        fleet.new.beat(now=sec(seconds))
        moving.switch_ready(now=sec(seconds))
        reconcile.reconcile(now=sec(seconds))
    row, leases = fresh(fleet.row), allocator.list_leases(owners=[fleet.row.pk])
    assert [(lease.id, lease.node_id) for lease in leases if lease.is_live] == [(row.lease_id, fleet.new.id)]
    assert (row.state, len(fleet.new.running)) == ("active", 1)
    assert Relocation.objects.get().state == "failed"
    assert row.placements.filter(is_current=True).count() == 1


@pytest.fixture
def crowded(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """500 are free on one device and 400 on the other: 700 fit after one move of 250."""
    monkeypatch.setattr(settings, "VXPU_ROOM_MOVES", 8)
    buy(fleet.ada, share_permille=600, memory_mib=1000, device_id=fleet.new.device().id)
    buy(fleet.ada, share_permille=250, memory_mib=2048, device_id=fleet.old.device().id)
    for node in (fleet.old, fleet.new):
        node.beat(now=NOON)
    reconcile.reconcile(now=NOON)
    return fleet


def wish_of(fleet: Fleet, **over: object) -> Reservation:
    asked = {"share_permille": 700, "memory_mib": 5600, "starts_at": BEGUN, "ends_at": BEGUN + HOUR, "queue": True}
    return buy(fleet.ada, now=BEGUN, **{**asked, **over})


def test_a_wish_that_waits_has_room_made_and_nobody_passes_it(crowded: Fleet) -> None:
    wish = wish_of(crowded)
    assert wish.state == "queued"
    room.make_room(now=BEGUN)
    queue.place_queued(now=sec(1))
    assert fresh(wish).waits_for == "making_room"
    late = wish_of(crowded, share_permille=450, memory_mib=1000)
    for seconds in range(2, 12):
        queue.place_queued(now=sec(seconds))
        crowded.tick(seconds)
        room.make_room(now=sec(seconds))
    assert (fresh(wish).state, fresh(late).state) == ("active", "queued")
    assert fresh(wish).device_id == crowded.old.device().id
    assert (fresh(crowded.row).state, fresh(crowded.row).device_id) == ("active", crowded.new.device().id)
    assert MovePlan.objects.get().state == "done"


def test_a_wish_for_a_pool_that_is_no_more_keeps_nobody_else_from_room(crowded: Fleet) -> None:
    doomed, wish = wish_of(crowded), wish_of(crowded)
    Reservation.objects.filter(pk=doomed.pk).update(pool="gone")
    room.make_room(now=BEGUN)
    assert (fresh(doomed).waits_for == "making_room", fresh(wish).waits_for) == (False, "making_room")


def test_a_wish_that_is_taken_back_gives_the_room_back(crowded: Fleet) -> None:
    wish = wish_of(crowded)
    room.make_room(now=BEGUN)
    release.release(reach=EVERYWHERE, reservation_id=wish.pk, actor="user:test", now=sec(1))
    room.make_room(now=sec(2))
    assert (MovePlan.objects.get().state, fresh(crowded.row).lease_id) == ("cancelled", crowded.first_lease)
    assert wish_of(crowded, share_permille=450, memory_mib=1000).state == "confirmed"


def test_where_no_moves_are_allowed_the_wish_waits_and_nothing_moves(crowded: Fleet) -> None:
    settings.VXPU_ROOM_MOVES = 0
    wish = wish_of(crowded)
    room.make_room(now=BEGUN)
    assert (fresh(wish).state, MovePlan.objects.count()) == ("queued", 0)
