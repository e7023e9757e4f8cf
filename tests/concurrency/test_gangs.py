"""Gangs that race for the same devices, on real commits: one has all, the others hold nothing, and nobody is stuck."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from allocator import facade
from allocator.errors import DoesNotFit
from allocator.models import Lease, NodeHost, Segment
from allocator.services.sweep import sweep
from marketplace.models import EVERYWHERE, Gang, Quota, Reservation
from marketplace.services import gang_orders
from plumbing import db
from plumbing.rowsec import system_scope
from tests.allocator.factories import NOON, TENANT, make_wish
from tests.allocator.factories import Node as BareNode
from tests.concurrency.clients import LEVELS, at_level
from tests.marketplace.factories import Buyer, make_buyer, make_order, make_price
from tests.marketplace.node import Node, make_device
from tests.racing import race
from vxpu.ids import new_uuid
from vxpu.market import Candidate, LeaseView

pytestmark = pytest.mark.usefixtures("committed_system")


@db.transaction
def book_on(places: Sequence[Candidate]) -> list[LeaseView]:
    """Without a search, in the order given: the database alone decides."""
    wish = make_wish(memory_mib=4096, share_permille=600, cores_milli=100)
    owners = [new_uuid() for _ in places]
    return facade.book_gang(tenant_id=TENANT, owners=owners, wish=wish, together="devices", candidates=places, now=NOON)


@pytest.mark.parametrize("isolation", LEVELS)
def test_gangs_that_cross_wait_in_a_line(isolation: str) -> None:
    """Each takes the devices of two nodes from another end: with locks as they come that is a ring."""
    nodes = [BareNode(devices=3), BareNode(devices=3)]
    NodeHost.objects.update(capacity_cores_milli=10_000)
    places = [
        Candidate(device_id=node.device_id(number), node_id=node.id, score=0) for number in range(3) for node in nodes
    ]
    orders = [places, places[::-1], places[3:] + places[:3]] * 2
    answers = race(*(at_level(isolation, partial(book_on, order)) for order in orders))
    won = [answer for answer in answers if isinstance(answer, list)]
    assert Counter(type(answer).__name__ for answer in answers) == {"list": 1, "DoesNotFit": 5}
    assert {lease.device_id for lease in won[0]} == {place.device_id for place in places}
    assert Segment.objects.count() == 6
    assert sweep() == []


def ask(buyer: Buyer, count: int) -> Any:
    order = make_order(buyer, memory_mib=8192, share_permille=1000, starts_at=None, ends_at=None)
    return gang_orders.reserve_gang(
        order=order, count=count, together="devices", requested_by=buyer.person.user.pk, actor="test",
        now=datetime.now(UTC), reach=EVERYWHERE,
    )  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.soak)])
def test_two_gangs_of_as_many_as_there_are_devices(count: int) -> None:
    """One gets all, the other holds nothing, and is told."""
    make_price("3.20")
    Node(now=datetime.now(UTC), devices=[make_device() for _ in range(count)])
    buyers = [make_buyer(now=datetime.now(UTC)) for _ in range(2)]
    for buyer in buyers:
        with system_scope():
            Quota.objects.create(
                tenant_id=buyer.tenant_id, nominal_permille=10**6, nominal_mib=10**9, max_reservations=1000
            )
    answers = race(*(partial(ask, buyer, count) for buyer in buyers), timeout_s=100)
    assert sorted(type(answer).__name__ for answer in answers) == ["DoesNotFit", "ShownGang"], answers
    refused = next(answer for answer in answers if isinstance(answer, DoesNotFit))
    constraints = refused.data["constraints"]
    assert isinstance(constraints, dict)
    assert sum(constraints.values()) == count
    assert (Gang.objects.count(), Reservation.objects.count(), Lease.objects.count()) == (1, count, count)
    assert Lease.objects.values("device_id").distinct().count() == count
    assert sweep() == []
