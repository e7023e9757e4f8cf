"""Bad input at each door: a problem document with a code, and nothing stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from allocator import facade as allocator
from marketplace.models import Offer, Price, PriceBook, Quota, Reservation
from tests.identity.factories import Person, make_operator
from tests.marketplace.factories import HOUR, Buyer, make_book, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode, new_uuid

pytestmark = pytest.mark.usefixtures("system")
HUGE = 10**30


def iso(**ahead: float) -> str:
    return (datetime.now(UTC) + timedelta(**ahead)).isoformat()


@pytest.fixture
def ada() -> Buyer:
    make_price("3.20")
    Node(now=datetime.now(UTC))
    return make_buyer(now=datetime.now(UTC))


@pytest.fixture
def operator() -> Person:
    return make_operator()


@pytest.mark.parametrize(
    ("over", "status", "code"),
    [
        ({"project": "prj_nonsense"}, 400, "invalid_input"),
        ({"project": None}, 400, "invalid_input"),
        ({"project": encode("prj", new_uuid())}, 404, "not_found"),
        ({"slice": {"memory_mib": 2048}}, 400, "invalid_input"),
        ({"slice": {"memory_mib": "2048", "share_permille": 250}}, 400, "invalid_input"),
        ({"slice": {"memory_mib": 1.5, "share_permille": 250}}, 400, "invalid_input"),
        ({"slice": {"memory_mib": True, "share_permille": 250}}, 400, "invalid_input"),
        ({"slice": {"memory_mib": HUGE, "share_permille": 250}}, 422, "wrong_size"),
        ({"slice": {"memory_mib": 2048, "share_permille": HUGE}}, 422, "wrong_size"),
        ({"slice": {"memory_mib": 0, "share_permille": 250}}, 422, "wrong_size"),
        ({"slice": {"memory_mib": -1, "share_permille": 250}}, 422, "wrong_size"),
        ({"slice": {"memory_mib": 2048, "share_permille": 1001}}, 422, "wrong_size"),
        ({"slice": None}, 422, "wrong_choice"),
        ({"capacity_mib": 10**6}, 400, "invalid_input"),
        ({"count": 10**9}, 400, "invalid_input"),
        ({"device_kind": "toaster"}, 422, "wrong_choice"),
        ({"isolation_at_least": "promise"}, 422, "wrong_choice"),
        ({"policy": "mine"}, 422, "wrong_choice"),
        ({"offer": encode("off", new_uuid()), "slice": None}, 404, "not_found"),
        ({"device": "nod_01h2xcejqtf2nbrexx3vqjhp41"}, 400, "invalid_input"),
        ({"starts_at": "2026-10-25T02:30:00"}, 400, "invalid_input"),
        ({"starts_at": "yesterday"}, 400, "invalid_input"),
        ({"starts_at": "9999-12-31T23:59:59-14:00"}, 400, "invalid_input"),
        ({"starts_at": iso(hours=-1)}, 422, "wrong_period"),
        ({"starts_at": iso(hours=2)}, 422, "wrong_period"),
        ({"ends_at": iso(days=5000)}, 422, "wrong_period"),
        ({"queue": "perhaps"}, 400, "invalid_input"),
    ],
)
def test_a_bad_reservation_is_refused(ada: Buyer, over: dict[str, Any], status: int, code: str) -> None:
    answer = ada.post("reservations", ada.body(**over))
    said = answer.json()
    assert (answer.status_code, said["code"]) == (status, code), said
    assert answer["Content-Type"] == "application/problem+json"
    assert said["suggestion"]
    assert said["request_id"]
    assert Reservation.objects.count() == 0
    assert allocator.list_leases(owners=[]) == []


def test_the_field_is_named(ada: Buyer) -> None:
    said = ada.post("reservations", ada.body(capacity_mib=1)).json()
    assert said["errors"] == [
        {"pointer": "/capacity_mib", "code": "unknown_field", "detail": "There is no such field."}
    ]


@pytest.mark.parametrize("body", [b"{", b"[]", b"nonsense", b'{"project": "' + b"x" * 10_000 + b'"}'])
def test_a_body_that_is_no_object_is_refused(ada: Buyer, body: bytes) -> None:
    answer = ada.person.client.post(
        "/api/v1/reservations", body, content_type="application/json", headers={"Idempotency-Key": "k"}
    )
    assert answer.status_code == 400
    assert answer.json()["code"] in {"malformed_request", "invalid_input"}


def test_bad_changes_are_refused_and_change_nothing(ada: Buyer) -> None:
    path = f"reservations/{ada.post('reservations', ada.body()).json()['id']}"
    before = ada.get(path).json() | {"cost_so_far": None}  # it says of when it is
    bad: list[tuple[str, Any, int]] = [
        ("resize", {}, 400), ("resize", {"slice": {"memory_mib": 1, "share_permille": 5000}}, 422),
        ("resize", {"slice": {"memory_mib": 10**6, "share_permille": 250}}, 409),
        ("resize", {"slice": {"memory_mib": 1, "share_permille": 1}, "force": True}, 400),
        ("extend", {}, 400), ("extend", {"ends_at": iso(minutes=5)}, 422), ("extend", {"ends_at": iso(days=9999)}, 422),
        ("extend", {"ends_at": "2027-01-01T00:00:00"}, 400),
        ("release", {"refund": True}, 400), ("start-earlier", {"now": True}, 400), ("start-earlier", {}, 409),
    ]  # fmt: skip
    for action, body, status in bad:
        answer = ada.post(f"{path}/{action}", body)
        assert (answer.status_code, action, body) == (status, action, body), answer.json()
        assert {"code", "detail", "suggestion", "request_id"} <= answer.json().keys()
    assert ada.get(path).json() | {"cost_so_far": None} == before


def test_bad_catalogue_input_is_refused(ada: Buyer, operator: Person) -> None:
    book = encode("pbk", make_book().pk)
    size = {"memory_mib": 1, "share_permille": 1}
    bad: list[tuple[str, str, Any, int]] = [
        ("post", "offers", {"sku": "a b", "title": "x", "device_kind": "cpu", "slice": size}, 400),
        ("post", "offers", {"sku": "a", "title": "x", "device_kind": "toaster", "slice": size}, 422),
        ("post", "offers", {"sku": "a", "title": "x", "device_kind": "cpu", "slice": {**size, "memory_mib": 0}}, 422),
        ("post", "price-books", {"name": "x", "currency": "euro"}, 400),
        ("post", "price-books", {"name": "x", "currency": "EUR", "tenant": encode("ten", new_uuid())}, 404),
        ("post", f"price-books/{book}/prices", {"sku": "cpu", "unit_price": "free"}, 400),
        ("post", f"price-books/{book}/prices", {"sku": "cpu", "unit_price": "-1"}, 422),
        ("post", f"price-books/{book}/prices", {"sku": "cpu", "unit_price": "NaN"}, 400),
        ("post", f"price-books/{book}/prices", {"sku": "cpu", "unit_price": "1", "meter": "mood"}, 400),
        ("post", f"price-books/{encode('pbk', new_uuid())}/prices", {"sku": "x", "unit_price": "1"}, 404),
        ("post", f"prices/{encode('prc', new_uuid())}/end", {}, 404),
        ("put", "quotas", {"nominal_permille": -1, "nominal_mib": 1, "max_reservations": 1}, 400),
        ("put", "quotas", {"nominal_permille": HUGE, "nominal_mib": 1, "max_reservations": 1}, 400),
        ("put", "quotas", {"nominal_permille": 1, "nominal_mib": 1, "max_reservations": 1,
                           "tenant": encode("ten", new_uuid())}, 404),
    ]  # fmt: skip
    stored = [model.objects.count() for model in (Offer, PriceBook, Price, Quota)]
    for method, path, body, status in bad:
        answer = getattr(operator.client, method)(f"/api/v1/{path}", body, format="json")
        assert (answer.status_code, path, body) == (status, path, body), answer.json()
        assert answer["Content-Type"] == "application/problem+json"
    assert [model.objects.count() for model in (Offer, PriceBook, Price, Quota)] == stored


def test_bad_questions_are_refused(ada: Buyer, operator: Person) -> None:
    device = encode("dev", new_uuid())
    whole = f"from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00Z&device={device}"
    bad = [
        ("reconciliation", 400), (f"reconciliation?{whole.replace(device, 'dev_x')}", 400),
        (f"reconciliation?{whole}", 404), (f"reconciliation?{whole.replace('01:00:00Z', '00:00:00Z')}", 422),
        (f"reconciliation?{whole.replace('T00:00:00Z', 'T00:00:00')}", 400),
        ("reservations?limit=0", 400), ("reservations?cursor=x", 400), ("reservations?sort=secret", 400),
        ("reservations?project=nonsense", 400), ("price-books/x/prices", 404),
    ]  # fmt: skip
    for path, status in bad:
        answer = operator.client.get(f"/api/v1/{path}")
        assert (path, answer.status_code) == (path, status), answer.json()
    assert HOUR


def test_a_tenant_may_not_do_what_is_the_operators(ada: Buyer) -> None:
    for method, path in (
        ("post", "offers"), ("get", "price-books"), ("post", "price-books"), ("get", "reconciliation"),
        ("post", f"prices/{encode('prc', new_uuid())}/end"), ("get", f"price-books/{encode('pbk', new_uuid())}/prices"),
    ):  # fmt: skip
        answer = getattr(ada.person.client, method)(f"/api/v1/{path}", {}, format="json")
        assert (path, answer.status_code, answer.json()["code"]) == (path, 403, "forbidden")


def test_nobody_is_asked_in(ada: Buyer) -> None:
    ada.person.client.credentials()
    from rest_framework.test import APIClient

    for path in ("reservations", "offers", "quotas", "price-books", "reconciliation"):
        assert APIClient().get(f"/api/v1/{path}").status_code == 401
