"""The feed: what happened, newest first, to whom it concerns, page by page."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from allocator.services import watch
from tests.delivery import deliver
from tests.identity.factories import Person, make_member, make_operator, make_project
from tests.marketplace.factories import Buyer, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode, new_uuid

pytestmark = pytest.mark.usefixtures("system")


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def node() -> Node:
    make_price("3.20")
    return Node(now=now())


@pytest.fixture
def ada(node: Node) -> Buyer:
    return make_buyer(now=now())


def events(person: Person, query: str = "") -> list[dict[str, Any]]:
    answer = person.client.get(f"/api/v1/events?{query}")
    assert answer.status_code == 200, answer.json()
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def kinds(person: Person, query: str = "") -> list[str]:
    return [event["kind"] for event in events(person, query)]


def test_a_reservation_tells_its_story(ada: Buyer, node: Node) -> None:
    made = ada.post("reservations", ada.body(name="nightly")).json()
    node.beat(now=now())
    deliver()
    ada.post(f"reservations/{made['id']}/resize", {"slice": {"memory_mib": 1024, "share_permille": 100}})
    told = events(ada.person, f"subject={made['id']}")
    assert [event["kind"] for event in told] == [
        "reservation.changed", "reservation.active", "reservation.activating", "reservation.confirmed",
    ]  # fmt: skip
    assert {(event["subject"], event["subject_name"]) for event in told} == {(made["id"], "nightly")}
    assert told[0]["reason"] == "2 GiB + 25 % -> 1 GiB + 10 %"
    assert told[0]["actor"] == f"user:{encode('usr', ada.person.user.pk)}"
    assert told[0]["severity"] == "info"


def test_pages_hold_everything_once_in_order(ada: Buyer) -> None:
    for _ in range(4):
        ada.post("reservations", ada.body(slice={"memory_mib": 1, "share_permille": 1}))
    whole = events(ada.person)
    paged: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = ada.get(f"events?limit=2&cursor={cursor}").json()
        paged += answer["items"]
        cursor = answer["next"]
        if cursor is None:
            break
    assert paged == whole
    assert [event["at"] for event in whole] == sorted((event["at"] for event in whole), reverse=True)
    assert len({event["id"] for event in whole}) == len(whole) > 4


def test_kinds_filter_by_room_and_by_word(ada: Buyer) -> None:
    ada.post("reservations", ada.body())
    assert set(kinds(ada.person, "kind=reservation")) == {"reservation.confirmed"}
    assert kinds(ada.person, "kind=reservation.active") == []
    assert set(kinds(ada.person, "kind=token")) == {"token.created"}
    assert set(kinds(ada.person, "kind=price.published")) == {"price.published"}


def test_a_changed_quota_is_told_to_its_tenant_once(ada: Buyer) -> None:
    operator = make_operator()
    body = {"tenant": encode("ten", ada.tenant_id), "nominal_permille": 100, "nominal_mib": 8192, "max_reservations": 9}
    for _ in range(2):
        operator.client.put("/api/v1/quotas", body, format="json")
    (told,) = events(ada.person, "kind=quota")
    assert (told["kind"], told["subject"], told["data"]["after"]["nominal_permille"]) == (
        "quota.changed", encode("ten", ada.tenant_id), 100,
    )  # fmt: skip
    assert events(make_buyer(now=now()).person, "kind=quota") == []


def test_a_silent_node_is_told_to_its_tenants(ada: Buyer, node: Node, settings: Any) -> None:
    made = ada.post("reservations", ada.body()).json()
    node.beat(now=now())
    settings.VXPU_AUTHORITY_S, settings.VXPU_FAILURE_TIMEOUT_S = 25, 30
    for seconds in range(0, 60, 5):  # the watch must have been up to have heard nothing
        watch.mark_unreachable(now=now() + timedelta(seconds=seconds))
    (told,) = events(ada.person, "kind=lease")
    assert (told["kind"], told["severity"], told["data"]["reservation"]) == ("lease.unreachable", "warning", made["id"])


def test_each_sees_his_own(ada: Buyer) -> None:
    ada.post("reservations", ada.body())
    other = make_project(by=ada.person)
    member = make_member(by=ada.person, project=other)
    bo = make_buyer(now=now())
    assert "reservation.confirmed" not in kinds(member) + kinds(bo.person)
    assert "reservation.confirmed" in kinds(make_operator())
    assert kinds(member, "kind=token") == []
    assert "node.enrolled" in kinds(make_operator(), "kind=node")
    assert kinds(ada.person, "kind=node") == []


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "cursor=x", "kind=../..", "subject=nonsense", "limit=many"])
def test_a_bad_question_is_refused(ada: Buyer, query: str) -> None:
    answer = ada.get(f"events?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_another_tenants_subject_has_no_story(ada: Buyer) -> None:
    made = ada.post("reservations", ada.body()).json()
    bo = make_buyer(now=now())
    assert events(bo.person, f"subject={made['id']}") == []
    assert events(bo.person, f"subject={encode('rsv', new_uuid())}") == []
