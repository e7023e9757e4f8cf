"""Offers, price books, quotas and the device identity over REST."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.identity.factories import Person, make_member, make_operator
from tests.marketplace.factories import Buyer, make_buyer
from tests.marketplace.node import Node, make_device
from vxpu.ids import encode
from vxpu.states import Quality
from vxpu.wire.node import Reading

pytestmark = pytest.mark.usefixtures("system")


@pytest.fixture
def operator() -> Person:
    return make_operator()


@pytest.fixture
def ada() -> Buyer:
    return make_buyer(now=datetime.now(UTC))


def publish(operator: Person, **over: object) -> dict[str, object]:
    book = operator.client.post("/api/v1/price-books", {"name": f"List {over}", "currency": "EUR"}, format="json")
    assert book.status_code == 201, book.json()
    path = f"/api/v1/price-books/{book.json()['id']}/prices"
    made = operator.client.post(path, {"sku": "cpu", "unit_price": "36", **over}, format="json")
    assert made.status_code == 201, made.json()
    return dict(made.json())


def test_the_operator_publishes_a_price_and_ends_it(operator: Person) -> None:
    price = publish(operator)
    assert (price["meter"], price["unit_price"], price["currency"]) == ("delivered", "36.0000000000", "EUR")
    assert price["valid_until"] is None
    ended = operator.client.post(f"/api/v1/prices/{price['id']}/end", {}, format="json")
    assert ended.status_code in {200, 409}, ended.json()  # 409 in the very second in which it began
    again = operator.client.get(f"/api/v1/price-books/{price['book']}/prices").json()["items"]
    assert sorted(row["meter"] for row in again) == ["delivered", "reserved"]


def test_a_second_price_needs_the_first_to_end(operator: Person) -> None:
    price = publish(operator, valid_from="2026-01-01T00:00:00Z")
    path = f"/api/v1/price-books/{price['book']}/prices"
    at = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    body = {"sku": "cpu", "unit_price": "40", "valid_from": at}
    refused = operator.client.post(path, body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "price_overlaps")
    made = operator.client.post(path, {**body, "ends_previous": True}, format="json")
    assert made.status_code == 201
    rows = operator.client.get(path).json()["items"]
    assert {row["valid_until"] for row in rows if row["unit_price"].startswith("36")} == {made.json()["valid_from"]}


def test_an_offer_shows_price_isolation_and_whether_it_is_simulated(operator: Person, ada: Buyer) -> None:
    body = {
        "sku": "cpu-quarter", "title": "A quarter", "profile": "1/4", "device_kind": "cpu",
        "slice": {"memory_mib": 2048, "share_permille": 250},
    }  # fmt: skip
    assert operator.client.post("/api/v1/offers", body, format="json").json()["price"] is None
    assert operator.client.post("/api/v1/offers", body, format="json").json()["code"] == "offer_exists"
    publish(operator)
    Node(now=datetime.now(UTC))
    (offer,) = ada.get("offers").json()["items"]
    assert (offer["price"]["unit_price"], offer["isolation"], offer["simulated"]) == (
        "36.0000000000", ["limiter-strict"], False,
    )  # fmt: skip
    made = ada.post("reservations", ada.body(offer=offer["id"], slice=None, device_kind=None))
    assert (made.status_code, made.json()["slice"]) == (201, body["slice"])
    both = ada.post("reservations", ada.body(offer=offer["id"]))
    assert (both.status_code, both.json()["code"]) == (422, "wrong_choice")


@pytest.mark.parametrize(("hot", "health"), [((80, 90), 80), ((None, 90), 40), ((None, None), None)])
def test_an_offer_shows_the_health_of_its_best_device(
    operator: Person, ada: Buyer, hot: tuple[int | None, int | None], health: int | None
) -> None:
    body = {
        "sku": "cpu-quarter", "title": "A quarter", "profile": "1/4", "device_kind": "cpu",
        "slice": {"memory_mib": 2048, "share_permille": 250},
    }  # fmt: skip
    operator.client.post("/api/v1/offers", body, format="json")
    now = datetime.now(UTC)
    for value in hot:
        quality = Quality.UNAVAILABLE if value is None else Quality.MEASURED
        reading = Reading(value=value, at=None if value is None else now, quality=quality)
        Node(now=now, devices=[make_device(readings={"temperature_c": reading})])
    (offer,) = ada.get("offers").json()["items"]
    assert offer["health"] == health


def test_quotas_show_what_is_in_use(operator: Person, ada: Buyer) -> None:
    publish(operator)
    Node(now=datetime.now(UTC))
    ada.post("reservations", ada.body())
    (row,) = ada.get("quotas").json()["items"]
    assert row["in_use"] == {"share_permille": 250, "memory_mib": 2048, "reservations": 1}
    limit = {"nominal_permille": 300, "nominal_mib": 4096, "max_reservations": 9}
    body = {"tenant": encode("ten", ada.tenant_id), **limit}
    assert operator.client.put("/api/v1/quotas", body, format="json").json()["nominal_permille"] == 300
    refused = ada.post("reservations", ada.body())
    assert (refused.status_code, refused.json()["code"]) == (409, "quota_exceeded")
    assert (refused.json()["nominal"], refused.json()["in_use"], refused.json()["asked"]) == (300, 250, 250)


def test_an_admin_divides_among_projects_and_nobody_else_does(ada: Buyer) -> None:
    limit = {"nominal_permille": 100, "nominal_mib": 10, "max_reservations": 1}
    project = {"project": ada.project_name, **limit}
    assert ada.person.client.put("/api/v1/quotas", project, format="json").status_code == 200
    assert ada.person.client.put("/api/v1/quotas", limit, format="json").status_code == 403
    member = make_member(by=ada.person, project=ada.project)
    assert member.client.put("/api/v1/quotas", project, format="json").status_code == 403
    other = make_buyer(now=datetime.now(UTC))
    foreign = {"project": other.project_name, **limit}
    assert ada.person.client.put("/api/v1/quotas", foreign, format="json").status_code == 404
    theirs = {**foreign, "tenant": encode("ten", other.tenant_id)}
    assert ada.person.client.put("/api/v1/quotas", theirs, format="json").status_code == 404


def test_the_device_identity_over_rest(operator: Person) -> None:
    publish(operator, valid_from="2026-01-01T00:00:00Z")
    node = Node(now=datetime.now(UTC))
    to = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    query = {"device": encode("dev", node.device().id), "from": (to - timedelta(hours=1)).isoformat(),
             "to": to.isoformat()}  # fmt: skip
    said = operator.client.get("/api/v1/reconciliation", query).json()
    assert (said["cost"], said["charged"], said["idle"], said["over_recovery"]) == ("36.00", "0.00", "36.00", "0.00")
    assert said["permille_seconds"] == {
        "charged": 0, "idle": 3_600_000, "over_recovery": 0, "total": 3_600_000, "cut": 0,
    }  # fmt: skip


def test_offers_and_quotas_come_in_pages(operator: Person, ada: Buyer) -> None:
    body = {"title": "t", "device_kind": "cpu", "slice": {"memory_mib": 1, "share_permille": 1}}
    for sku in ("b", "c", "a"):
        assert operator.client.post("/api/v1/offers", {"sku": sku, **body}, format="json").status_code == 201
    first = ada.get("offers?limit=2").json()
    last = ada.get(f"offers?limit=2&cursor={first['next']}").json()
    assert [[row["sku"] for row in page["items"]] for page in (first, last)] == [["a", "b"], ["c"]]
    assert last["next"] is None
    assert ada.get("offers?limit=201").status_code == ada.get("quotas?limit=0").status_code == 400
    assert len(ada.get("quotas?limit=1").json()["items"]) == 1


def test_who_reads_offers_may_ask_for_their_head(ada: Buyer) -> None:
    assert ada.person.client.head("/api/v1/offers").status_code == 200
