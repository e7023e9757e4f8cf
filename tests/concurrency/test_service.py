"""Cordon and drain against bookings, against each other, and a process that dies in between."""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import Any

import pytest
from django.db import connections

from allocator import facade
from allocator.errors import DoesNotFit
from allocator.models import Lease, Maintenance, NodeEvent
from allocator.selectors import impact, nodes
from allocator.services import cordon, drain_node
from allocator.services.sweep import sweep
from plumbing import db
from plumbing.rowsec import system_scope
from tests.allocator.factories import NOON, TENANT, Node, at, book, make_wish
from tests.concurrency.clients import LEVELS, at_level
from tests.racing import OtherConnection, race
from vxpu.ids import new_uuid
from vxpu.market import Candidate, LeaseView

pytestmark = pytest.mark.usefixtures("committed_system")


def drain(node: Node, *, actor: str = "olga", seconds: float = 0) -> None:
    drain_node.drain(node_id=node.id, reason=f"by {actor}", at=None, actor=actor, now=at(seconds))


def close(node: Node, *, actor: str = "olga") -> None:
    cordon.cordon(node_id=node.id, reason="", actor=actor, now=NOON)


@db.transaction
def book_on(node: Node) -> LeaseView:
    """Without a search: the database alone decides."""
    candidate = Candidate(device_id=node.device_id(), node_id=node.id, score=0)
    return facade.book(
        tenant_id=TENANT, owner=new_uuid(), wish=make_wish(memory_mib=10, share_permille=10),
        candidates=[candidate], hold_until=None, now=NOON,
    )  # fmt: skip


@pytest.mark.parametrize("isolation", LEVELS)
def test_a_drain_races_bookings_and_every_lease_is_in_its_list(isolation: str) -> None:
    for _ in range(4):
        node = Node()

        def drained(node: Node = node) -> set[Any]:
            drain(node)
            found = impact.list_impact(node_id=node.id, at=NOON, now=NOON)
            return {lease.id for lease in (*found.running, *found.booked)}

        bookers = [at_level(isolation, partial(book_on, node))] * 6
        listed, *booked = race(*bookers[:3], drained, *bookers[3:])[3:4] + race(partial(book_on, node))
        assert isinstance(booked[0], DoesNotFit)
        assert isinstance(listed, set)
        assert listed == set(Lease.objects.filter(node_id=node.id).values_list("pk", flat=True))
    assert sweep() == []


def test_a_booking_that_waits_for_a_cordon_sees_it() -> None:
    node = Node()

    @db.transaction
    def cordon_slowly(rival: OtherConnection) -> Any:
        row = cordon.lock_node_of_fleet(node_id=node.id)
        row.cordoned_at = NOON
        row.save(update_fields=["cordoned_at"])
        cordon.close_doors(node=row)
        waiting = rival.start(partial(book_on, node))
        with pytest.raises(TimeoutError):
            waiting(0.5)
        return waiting

    with OtherConnection() as rival:
        waiting = cordon_slowly(rival)
        with pytest.raises(DoesNotFit) as refused:
            waiting(30)
    assert refused.value.data["constraints"] == {"cordoned": 1}
    assert not Lease.objects.exists()


def test_a_cordon_waits_for_a_booking_that_is_under_way_and_then_lists_it() -> None:
    node = Node()

    @db.transaction
    def book_slowly(rival: OtherConnection) -> Any:
        candidate = Candidate(device_id=node.device_id(), node_id=node.id, score=0)
        facade.book(tenant_id=TENANT, owner=TENANT, wish=make_wish(), candidates=[candidate], hold_until=None, now=NOON)
        waiting = rival.start(partial(close, node))
        with pytest.raises(TimeoutError):
            waiting(0.5)
        return waiting

    with OtherConnection() as rival:
        book_slowly(rival)(30)
    assert len(impact.list_impact(node_id=node.id, at=NOON, now=NOON).running) == 1


def test_two_operators_at_once_leave_one_trace() -> None:
    node = Node()
    outcomes = race(*[partial(drain, node, actor=f"op{number}") for number in range(6)])
    assert outcomes == [None] * 6
    assert Maintenance.objects.count() == 1
    kinds = list(NodeEvent.objects.filter(node_id=node.id).order_by("created_at").values_list("kind", flat=True))
    assert (kinds.count("draining"), kinds.count("drained")) == (1, 1)
    race(*[partial(drain_node.undrain, node_id=node.id, actor="op", now=at(1))] * 4)
    assert NodeEvent.objects.filter(node_id=node.id, kind="undrained").count() == 1


def test_drain_against_undrain_ends_whole_either_way() -> None:
    for _ in range(6):
        node = Node()
        close(node)
        race(partial(drain, node), partial(drain_node.undrain, node_id=node.id, actor="bob", now=at(1)))
        view = nodes.get_node(node_id=node.id, now=at(2))
        assert (view.drain.state.value, view.cordoned) in {("drained", True), ("none", False)}


def test_a_process_that_dies_in_a_drain_leaves_nothing_and_the_next_one_drains() -> None:
    node = Node()
    lease = book(make_wish())
    connections.close_all()
    child = os.fork()
    if child == 0:
        with system_scope():
            _die_in_a_drain(node)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    connections.close_all()
    with system_scope():
        assert nodes.get_node(node_id=node.id, now=NOON).cordoned is False
        assert not Maintenance.objects.exists()
        drain(node)
        assert nodes.get_node(node_id=node.id, now=NOON).drain.state.value == "draining"
        assert [one.id for one in impact.list_impact(node_id=node.id, at=NOON, now=NOON).running] == [lease.id]


@db.transaction
def _die_in_a_drain(node: Node) -> None:
    row = cordon.lock_node_of_fleet(node_id=node.id)
    Maintenance.objects.create(tenant_id=row.tenant_id, node=row, starts_at=NOON, reason="x", started_by="x")
    cordon.close_doors(node=row)
    os.kill(os.getpid(), signal.SIGKILL)
