"""A lease from the hold to the agent's last word."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from allocator import facade
from allocator.errors import DoesNotFit, HoldLapsed, IllegalPeriod, LeaseLost
from allocator.events import CapacityFreed, DesiredChanged, LeaseActivated, LeaseEnded, LeaseResized
from allocator.models import LeaseEvent, Segment
from allocator.services.hold import expire_holds
from allocator.services.start_due import start_due
from allocator.services.sweep import sweep
from plumbing import db
from plumbing.models import OutboxEvent
from plumbing.outbox import kind_of
from tests.allocator.factories import (
    HOUR,
    MIB,
    NOON,
    Node,
    at,
    book,
    make_report,
    make_wish,
    release,
    resize,
    started_lease,
)
from vxpu.ids import encode
from vxpu.market import LeaseView
from vxpu.slices import Slice
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("system")
WHOLE: dict[str, Any] = {"memory_mib": MIB, "share_permille": 1000}


@db.transaction
def confirm(lease: LeaseView, *, now: object) -> LeaseView:
    return facade.confirm(lease_id=lease.id, now=now)  # type: ignore[arg-type]


@db.transaction
def set_end(lease: LeaseView, *, ends_at: object, now: object) -> LeaseView:
    return facade.set_end(lease_id=lease.id, ends_at=ends_at, now=now)  # type: ignore[arg-type]


def told() -> list[str]:
    """The events in the outbox, oldest first, which are then forgotten."""
    kinds = list(OutboxEvent.objects.order_by("id").values_list("kind", flat=True))
    OutboxEvent.objects.all().delete()
    return kinds


def states(lease: LeaseView) -> list[str]:
    events = LeaseEvent.objects.filter(lease_id=lease.id).order_by("created_at", "id")
    return [event.to_state for event in events if event.to_state != event.from_state]


def test_a_hold_is_confirmed_and_offered_to_the_node() -> None:
    node = Node()
    lease = book(make_wish(), hold_until=at(60))
    assert lease.state == LeaseState.HELD
    assert node.sync(now=at(1)).leases == []
    assert confirm(lease, now=at(2)).state == LeaseState.ASSIGNED
    assert confirm(lease, now=at(3)).state == LeaseState.ASSIGNED
    order = node.sync(now=at(4)).leases[0]
    assert (order.lease_id, order.wanted, order.token) == (encode("lse", lease.id), "ready", lease.token)
    assert order.device_key == node.devices[0].key


def test_a_lapsed_hold_frees_at_once_without_any_tidying() -> None:
    Node()
    held = book(make_wish(**WHOLE), hold_until=at(60))
    with pytest.raises(DoesNotFit):
        book(make_wish(**WHOLE), now=at(59))
    assert book(make_wish(**WHOLE), now=at(60)).state == LeaseState.ASSIGNED
    gone = facade.get_lease(lease_id=held.id)
    assert (gone.state, gone.end_reason, gone.ended_at) == (LeaseState.GONE, "hold_lapsed", at(60))
    with pytest.raises(HoldLapsed):
        confirm(held, now=at(61))
    assert sweep() == []


def test_a_hold_cannot_be_confirmed_from_its_end_on() -> None:
    Node()
    held = book(make_wish(), hold_until=at(60))
    with pytest.raises(HoldLapsed):
        confirm(held, now=at(60))


def test_the_beat_tidies_lapsed_holds_and_tells() -> None:
    Node()
    held = book(make_wish(), hold_until=at(60))
    told()
    assert expire_holds(now=at(59)) == 0
    assert expire_holds(now=at(60)) == 1
    assert told() == [kind_of(LeaseEnded), kind_of(CapacityFreed)]
    assert facade.get_lease(lease_id=held.id).state == LeaseState.GONE


def test_ready_starts_the_meter_once() -> None:
    node = Node()
    lease = book(make_wish())
    node.sync(now=at(1))
    told()
    node.say(lease, LeaseState.PREPARING, now=at(2))
    node.say(lease, LeaseState.READY, now=at(3))
    node.say(lease, LeaseState.READY, now=at(8))
    assert facade.get_lease(lease_id=lease.id).ready_at == at(3)
    assert told() == [kind_of(LeaseActivated)]
    assert states(lease) == ["assigned", "preparing", "ready"]


def test_a_release_drains_until_the_agent_says_gone() -> None:
    node = Node()
    lease = started_lease(node, **WHOLE)
    draining = release(lease.id, now=at(10))
    assert (draining.state, draining.period.ends_at, draining.end_reason) == (LeaseState.DRAINING, at(10), "released")
    with pytest.raises(DoesNotFit):
        book(make_wish(**WHOLE), now=at(11))
    assert node.sync(now=at(11), leases=[make_report(lease, LeaseState.READY)]).leases[0].wanted == "gone"
    told()
    gone = node.end(lease, now=at(13))
    assert (gone.state, gone.ended_at, gone.end_reason) == (LeaseState.GONE, at(13), "released")
    assert told() == [kind_of(LeaseEnded), kind_of(CapacityFreed)]
    assert book(make_wish(starts_at=at(13), **WHOLE), now=at(13)).state == LeaseState.ASSIGNED


def test_a_release_is_idempotent_at_every_stage() -> None:
    node = Node()
    lease = started_lease(node)
    assert release(lease.id, now=at(10)) == release(lease.id, now=at(20))
    gone = node.end(lease, now=at(21))
    assert release(lease.id, now=at(30)) == gone


def test_a_lease_that_no_node_was_told_of_is_gone_at_once() -> None:
    Node()
    lease = book(make_wish(starts_at=NOON + HOUR, ends_at=NOON + 2 * HOUR, **WHOLE))
    assert release(lease.id, now=at(1)).state == LeaseState.GONE
    assert book(make_wish(starts_at=NOON, **WHOLE)).state == LeaseState.ASSIGNED
    assert Segment.objects.filter(live=True).count() == 1


def test_a_draining_lease_that_the_agent_no_longer_names_is_gone_after_two_heartbeats() -> None:
    node = Node()
    lease = started_lease(node)
    release(lease.id, now=at(10))
    node.sync(now=at(12))
    assert facade.get_lease(lease_id=lease.id).state == LeaseState.DRAINING
    node.sync(now=at(20))
    assert facade.get_lease(lease_id=lease.id).state == LeaseState.GONE


def test_a_future_lease_is_ordered_from_its_start_on() -> None:
    node = Node()
    lease = book(make_wish(starts_at=at(30), ends_at=at(90)))
    before = node.orders(now=at(10))
    assert (before.desired.leases, before.changes_at) == ([], at(30))
    assert start_due(now=at(29)) == []
    assert start_due(now=at(30)) == [node.id]
    orders = node.orders(now=at(30))
    assert [order.lease_id for order in orders.desired.leases] == [encode("lse", lease.id)]
    assert orders.changes_at == at(90)


def test_a_lease_drains_at_its_end_by_the_clock() -> None:
    node = Node()
    lease = started_lease(node, ends_at=at(60))
    assert start_due(now=at(59)) == []
    assert start_due(now=at(60)) == [node.id]
    assert facade.get_lease(lease_id=lease.id).state == LeaseState.DRAINING
    assert node.end(lease, now=at(62)).end_reason == "expired"


def test_a_resize_takes_effect_at_the_next_whole_second() -> None:
    node = Node()
    lease = started_lease(node)
    told()
    resized = resize(lease.id, now=at(10.4), memory_mib=MIB // 2, share_permille=500)
    assert resized.slice == Slice(memory_mib=MIB // 2, share_permille=500)
    assert told() == [kind_of(LeaseResized), kind_of(DesiredChanged)]
    before, after = node.orders(now=at(10.5)), node.orders(now=at(11))
    assert before.desired.leases[0].slice == lease.slice
    assert before.changes_at == at(11)
    assert after.desired.leases[0].slice == resized.slice
    assert after.desired.leases[0].version > before.desired.leases[0].version


def test_two_resizes_in_one_second_are_one() -> None:
    node = Node()
    lease = started_lease(node)
    resize(lease.id, now=at(10.1), memory_mib=MIB // 2, share_permille=500)
    resize(lease.id, now=at(10.2), memory_mib=MIB // 8, share_permille=125)
    pieces = Segment.objects.filter(lease_id=lease.id, live=True).order_by("period")
    assert [(piece.permille, piece.period.lower, piece.period.upper) for piece in pieces] == [
        (250, NOON, at(11)), (125, at(11), None)
    ]  # fmt: skip


def test_a_resize_that_does_not_fit_changes_nothing_and_says_what_would() -> None:
    node = Node()
    lease = started_lease(node)
    book(make_wish(memory_mib=MIB // 2, share_permille=500))
    with pytest.raises(DoesNotFit) as refused:
        resize(lease.id, now=at(10), memory_mib=MIB // 2, share_permille=600)
    assert refused.value.data["constraints"] == {"compute": 1}
    assert refused.value.data["nearest"][0] == Slice(memory_mib=MIB // 2, share_permille=500)  # type: ignore[index]
    assert facade.get_lease(lease_id=lease.id) == lease
    assert sweep() == []


def test_extend_and_shorten() -> None:
    Node()
    lease = book(make_wish(ends_at=NOON + HOUR, **WHOLE))
    other = book(make_wish(starts_at=NOON + 2 * HOUR, ends_at=NOON + 3 * HOUR, **WHOLE))
    assert set_end(lease, ends_at=NOON + 2 * HOUR, now=at(1)).period.ends_at == NOON + 2 * HOUR
    with pytest.raises(DoesNotFit) as refused:
        set_end(lease, ends_at=NOON + 2 * HOUR + timedelta(seconds=1), now=at(1))
    assert refused.value.data["constraints"] == {"memory_and_compute": 1}
    set_end(lease, ends_at=NOON + HOUR, now=at(2))
    with pytest.raises(IllegalPeriod):
        set_end(lease, ends_at=at(2), now=at(2))
    release(other.id, now=at(3))
    assert set_end(lease, ends_at=None, now=at(4)).period.ends_at is None


def test_a_shorter_end_drops_a_resize_that_was_to_come() -> None:
    Node()
    lease = book(make_wish(starts_at=at(10), ends_at=at(100)))
    resize(lease.id, now=at(20.5), memory_mib=MIB // 2, share_permille=500)
    assert set_end(lease, ends_at=at(21), now=at(20.6)).slice == lease.slice
    assert sweep() == []


def test_an_ending_lease_cannot_be_changed() -> None:
    node = Node()
    lease = started_lease(node)
    release(lease.id, now=at(5))
    with pytest.raises(LeaseLost):
        resize(lease.id, now=at(6), memory_mib=1, share_permille=1)


def test_a_report_under_another_token_is_void() -> None:
    node = Node()
    lease = book(make_wish())
    node.sync(now=at(1))
    node.say(lease, LeaseState.READY, now=at(2), token=lease.token - 1)
    assert facade.get_lease(lease_id=lease.id).state == LeaseState.ASSIGNED


def test_what_the_agents_audit_found_is_on_record() -> None:
    node = Node()
    lease = started_lease(node)
    node.say(lease, LeaseState.READY, now=at(5), events=["region usage differs"])
    assert LeaseEvent.objects.filter(lease_id=lease.id, reason="region usage differs", actor="agent").count() == 1
