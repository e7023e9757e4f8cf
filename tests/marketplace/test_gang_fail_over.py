"""Gangs whose nodes fall silent: lost members are placed together again, near those that go on, or wait together."""

from __future__ import annotations

from typing import Any

import pytest

from allocator.models import Node as NodeRow
from allocator.services.sweep import sweep
from marketplace.models import Reservation
from marketplace.services import gang_orders, reconcile
from marketplace.services.fail_over import Replaced
from tests.marketplace.factories import NOON, Buyer, fresh, make_buyer, make_order, make_price
from tests.marketplace.node import Node, make_device
from tests.marketplace.test_fail_over import at, pass_time, running

pytestmark = pytest.mark.usefixtures("system", "short_authority")
HALF: dict[str, Any] = {"memory_mib": 4096, "share_permille": 500}


@pytest.fixture
def short_authority(settings: Any) -> None:
    settings.VXPU_AUTHORITY_S, settings.VXPU_FAILURE_TIMEOUT_S = 25, 30
    make_price("3.20")


@pytest.fixture
def ada() -> Buyer:
    return make_buyer()


def node_of(devices: int = 1, *, rack: str = "", seconds: float = 0) -> Node:
    node = Node(now=at(seconds), devices=[make_device() for _ in range(devices)])
    NodeRow.objects.filter(pk=node.id).update(rack=rack)
    return node


def gang(ada: Buyer, together: str, count: int = 2) -> list[Reservation]:
    order = make_order(ada, **HALF)
    shown = gang_orders.reserve_gang(
        order=order, count=count, together=together, requested_by=ada.tenant_id, actor="user:ada", now=NOON
    )
    return list(Reservation.objects.filter(gang_id=shown.gang.pk).order_by("gang_rank"))


def places(rows: list[Reservation]) -> set[Any]:
    return {fresh(row).device_id for row in rows}


def states(rows: list[Reservation]) -> list[str]:
    return [fresh(row).state for row in rows]


def test_a_gang_of_one_node_goes_to_another_node_whole(ada: Buyer) -> None:
    lost = node_of(2)
    rows = gang(ada, "node")
    running(lost, *rows)
    one, two = node_of(1), node_of(2)
    assert pass_time(32, one, two) == Replaced(found=2, placed=2)
    assert states(rows) == ["activating", "activating"]
    assert places(rows) == {two.device(0).id, two.device(1).id}
    assert sweep() == []


def test_members_without_room_together_wait_together(ada: Buyer) -> None:
    lost = node_of(2)
    rows = gang(ada, "node")
    running(lost, *rows)
    one = node_of(1)
    assert pass_time(32, one) == Replaced(found=2, placed=0)
    assert states(rows) == ["moving", "moving"]
    reconcile.reconcile(now=at(33))
    assert states(rows) == ["moving", "moving"]
    two = node_of(2, seconds=34)
    reconcile.reconcile(now=at(35))
    assert states(rows) == ["activating", "activating"]
    assert places(rows) == {two.device(0).id, two.device(1).id}
    assert sweep() == []


def test_a_lost_member_goes_to_the_rack_of_those_that_go_on(ada: Buyer) -> None:
    first, second = node_of(rack="r1"), node_of(rack="r1")
    rows = gang(ada, "rack")
    elsewhere = node_of(2, rack="r2")
    lost, kept = (first, second) if first.device().id == rows[0].device_id else (second, first)
    for node, row in ((lost, rows[0]), (kept, rows[1])):
        running(node, row)
    assert pass_time(32, kept, elsewhere) == Replaced(found=1, placed=0)
    assert states(rows) == ["moving", "active"]
    near = node_of(rack="r1", seconds=34)
    reconcile.reconcile(now=at(35))
    assert (fresh(rows[0]).state, fresh(rows[0]).device_id) == ("activating", near.device().id)


def test_a_lost_member_shares_no_device_with_those_that_go_on(ada: Buyer) -> None:
    first, second = node_of(), node_of()
    rows = gang(ada, "devices")
    lost, kept = (first, second) if first.device().id == rows[0].device_id else (second, first)
    for node, row in ((lost, rows[0]), (kept, rows[1])):
        running(node, row)
    other = node_of()
    assert pass_time(32, kept, other) == Replaced(found=1, placed=1)
    assert fresh(rows[0]).device_id == other.device().id


def test_members_of_a_gang_without_a_rule_are_placed_one_by_one(ada: Buyer) -> None:
    lost = node_of(2)
    rows = gang(ada, "any", count=4)
    running(lost, *rows)
    one = node_of(1)
    assert pass_time(32, one) == Replaced(found=4, placed=2)
    assert sorted(states(rows)) == ["activating", "activating", "moving", "moving"]
