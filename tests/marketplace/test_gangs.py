"""Gangs: several reservations at once, all or none."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from allocator.models import Lease
from allocator.services.sweep import sweep
from marketplace.models import Quota, Reservation
from marketplace.services.gang import place_gang
from plumbing.rowsec import system_scope
from tests.marketplace.factories import Buyer, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from vxpu.ids import decode

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Buyer:
    make_price("3.20")
    return make_buyer()


def node_of(devices: int) -> Node:
    return Node(now=datetime.now(UTC), devices=[make_device() for _ in range(devices)])


def ask(ada: Buyer, count: int, **over: Any) -> Any:
    return ada.post("gangs", ada.body(count=count, **over))


def test_eight_devices_asked_are_eight_distinct_devices_in_rank_order(ada: Buyer) -> None:
    node_of(8)
    made = ask(ada, 8)
    assert made.status_code == 201, made.json()
    members = made.json()["members"]
    assert [member["rank"] for member in members] == list(range(8))
    assert len({member["device"] for member in members}) == 8
    assert len({member["node"] for member in members}) == 1
    assert {row["state"] for row in made.json()["reservations"]} == {"confirmed"}
    assert ada.get(f"gangs/{made.json()['id']}").json()["members"] == members


def test_all_or_none_and_the_reason_is_not_together(ada: Buyer) -> None:
    node_of(3)
    node_of(3)
    refused = ask(ada, 4)
    assert refused.status_code == 409
    assert refused.json()["constraints"] == {"not_together": 6}
    with system_scope():
        assert (Reservation.objects.count(), Lease.objects.count()) == (0, 0)
    assert ask(ada, 4, together="devices").status_code == 201


def test_sixteen_halves_are_two_a_device_and_the_seventeenth_is_refused(ada: Buyer) -> None:
    node_of(8)
    half = {"memory_mib": 4096, "share_permille": 500}
    made = ask(ada, 16, slice=half, together="any")
    devices = [member["device"] for member in made.json()["members"]]
    assert sorted(devices.count(name) for name in set(devices)) == [2] * 8
    assert ask(ada, 1, slice=half, together="any").status_code == 409


def test_a_gang_is_given_back_whole_and_twice_is_no_error(ada: Buyer) -> None:
    node_of(2)
    name = ask(ada, 2).json()["id"]
    for _ in range(2):
        gone = ada.person.client.delete(f"/api/v1/gangs/{name}")
        assert gone.status_code == 200
        assert {row["state"] for row in gone.json()["reservations"]} == {"cancelled"}
    assert ask(ada, 2).status_code == 201


def test_a_queued_gang_is_placed_whole(ada: Buyer) -> None:
    node_of(2)
    first = ask(ada, 1).json()
    waiting = ask(ada, 2, slice={"memory_mib": 8192, "share_permille": 1000}, queue=True)
    assert waiting.status_code == 202
    assert {row["state"] for row in waiting.json()["reservations"]} == {"queued"}
    assert {member["device"] for member in waiting.json()["members"]} == {None}
    ada.person.client.delete(f"/api/v1/gangs/{first['id']}")
    gang_id = decode("gng", waiting.json()["id"])
    with system_scope():
        assert place_gang(gang_id=gang_id, now=datetime.now(UTC)) == 2
        assert place_gang(gang_id=gang_id, now=datetime.now(UTC)) == 0
        assert sweep() == []
    shown = ada.get(f"gangs/{waiting.json()['id']}").json()
    assert [member["rank"] for member in shown["members"]] == [0, 1]
    assert {row["state"] for row in shown["reservations"]} == {"confirmed"}


def test_a_gang_has_a_class_in_the_queue_and_its_quota_is_judged_for_the_sum(ada: Buyer) -> None:
    node_of(2)
    with system_scope():
        Quota.objects.create(tenant_id=ada.tenant_id, nominal_permille=10**6, nominal_mib=10**6, urgent_permille=1999)
    assert ask(ada, 2).status_code == 201
    whole = {"slice": {"memory_mib": 8192, "share_permille": 1000}, "queue": True, "priority": "urgent"}
    refused = ask(ada, 2, **whole)
    assert (refused.status_code, refused.json()["resource"]) == (409, "urgent_permille")
    with system_scope():
        Quota.objects.update(urgent_permille=2000)
    waiting = ask(ada, 2, **whole)
    assert waiting.status_code == 202, waiting.json()
    assert {row["priority"] for row in waiting.json()["reservations"]} == {"urgent"}


@pytest.mark.parametrize("scarce", [{"nominal_permille": 1000}, {"nominal_mib": 4 * 2048}, {"max_reservations": 4}])
def test_the_quota_is_judged_for_the_sum(ada: Buyer, scarce: dict[str, int]) -> None:
    node_of(8)
    plenty = {"nominal_permille": 10**6, "nominal_mib": 10**6, "max_reservations": 10**3}
    with system_scope():
        Quota.objects.create(tenant_id=ada.tenant_id, **{**plenty, **scarce})
    assert ask(ada, 4).status_code == 201
    refused = ask(ada, 1)
    assert (refused.status_code, refused.json()["code"]) == (409, "quota_exceeded")


@pytest.mark.parametrize(("over", "told"), [
    ({"count": 0}, 422), ({"count": 10_000}, 422), ({"together": "close"}, 422), ({"models": ["no such"]}, 422),
    ({"pool": "none"}, 422), ({"copy_permille": 1001}, 422), ({"cores_milli": -1}, 422),
])  # fmt: skip
def test_what_cannot_be_is_told(ada: Buyer, over: dict[str, Any], told: int) -> None:
    node_of(1)
    refused = ask(ada, **{"count": 1, **over})
    assert refused.status_code in {told, 400}, refused.json()


def test_why_here_is_told_in_terms_that_add_up(ada: Buyer) -> None:
    node_of(2)
    made = ada.post("reservations", ada.body(cores_milli=0, models=["Test CPU"])).json()
    why = ada.get(f"reservations/{made['id']}/placement").json()
    assert (why["policy"], why["fitted"], why["device"]["id"]) == ("fragmentation", 2, made["device"]["id"])
    assert sum(term["value"] for term in why["terms"]) == why["score"]
    assert why["text"].startswith("2 places fitted")
    full = {"memory_mib": 8192, "share_permille": 1000}
    waits = ada.post("reservations", ada.body(slice=full, device=made["device"]["id"], queue=True)).json()
    assert ada.get(f"reservations/{waits['id']}/placement").json()["code"] == "not_placed_yet"
