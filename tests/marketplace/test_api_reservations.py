"""The REST doors of reservations: status, shape, who may, and the way on in each refusal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from marketplace.models import Reservation
from tests.delivery import deliver
from tests.identity.factories import Person, make_member, make_operator, make_project
from tests.marketplace.factories import HOUR, Buyer, make_buyer, make_price
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


@pytest.fixture
def bo(node: Node) -> Buyer:
    return make_buyer(now=now())


def test_a_reservation_answers_with_lease_and_price(ada: Buyer, node: Node) -> None:
    answer = ada.post("reservations", ada.body())
    assert answer.status_code == 201, answer.json()
    made = answer.json()
    assert (made["state"], made["project"]) == ("confirmed", ada.project_name)
    assert made["slice"] == {"memory_mib": 2048, "share_permille": 250}
    assert made["price"]["unit_price"] == "3.2000000000"
    assert (made["price"]["currency"], made["price"]["unit"]) == ("EUR", "device-hour")
    assert made["lease"]["device"] == encode("dev", node.device().id)
    assert (made["lease"]["state"], made["lease"]["isolation"]) == ("assigned", "limiter-strict")
    assert (made["earlier_start_at"], made["queue"]) == (None, None)


def test_it_becomes_active_and_its_story_can_be_read(ada: Buyer, node: Node) -> None:
    made = ada.post("reservations", ada.body()).json()
    node.beat(now=now())
    deliver()
    shown = ada.get(f"reservations/{made['id']}").json()
    assert (shown["state"], shown["lease"]["state"]) == ("active", "ready")
    events = ada.get(f"reservations/{made['id']}/events").json()["items"]
    assert [event["to_state"] for event in events] == ["confirmed", "activating", "active"]
    assert events[0]["actor"] == f"user:{encode('usr', ada.person.user.pk)}"


def test_no_room_says_why_when_and_what(ada: Buyer, bo: Buyer) -> None:
    first = ada.post("reservations", ada.body(slice={"memory_mib": 6144, "share_permille": 750})).json()
    asked = bo.body(slice={"memory_mib": 4096, "share_permille": 500}, ends_at=(now() + HOUR).isoformat())
    answer = bo.post("reservations", asked)
    said = answer.json()
    assert (answer.status_code, said["code"], answer["Content-Type"]) == (
        409,
        "no_capacity",
        "application/problem+json",
    )
    assert said["constraints"] == {"memory_and_compute": 1}
    assert said["next_free_at"] == first["ends_at"]
    assert said["nearest"][0] == {"memory_mib": 2048, "share_permille": 250}
    assert "queue" in said["suggestion"]
    later = datetime.fromisoformat(said["next_free_at"])
    again = bo.post("reservations", {**asked, "starts_at": said["next_free_at"], "ends_at": (later + HOUR).isoformat()})
    assert (again.status_code, again.json()["starts_at"]) == (201, said["next_free_at"])


def test_who_will_wait_gets_202_and_a_place(ada: Buyer, bo: Buyer) -> None:
    whole = {"memory_mib": 8192, "share_permille": 1000}
    ada.post("reservations", ada.body(slice=whole))
    answer = bo.post("reservations", bo.body(slice=whole, queue=True))
    made = answer.json()
    assert (answer.status_code, made["state"], made["lease"], made["price"]) == (202, "queued", None, None)
    assert answer["Location"] == f"/api/v1/reservations/{made['id']}"
    assert (made["queue"]["best"], made["queue"]["worst"], made["queue"]["waits_for"]) == (1, 1, "memory_and_compute")
    assert made["queue"]["estimated_start_at"] is not None


def test_resize_extend_and_release(ada: Buyer, node: Node) -> None:
    path = f"reservations/{ada.post('reservations', ada.body()).json()['id']}"
    node.beat(now=now())
    deliver()
    smaller = {"memory_mib": 1024, "share_permille": 100}
    assert ada.post(f"{path}/resize", {"slice": smaller}).json()["slice"] == smaller
    later = (now() + 3 * HOUR).replace(microsecond=0)
    assert datetime.fromisoformat(ada.post(f"{path}/extend", {"ends_at": later.isoformat()}).json()["ends_at"]) == later
    assert ada.post(f"{path}/extend", {"ends_at": None}).json()["ends_at"] is None
    assert ada.post(f"{path}/release", {}, key=None).json()["state"] == "ending"
    node.beat(now=now() + timedelta(seconds=1))
    deliver()
    released = ada.post(f"{path}/release", {}, key=None)
    assert (released.status_code, released.json()["state"]) == (200, "completed")
    for action, body in (("resize", {"slice": smaller}), ("extend", {"ends_at": None}), ("start-earlier", {})):
        refused = ada.post(f"{path}/{action}", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "wrong_state"), refused.json()


def test_an_earlier_start_over_rest(ada: Buyer) -> None:
    starts_at = now() + HOUR
    made = ada.post("reservations", ada.body(starts_at=starts_at.isoformat(), ends_at=(starts_at + HOUR).isoformat()))
    begun = ada.post(f"reservations/{made.json()['id']}/start-earlier", {}).json()
    assert datetime.fromisoformat(begun["starts_at"]) < starts_at
    length = datetime.fromisoformat(begun["ends_at"]) - datetime.fromisoformat(begun["starts_at"])
    assert (begun["state"], length) == ("confirmed", HOUR)


def test_another_tenants_ids_are_404(ada: Buyer, bo: Buyer) -> None:
    name = ada.post("reservations", ada.body()).json()["id"]
    answers = [bo.get(f"reservations/{name}"), bo.get(f"reservations/{name}/events")]
    answers += [
        bo.post(f"reservations/{name}/{action}", body)
        for action, body in (
            ("release", {}), ("start-earlier", {}), ("extend", {"ends_at": None}),
            ("resize", {"slice": {"memory_mib": 1, "share_permille": 1}}),
        )
    ]  # fmt: skip
    answers.append(bo.get(f"reservations/{encode('rsv', new_uuid())}"))
    answers.append(bo.get("reservations/lse_01h2xcejqtf2nbrexx3vqjhp41"))
    assert {answer.status_code for answer in answers} == {404}
    assert bo.get("reservations").json()["items"] == []
    assert ada.get(f"reservations/{name}").json()["state"] == "confirmed"


def test_a_foreign_project_is_refused(ada: Buyer, bo: Buyer) -> None:
    answer = ada.post("reservations", ada.body(project=bo.project_name))
    assert (answer.status_code, Reservation.objects.count()) == (404, 0)


def test_a_member_reaches_only_his_projects(ada: Buyer) -> None:
    other = make_project(by=ada.person)
    member = make_member(by=ada.person, project=other)
    name = ada.post("reservations", ada.body()).json()["id"]
    assert member.client.get(f"/api/v1/reservations/{name}").status_code == 404
    refused = _post(member, ada.body())
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert _post(member, ada.body(project=encode("prj", other.pk))).status_code == 201


def test_finance_reads_and_buys_nothing(ada: Buyer) -> None:
    finance = make_member(by=ada.person, role="finance")
    name = ada.post("reservations", ada.body()).json()["id"]
    assert finance.client.get(f"/api/v1/reservations/{name}").status_code == 200
    assert _post(finance, ada.body()).status_code == 403


def test_an_operator_sees_all_and_pages(ada: Buyer, bo: Buyer) -> None:
    small = {"memory_mib": 100, "share_permille": 10}
    for buyer in (ada, bo, ada):
        buyer.post("reservations", buyer.body(slice=small))
    operator = make_operator().client
    page = operator.get("/api/v1/reservations?limit=2").json()
    rest = operator.get(f"/api/v1/reservations?limit=2&cursor={page['next']}").json()
    assert (len(page["items"]), len(rest["items"]), rest["next"]) == (2, 1, None)
    assert len(ada.get("reservations?state=confirmed").json()["items"]) == 2
    assert ada.get("reservations?state=active").json()["items"] == []


def _post(person: Person, body: dict[str, Any]) -> Any:
    headers = {"Idempotency-Key": new_uuid().hex}
    return person.client.post("/api/v1/reservations", body, format="json", headers=headers)


def test_a_key_is_required_and_repeats_the_answer(ada: Buyer) -> None:
    body = ada.body()
    assert ada.post("reservations", body, key=None).json()["code"] == "idempotency_key_missing"
    first, again = (ada.post("reservations", body, key="one") for _ in range(2))
    assert (first.json(), again.status_code) == (again.json(), 201)
    other = ada.post("reservations", {**body, "queue": True}, key="one")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert Reservation.objects.count() == 1


def test_a_suspended_account_buys_nothing(node: Node) -> None:
    nobody = make_buyer(now=now())
    from billing.models import Account

    Account.objects.filter(tenant_id=nobody.tenant_id).update(status="suspended")
    answer = nobody.post("reservations", nobody.body())
    assert (answer.status_code, answer.json()["code"]) == (402, "account_suspended")
    assert Reservation.objects.count() == 0
