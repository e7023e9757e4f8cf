"""The calendar at the door: what is taken, whose it is to whom, and where a slice fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from allocator.models import Maintenance
from tests.identity.factories import make_member, make_operator, make_project
from tests.marketplace.factories import HOUR, Buyer, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode, new_uuid

pytestmark = pytest.mark.usefixtures("system")
MIDNIGHT = (datetime.now(UTC) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=datetime.now(UTC))


@pytest.fixture
def ada(node: Node) -> Buyer:
    return make_buyer(now=datetime.now(UTC))


@pytest.fixture
def bo(node: Node) -> Buyer:
    return make_buyer(now=datetime.now(UTC))


def iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def at(hour: float) -> datetime:
    return MIDNIGHT + hour * HOUR


def ask(buyer: Buyer, **over: Any) -> Any:
    wanted = {"from": iso(at(0)), "to": iso(at(24)), "memory_mib": 4096, "share_permille": 500, **over}
    return buyer.get(f"availability?{urlencode(wanted)}")


def book(buyer: Buyer, first: float, last: float, **over: Any) -> dict[str, Any]:
    half = {"memory_mib": 4096, "share_permille": 500}
    times = {"starts_at": iso(at(first)), "ends_at": iso(at(last))}
    answer = buyer.post("reservations", buyer.body(**{"slice": half, **times, **over}))
    assert answer.status_code == 201, answer.json()
    made: dict[str, Any] = answer.json()
    return made


def test_free_periods_are_exact_and_mine_has_a_name(ada: Buyer, bo: Buyer, node: Node) -> None:
    mine = book(ada, 1, 3, name="nightly")
    book(bo, 2, 4)
    (device,) = ask(ada).json()["items"]
    assert device["device"] == encode("dev", node.device().id)
    assert [(one["starts_at"], one["ends_at"]) for one in device["free"]] == [
        (iso(at(0)), iso(at(2))), (iso(at(3)), iso(at(24))),
    ]  # fmt: skip
    first, second = device["pieces"]
    assert (first["mine"], first["reservation"], first["name"], first["state"], first["project"]) == (
        True, mine["id"], "nightly", "confirmed", ada.project_name,
    )  # fmt: skip
    assert (second["mine"], second["reservation"], second["name"], second["project"]) == (False, None, None, None)
    assert {first["lane"], second["lane"]} == {0, 1}
    assert (second["starts_at"], second["memory_mib"]) == (iso(at(2)), 4096)


def test_what_is_told_free_can_be_booked_and_nothing_else(ada: Buyer, bo: Buyer) -> None:
    book(ada, 1, 3, slice={"memory_mib": 6144, "share_permille": 750})
    (device,) = ask(bo).json()["items"]
    half = {"memory_mib": 4096, "share_permille": 500}
    for free in device["free"]:
        late = bo.post("reservations", bo.body(slice=half, starts_at=free["starts_at"], ends_at=free["ends_at"]))
        assert late.status_code == 201
    between = bo.post("reservations", bo.body(slice=half, starts_at=iso(at(0.5)), ends_at=iso(at(1.5))))
    assert between.status_code == 409


def test_an_operator_sees_every_name_a_member_only_his_projects(ada: Buyer) -> None:
    mine = book(ada, 1, 3)
    other = make_project(by=ada.person)
    member = Buyer(make_member(by=ada.person, project=other), other)
    operator = Buyer(make_operator(), ada.project)
    (piece,) = ask(member).json()["items"][0]["pieces"]
    assert (piece["mine"], piece["reservation"]) == (False, None)
    (piece,) = ask(operator).json()["items"][0]["pieces"]
    assert (piece["mine"], piece["reservation"]) == (False, mine["id"])


def test_maintenance_and_cordon_are_shown_and_take_the_room(ada: Buyer, node: Node) -> None:
    Maintenance.objects.create(
        tenant_id=new_uuid(), node_id=node.id, starts_at=at(5), ends_at=at(7), reason="new fans", started_by="olga"
    )
    (device,) = ask(ada).json()["items"]
    assert device["maintenance"] == [{"starts_at": iso(at(5)), "ends_at": iso(at(7)), "reason": "new fans"}]
    assert [one["ends_at"] for one in device["free"]] == [iso(at(5)), iso(at(24))]
    assert device["cordoned"] is False


def test_a_slice_over_midnight_is_one_piece_on_both_days(ada: Buyer) -> None:
    book(ada, 22, 26)
    for first, last in ((0, 24), (24, 48)):
        (device,) = ask(ada, **{"from": iso(at(first)), "to": iso(at(last))}).json()["items"]
        assert [(one["starts_at"], one["ends_at"]) for one in device["pieces"]] == [(iso(at(22)), iso(at(26)))]


def test_another_kind_or_device_is_another_question(ada: Buyer, node: Node) -> None:
    assert ask(ada, device_kind="nvidia").json()["items"] == []
    assert ask(ada, device=encode("dev", new_uuid())).json()["items"] == []
    assert len(ask(ada, device=encode("dev", node.device().id)).json()["items"]) == 1
    (device,) = ask(ada, memory_mib=10**6).json()["items"]
    assert device["free"] == []


@pytest.mark.parametrize(
    ("over", "status", "code"),
    [
        ({"from": "2026-12-01T00:00:00"}, 400, "invalid_input"),
        ({"from": "yesterday"}, 400, "invalid_input"),
        ({"to": iso(MIDNIGHT + timedelta(days=63))}, 422, "wrong_period"),
        ({"to": iso(MIDNIGHT)}, 422, "wrong_period"),
        ({"share_permille": 1001}, 422, "wrong_size"),
        ({"memory_mib": 0}, 422, "wrong_size"),
        ({"memory_mib": "much"}, 400, "invalid_input"),
        ({"device_kind": "toaster"}, 422, "wrong_choice"),
        ({"device": "nod_x"}, 400, "invalid_input"),
    ],
)
def test_a_bad_question_is_refused(ada: Buyer, over: dict[str, Any], status: int, code: str) -> None:
    answer = ask(ada, **over)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.json()
