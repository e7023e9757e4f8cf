"""Quotes at the door: what it costs, whether it fits and what would, and the purchase at the quoted price."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from marketplace.models import Quote, Reservation
from tests.identity.factories import make_member, make_operator, make_project
from tests.marketplace.factories import HOUR, Buyer, make_buyer, make_price
from tests.marketplace.node import Node, make_device
from vxpu.ids import encode, new_uuid
from vxpu.states import Isolation

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


def tomorrow(hours: int = 4) -> dict[str, str]:
    """A round time, so that totals are round."""
    starts_at = now().replace(minute=0, second=0, microsecond=0) + timedelta(days=1)
    return {"starts_at": starts_at.isoformat(), "ends_at": (starts_at + hours * HOUR).isoformat()}


def quote(buyer: Buyer, **over: Any) -> dict[str, Any]:
    answer = buyer.post("quotes", buyer.body(**over), key=None)
    assert answer.status_code == 201, answer.json()
    said: dict[str, Any] = answer.json()
    return said


def test_a_quote_tells_terms_and_takes_nothing(ada: Buyer, node: Node) -> None:
    said = quote(ada, **tomorrow())
    assert (said["fits"], said["refusal"], said["device"]) == (True, None, encode("dev", node.device().id))
    assert (said["amount_per_hour"], said["amount_total"], said["currency"]) == ("0.8000", "3.20", "EUR")
    assert said["price"]["unit_price"] == "3.2000000000"
    assert {part["label_code"]: part["permille"] for part in said["breakdown"]} == {
        "compute": 250, "memory": 250, "dominant": 250,
    }  # fmt: skip
    assert said["price_terms"] == {"code": "fixed_until", "until": said["ends_at"]}
    assert said["quota"] == {
        "share_permille_left": 8000, "memory_mib_left": 8 * 256 * 1024, "reservations_left": 200, "ok": True,
    }  # fmt: skip
    assert (said["isolation"], said["simulated"], said["preemption"]) == ("limiter-strict", False, "none")
    held = datetime.fromisoformat(said["expires_at"]) - datetime.fromisoformat(said["created_at"])
    assert held == timedelta(minutes=2)
    assert Reservation.objects.count() == 0
    whole = quote(ada, slice={"memory_mib": 8192, "share_permille": 1000}, **tomorrow())
    assert whole["fits"]


def test_what_was_quoted_is_bought_once(ada: Buyer) -> None:
    said = quote(ada, **tomorrow())
    answer = ada.post("reservations", {"quote": said["id"], "name": "nightly"})
    made = answer.json()
    assert answer.status_code == 201, made
    assert (made["quote"], made["name"], made["price"]["unit_price"]) == (said["id"], "nightly", "3.2000000000")
    assert (made["starts_at"], made["ends_at"]) == (said["starts_at"], said["ends_at"])
    assert made["price_terms"] == said["price_terms"]
    again = ada.post("reservations", {"quote": said["id"]})
    assert (again.status_code, again.json()["code"]) == (409, "quote_used")
    assert again.json()["reservation"] == made["id"]
    assert Reservation.objects.count() == 1


def test_the_memory_side_is_charged_when_it_is_the_larger(ada: Buyer) -> None:
    said = quote(ada, slice={"memory_mib": 4096, "share_permille": 100}, **tomorrow())
    parts = {part["label_code"]: part["permille"] for part in said["breakdown"]}
    assert (parts, said["dominant_permille"]) == ({"compute": 100, "memory": 500, "dominant": 500}, 500)
    assert (said["amount_per_hour"], said["amount_total"]) == ("1.6000", "6.40")


def test_an_open_end_has_no_total_and_holds_the_price_for_a_day(ada: Buyer) -> None:
    said = quote(ada, starts_at=tomorrow()["starts_at"], ends_at=None)
    assert (said["amount_total"], said["amount_per_hour"]) == (None, "0.8000")
    until = datetime.fromisoformat(said["price_terms"]["until"])
    assert until - datetime.fromisoformat(said["starts_at"]) == timedelta(hours=24)


def test_what_does_not_fit_is_quoted_with_a_reason_and_ways(ada: Buyer, bo: Buyer, node: Node) -> None:
    times = tomorrow()
    taken = ada.post("reservations", ada.body(slice={"memory_mib": 6144, "share_permille": 750}, **times)).json()
    said = quote(bo, slice={"memory_mib": 4096, "share_permille": 500}, **times)
    refusal = said["refusal"]
    assert (said["fits"], said["device"], refusal["code"]) == (False, None, "no_capacity")
    assert refusal["constraints"] == {"memory_and_compute": 1}
    assert refusal["next_free_at"] == said["earliest_start_at"] == taken["ends_at"]
    later, smaller = refusal["alternatives"][0], refusal["alternatives"][1]
    assert (later["kind"], later["starts_at"], later["device"]) == (
        "later", taken["ends_at"], encode("dev", node.device().id),
    )  # fmt: skip
    assert (smaller["kind"], smaller["starts_at"], smaller["slice"]) == (
        "smaller", said["starts_at"], {"memory_mib": 2048, "share_permille": 250},
    )  # fmt: skip
    assert (said["amount_per_hour"], said["quota"]["ok"]) == ("1.6000", True)
    refused = bo.post("reservations", {"quote": said["id"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "quote_refused")


@pytest.mark.parametrize("number", [0, 1])
def test_every_alternative_can_be_bought_as_it_is_told(ada: Buyer, bo: Buyer, number: int) -> None:
    times = tomorrow()
    ada.post("reservations", ada.body(slice={"memory_mib": 6144, "share_permille": 750}, **times))
    way = quote(bo, slice={"memory_mib": 4096, "share_permille": 500}, **times)["refusal"]["alternatives"][number]
    asked = {name: way[name] for name in ("starts_at", "ends_at", "device", "slice")}
    made = bo.post("reservations", bo.body(**asked))
    assert (made.status_code, made.json()["slice"]) == (201, way["slice"])


def test_a_quote_and_a_purchase_refuse_alike(ada: Buyer, bo: Buyer) -> None:
    times = tomorrow()
    ada.post("reservations", ada.body(slice={"memory_mib": 6144, "share_permille": 750}, **times))
    wish = {"slice": {"memory_mib": 4096, "share_permille": 500}, **times}
    told, refused = quote(bo, **wish)["refusal"], bo.post("reservations", bo.body(**wish)).json()
    same = ("code", "detail", "suggestion", "constraints", "nearest", "alternatives")
    assert {name: told[name] for name in same} == {name: refused[name] for name in same}


def test_an_expired_quote_is_refused_with_the_terms_of_now(ada: Buyer) -> None:
    said = quote(ada, **tomorrow())
    Quote.objects.update(created_at=now() - HOUR, expires_at=now() - timedelta(seconds=1))
    make_price("6.40", sku="cpu", valid_from=now(), ends_previous=True, book_id=_book(), now=now())
    answer = ada.post("reservations", {"quote": said["id"]})
    refused = answer.json()
    assert (answer.status_code, refused["code"]) == (409, "quote_expired")
    assert (refused["now"]["fits"], refused["now"]["amount_total"]) == (True, "6.40")
    assert Reservation.objects.count() == 0


def _book() -> Any:
    from marketplace.models import Price

    return Price.objects.get(sku="cpu", meter="delivered").book_id


def test_a_price_that_changed_meanwhile_is_held(ada: Buyer) -> None:
    said = quote(ada)
    make_price(
        "6.40", sku="cpu", valid_from=now() + timedelta(seconds=1), ends_previous=True, book_id=_book(), now=now()
    )
    made = ada.post("reservations", {"quote": said["id"]}).json()
    assert made["price"]["unit_price"] == "3.2000000000"
    assert Decimal(made["amount_per_hour"]) == Decimal("0.8")


def test_another_tenants_quote_is_not_found(ada: Buyer, bo: Buyer) -> None:
    said = quote(ada, **tomorrow())
    for name in (said["id"], encode("quo", new_uuid())):
        answer = bo.post("reservations", {"quote": name})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_member_quotes_for_his_own_projects_only(ada: Buyer) -> None:
    member = make_member(by=ada.person, project=ada.project)
    theirs = make_project(by=ada.person)
    mine = Buyer(member, ada.project)
    assert quote(mine)["fits"]
    refused = mine.post("quotes", {**mine.body(), "project": encode("prj", theirs.pk)}, key=None)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    other = quote(Buyer(ada.person, theirs))
    assert mine.post("reservations", {"quote": other["id"]}).status_code == 404


def test_a_quota_that_is_too_small_says_so_and_what_is_left(ada: Buyer) -> None:
    make_operator().client.put("/api/v1/quotas", {
        "tenant": encode("ten", ada.tenant_id), "nominal_permille": 100, "nominal_mib": 8192, "max_reservations": 9,
    }, format="json")  # fmt: skip
    said = quote(ada)
    assert (said["fits"], said["refusal"]["code"], said["quota"]["ok"]) == (False, "quota_exceeded", False)
    assert said["refusal"]["constraints"] == {"quota_share_permille": 1}
    assert said["quota"]["share_permille_left"] == 100
    smaller = said["refusal"]["nearest"][0]
    assert smaller == {"memory_mib": 2048, "share_permille": 100}
    assert quote(ada, slice=smaller)["fits"]


def test_the_quoted_device_or_one_that_is_the_same(ada: Buyer, bo: Buyer, node: Node) -> None:
    said = quote(ada, slice={"memory_mib": 8192, "share_permille": 1000})
    bo.post("reservations", bo.body(slice={"memory_mib": 1, "share_permille": 1}, device=said["device"]))
    Node(now=now(), devices=[make_device(isolation=Isolation.ADVISORY)])
    refused = ada.post("reservations", {"quote": said["id"]}).json()
    assert (refused["code"], refused["constraints"]) == ("no_capacity", {"other_terms": 1})
    twin = Node(now=now())
    made = ada.post("reservations", {"quote": said["id"]}).json()
    assert made["lease"]["device"] == encode("dev", twin.device().id)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"quote": "quo_nonsense"}, 400, "invalid_input"),
        ({"quote": encode("quo", new_uuid()), "slice": {"memory_mib": 1, "share_permille": 1}}, 400, "invalid_input"),
        ({"quote": encode("quo", new_uuid()), "queue": True}, 400, "invalid_input"),
        ({"quote": encode("quo", new_uuid()), "name": "x" * 201}, 400, "invalid_input"),
        ({}, 400, "invalid_input"),
    ],
)
def test_a_purchase_by_quote_takes_nothing_beside_it(ada: Buyer, body: Any, status: int, code: str) -> None:
    answer = ada.post("reservations", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.json()


@pytest.mark.parametrize(
    ("over", "status", "code"),
    [
        ({"project": encode("prj", new_uuid())}, 404, "not_found"),
        ({"project": None}, 400, "invalid_input"),
        ({"slice": {"memory_mib": 2048, "share_permille": 10**30}}, 422, "wrong_size"),
        ({"slice": {"memory_mib": 10**30, "share_permille": 1}}, 422, "wrong_size"),
        ({"slice": None}, 422, "wrong_choice"),
        ({"capacity_mib": 10**6}, 400, "invalid_input"),
        ({"fits": True}, 400, "invalid_input"),
        ({"starts_at": "2026-10-25T02:30:00"}, 400, "invalid_input"),
        ({"starts_at": (datetime.now(UTC) - HOUR).isoformat()}, 422, "wrong_period"),
        ({"offer": encode("off", new_uuid()), "slice": None}, 404, "not_found"),
    ],
)
def test_a_bad_wish_is_refused(ada: Buyer, over: dict[str, Any], status: int, code: str) -> None:
    answer = ada.post("quotes", ada.body(**over), key=None)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.json()
    assert answer.json()["suggestion"]
    assert Quote.objects.count() == 0


def test_a_name_may_be_long_and_of_any_script(ada: Buyer) -> None:
    name = "تجربة — 夜间训练 " * 12
    made = ada.post("reservations", ada.body(name=name[:200])).json()
    assert made["name"] == name[:200].strip()
    path = f"reservations/{made['id']}"
    renamed = ada.person.client.patch(f"/api/v1/{path}", {"name": "二号"}, format="json")
    assert (renamed.status_code, ada.get(path).json()["name"]) == (200, "二号")
    assert ada.person.client.patch(f"/api/v1/{path}", {"name": "a\x00b"}, format="json").status_code == 400
    assert ada.person.client.patch(f"/api/v1/{path}", {"name": "x" * 201}, format="json").status_code == 400
