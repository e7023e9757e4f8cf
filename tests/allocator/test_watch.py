"""Silence: whose fault it is, what it costs, and who may take the place."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from allocator import facade
from allocator.errors import DoesNotFit, LeaseLost
from allocator.events import LeaseLost as LeaseWasLost
from allocator.events import LeaseRecovered, LeasesUnreachable
from allocator.models import Lease
from allocator.models import Node as NodeRow
from allocator.services import enrol, watch
from allocator.services.sweep import sweep
from plumbing import db
from plumbing.models import OutboxEvent
from plumbing.outbox import kind_of
from tests.allocator.factories import NOON, Node, at, book, make_wish, release, started_lease
from vxpu.market import LeaseView
from vxpu.states import LeaseState

pytestmark = pytest.mark.usefixtures("system")


def state(lease: LeaseView) -> LeaseState:
    return facade.get_lease(lease_id=lease.id).state


def watch_until(seconds: int, *, since: int = 0, door: bool = True) -> list[object]:
    """The watch and the sockets' process, every two seconds in (since, seconds]."""
    found: list[object] = []
    for second in range(since + 2, seconds + 1, 2):
        if door:
            watch.beat(part=watch.DOOR, now=at(second))
        found += watch.mark_unreachable(now=at(second))
    return found


@db.transaction
def fence(lease: LeaseView, *, now: object) -> LeaseView:
    return facade.fence(lease_id=lease.id, reason="gave up", now=now)  # type: ignore[arg-type]


def kinds() -> set[str]:
    return set(OutboxEvent.objects.values_list("kind", flat=True))


def test_a_silent_node_goes_offline_after_the_failure_timeout_and_its_leases_stay() -> None:
    node = Node()
    lease, future = started_lease(node), book(make_wish(starts_at=at(600)))
    assert watch_until(31) == []
    assert watch_until(32, since=30) == [node.id]
    assert state(lease) == LeaseState.UNREACHABLE
    assert state(future) == LeaseState.ASSIGNED
    assert kind_of(LeasesUnreachable) in kinds()
    with pytest.raises(DoesNotFit) as refused:
        book(make_wish(), now=at(33))
    assert refused.value.data["constraints"] == {"offline": 1}
    assert sweep() == []


def test_a_node_that_is_heard_is_left_alone() -> None:
    node = Node()
    started_lease(node)
    watch_until(20)
    node.sync(now=at(20))
    assert watch_until(50, since=20) == [node.id]
    assert NodeRow.objects.get(pk=node.id).last_seen_at == at(20)


def test_a_watch_that_was_down_restarts_every_nodes_time() -> None:
    node = Node()
    started_lease(node)
    watch_until(10)
    assert watch_until(1030, since=1000) == []
    assert watch_until(1034, since=1030) == [node.id]


def test_sockets_that_were_down_are_not_held_against_a_node() -> None:
    node = Node()
    lease = started_lease(node)
    watch_until(10)
    assert watch_until(300, since=10, door=False) == []
    assert watch_until(320, since=300) == []
    node.sync(now=at(321))
    assert watch_until(350, since=320) == []
    assert state(lease) == LeaseState.READY


def test_a_node_that_is_back_recovers_its_leases() -> None:
    node = Node()
    lease = started_lease(node)
    watch_until(32)
    node.say(lease, LeaseState.READY, now=at(40))
    assert state(lease) == LeaseState.READY
    assert kind_of(LeaseRecovered) in kinds()
    assert facade.get_lease(lease_id=lease.id).ready_at == NOON


def test_an_unreachable_lease_that_is_released_stays_until_the_node_drains_it() -> None:
    node = Node()
    lease = started_lease(node)
    watch_until(32)
    released = release(lease.id, now=at(35))
    assert (released.state, released.period.ends_at) == (LeaseState.UNREACHABLE, at(35))
    assert release(lease.id, now=at(36)) == released
    order = node.say(lease, LeaseState.READY, now=at(40)).leases[0]
    assert (order.wanted, state(lease)) == ("gone", LeaseState.DRAINING)
    assert node.end(lease, now=at(42)).end_reason == "released"


def test_only_a_silent_lease_is_fenced_and_its_token_is_superseded() -> None:
    node = Node()
    lease = started_lease(node)
    with pytest.raises(LeaseLost):
        fence(lease, now=at(1))
    watch_until(32)
    lost = fence(lease, now=at(40))
    assert (lost.state, lost.ended_at) == (LeaseState.LOST, at(40))
    assert lost.token > lease.token
    assert kind_of(LeaseWasLost) in kinds()
    assert node.say(lease, LeaseState.READY, now=at(50)).leases == []
    assert fence(lease, now=at(51)) == lost
    assert sweep() == []


def test_a_draining_lease_of_a_silent_node_can_be_fenced_too() -> None:
    node = Node()
    lease = started_lease(node)
    release(lease.id, now=at(1))
    watch_until(32)
    assert fence(lease, now=at(40)).state == LeaseState.LOST


def test_revoking_a_node_fences_what_it_may_run_and_frees_the_rest() -> None:
    node = Node()
    running, future = started_lease(node), book(make_wish(starts_at=at(600)))
    enrol.revoke(node_id=node.id, reason="sold", now=at(10))
    assert (state(running), state(future)) == (LeaseState.LOST, LeaseState.GONE)
    enrol.revoke(node_id=node.id, reason="sold", now=at(11))
    assert facade.list_devices() == []


@pytest.mark.parametrize(("held", "more"), [(False, 3), (True, 2)])
def test_the_database_lets_a_lease_be_lost_only_by_way_of_unreachable(held: bool, more: int) -> None:
    Node()
    lease = book(make_wish(), hold_until=at(60) if held else None)
    rows = Lease.objects.filter(pk=lease.id)
    with pytest.raises(IntegrityError, match="not a legal move"), transaction.atomic():
        rows.update(state="lost", version=lease.version + more)
    with pytest.raises(IntegrityError, match="not a legal move"), transaction.atomic():
        rows.update(state="lost", version=lease.version + 1)
    if not held:
        rows.update(state="lost", version=lease.version + 2, ended_at=at(9), end_reason="node_lost")
