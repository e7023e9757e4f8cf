"""The doors of moves: who may, what a dry run shows, and a plan from its beginning to its end."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from allocator.models import Lease, MovePlan, Relocation
from allocator.services import pools, run_moves
from tests.allocator.factories import MIB, Node
from tests.allocator.test_service_api import clock, post, running
from tests.identity.factories import Person, client_for, make_operator, make_tenant
from vxpu.ids import encode
from vxpu.market import LeaseView

pytestmark = pytest.mark.usefixtures("system")
PLANS = "/api/v1/move-plans"


@pytest.fixture
def ada() -> Person:
    return make_tenant()


@pytest.fixture
def operator() -> APIClient:
    return client_for(make_operator().secret)


def body(node: Node, moved: LeaseView, **over: Any) -> dict[str, Any]:
    device = encode("dev", node.device_id())
    return {"lease": encode("lse", moved.id), "device": device, "reason": "a fan rattles", **over}


def test_an_operator_moves_one_lease_sees_how_far_it_is_and_calls_it_off(ada: Person, operator: APIClient) -> None:
    node, other = Node(now=clock()), Node(now=clock())
    lease = running(node, ada, device_id=node.device_id())
    assert post(operator, PLANS, body(other, lease))[1]["code"] == "nothing_to_move"  # asked for by name
    Lease.objects.update(pinned=False)
    status, made = post(operator, PLANS, body(other, lease))
    assert (status, made["kind"], made["state"], made["moves_total"]) == (201, "single", "running", 1)
    assert made["moves"][0]["tenant"] == encode("ten", ada.tenant_id)
    assert made["moves"][0]["cost_mib"] == MIB // 4
    run_moves.run(now=clock())
    shown = operator.get(f"{PLANS}/{made['id']}").json()
    assert (shown["moves"][0]["state"], shown["moves"][0]["successor"] is None) == ("preparing", False)
    assert post(operator, PLANS, body(other, lease))[1]["code"] == "nothing_to_move"
    for _ in range(2):
        status, ended = post(operator, f"{PLANS}/{made['id']}/cancel", {"reason": "it was the cable"})
        assert (status, ended["state"], ended["moves_failed"]) == (200, "cancelled", 1)
    assert [one["id"] for one in operator.get(PLANS).json()["items"]] == [made["id"]]
    assert Lease.objects.get(pk=lease.id).state == "ready"


@pytest.mark.parametrize("other", [{"model": "Another CPU"}, {"isolation": "limiter-advisory"}, {"capacity_mib": 100}])
def test_a_lease_goes_to_no_device_of_another_sort(ada: Person, operator: APIClient, other: dict[str, Any]) -> None:
    node, target = Node(now=clock()), Node(now=clock(), **other)
    lease = running(node, ada, device_id=node.device_id())
    Lease.objects.update(pinned=False)
    status, refused = post(operator, PLANS, body(target, lease))
    assert (status, refused["code"]) == (409, "nothing_to_move"), refused
    assert MovePlan.objects.count() == 0


def test_nor_to_another_pool_or_away_from_the_others_of_its_node(ada: Person, operator: APIClient) -> None:
    node, target = Node(now=clock()), Node(now=clock())
    lease = running(node, ada, device_id=node.device_id())
    pools.make_pool(name="east", policy="binpack", may_override=False, description="", now=clock())
    pools.describe_node(node_id=node.id, changes={"pool": "east"}, actor="olga", now=clock())
    Lease.objects.update(pinned=False)
    assert "other_pool" in post(operator, PLANS, body(target, lease))[1]["detail"]
    pools.describe_node(node_id=target.id, changes={"pool": "east"}, actor="olga", now=clock())
    Lease.objects.update(wanted={"devices": 2})
    assert post(operator, PLANS, body(target, lease))[0] == 409


def test_a_dry_run_says_whose_leases_would_move_and_moves_nothing(ada: Person, operator: APIClient) -> None:
    node, other = Node(now=clock()), Node(now=clock())
    for where, share in ((node, 300), (node, 300), (other, 500)):
        running(where, ada, device_id=where.device_id(), share_permille=share, memory_mib=MIB * share // 1000)
    Lease.objects.update(pinned=False)
    asked = {"memory_mib": MIB // 2, "share_permille": 600}
    status, seen = post(operator, f"{PLANS}/preview", asked)
    assert (status, len(seen["moves"]), seen["reason"]) == (200, 1, "")
    assert (seen["moves"][0]["tenant"], seen["devices"]) == (
        encode("ten", ada.tenant_id), [encode("dev", node.device_id())]
    )  # fmt: skip
    assert seen["cost_mib"] == MIB * 300 // 1000
    status, none = post(operator, f"{PLANS}/preview", {**asked, "share_permille": 1000})
    assert (status, none["moves"], bool(none["reason"])) == (200, [], True)
    assert (MovePlan.objects.count(), Relocation.objects.count()) == (0, 0)


def test_a_tenant_may_not_and_nonsense_is_named(ada: Person, operator: APIClient) -> None:
    assert ada.client.get(PLANS).status_code == 403
    assert post(ada.client, f"{PLANS}/preview", {})[0] == 403
    node = Node(now=clock())
    lease = running(node, ada)
    assert post(operator, PLANS, body(node, lease))[1]["code"] == "nothing_to_move"
    assert post(operator, PLANS, body(node, lease, lease="lse_01k2v7x9qefh8r8x5m3n1p0s4t"))[0] == 404
    assert post(operator, PLANS, body(node, lease, reason=""))[0] == 400
    assert post(operator, f"{PLANS}/preview", {"memory_mib": 0, "share_permille": 1001})[0] == 400
    assert operator.get(f"{PLANS}/mpl_01k2v7x9qefh8r8x5m3n1p0s4t").status_code == 404
    assert post(operator, f"{PLANS}/mpl_01k2v7x9qefh8r8x5m3n1p0s4t/cancel", {"reason": "x"})[0] == 404
