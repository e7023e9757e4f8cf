"""Lists as the console asks for them: by states, by name; and the shelf with what is free, when and at which price."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.identity.factories import make_operator
from tests.marketplace.factories import HOUR, Buyer, make_book, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode, new_uuid

pytestmark = pytest.mark.usefixtures("system")
BIT = {"memory_mib": 1, "share_permille": 1}


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def ada() -> Buyer:
    make_price("3.20")
    Node(now=now())
    return make_buyer(now=now())


def listed(buyer: Buyer, query: str) -> list[str]:
    answer = buyer.get(f"reservations?{query}")
    assert answer.status_code == 200, answer.json()
    return [row["id"] for row in answer.json()["items"]]


def test_reservations_by_states_and_by_name(ada: Buyer) -> None:
    night = ada.post("reservations", ada.body(slice=BIT, name="Nightly Träining")).json()["id"]
    day = ada.post("reservations", ada.body(slice=BIT, name="100% day")).json()["id"]
    ended = ada.post("reservations", ada.body(slice=BIT)).json()["id"]
    ada.post(f"reservations/{ended}/release", {})
    assert set(listed(ada, "state=live")) == {night, day}
    assert listed(ada, "state=cancelled") == [ended]
    assert set(listed(ada, "state=cancelled,confirmed")) == {night, day, ended}
    assert set(listed(ada, "state=cancelled&state=live")) == {night, day, ended}
    assert listed(ada, "q=träin") == [night]
    assert listed(ada, "q=%25") == [day]
    assert listed(ada, f"q={day}") == [day]
    assert listed(ada, "sort=-name") == [night, day, ended]
    assert listed(ada, f"q={encode('rsv', new_uuid())}") == []


@pytest.mark.parametrize("query", ["state=sleeping", "state=live,sleeping", f"q={'x' * 201}", "q=%00", "sort=state"])
def test_a_bad_filter_is_refused(ada: Buyer, query: str) -> None:
    answer = ada.get(f"reservations?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")


def test_a_queued_wish_has_no_cost_and_no_device(ada: Buyer) -> None:
    ada.post("reservations", ada.body(slice={"memory_mib": 8192, "share_permille": 1000}))
    made = ada.post("reservations", ada.body(queue=True)).json()
    assert made["state"] == "queued"
    assert [made[name] for name in ("cost_so_far", "amount_per_hour", "device", "isolation", "quote")] == [None] * 5


def test_a_booked_one_shows_what_it_is_and_costs(ada: Buyer) -> None:
    made = ada.post("reservations", ada.body()).json()
    assert (made["amount_per_hour"], made["isolation"]) == ("0.8000", "limiter-strict")
    assert (made["device"]["model"], made["device"]["simulated"]) == ("Test CPU", False)
    assert (made["cost_so_far"]["amount"], made["cost_so_far"]["currency"]) == ("0.0000", "EUR")
    assert made["price_terms"] == {"code": "list_at_delivery", "until": None}


def shelf(buyer: Buyer) -> dict[str, Any]:
    (offer,) = buyer.get("offers").json()["items"]
    found: dict[str, Any] = offer
    return found


def put_on_shelf() -> None:
    body = {"sku": "cpu-quarter", "title": "A quarter", "device_kind": "cpu",
            "slice": {"memory_mib": 2048, "share_permille": 250}}  # fmt: skip
    assert make_operator().client.post("/api/v1/offers", body, format="json").status_code == 201


def test_an_offer_shows_what_is_free_and_when_it_starts(ada: Buyer) -> None:
    put_on_shelf()
    offer = shelf(ada)
    assert (offer["preset"], offer["free"]) == ("1/4", {"memory_mib": 8192, "share_permille": 1000})
    assert abs(datetime.fromisoformat(offer["earliest_start_at"]) - now()) < timedelta(minutes=1)
    taken = ada.post("reservations", ada.body(slice={"memory_mib": 8000, "share_permille": 900})).json()
    offer = shelf(ada)
    assert offer["free"] == {"memory_mib": 192, "share_permille": 100}
    assert offer["earliest_start_at"] == taken["ends_at"]


def test_the_price_line_has_the_steps_of_yesterday_and_of_the_days_ahead(ada: Buyer) -> None:
    put_on_shelf()
    tomorrow = (now() + timedelta(days=1)).replace(microsecond=0)
    book = make_book().pk
    make_price("9.99", sku="cpu-quarter", book_id=book, valid_from=tomorrow, valid_until=tomorrow + HOUR, now=now())
    line = shelf(ada)["price_line"]
    assert [step["unit_price"] for step in line] == ["3.2000000000", "9.9900000000", "3.2000000000"]
    assert [datetime.fromisoformat(step["at"]) for step in line[1:]] == [tomorrow, tomorrow + HOUR]
    assert now() - datetime.fromisoformat(line[0]["at"]) > timedelta(hours=23, minutes=59)
    assert Decimal(shelf(ada)["price"]["unit_price"]) == Decimal("3.20")


def test_what_is_not_sold_is_told_as_such(ada: Buyer) -> None:
    put_on_shelf()
    poor = make_buyer(now=now(), currency="JPY")
    offer = shelf(poor)
    assert (offer["price"], [step["unit_price"] for step in offer["price_line"]]) == (None, [None])
    answer = poor.post("quotes", poor.body(), key=None).json()
    assert (answer["fits"], answer["refusal"]["code"], answer["amount_total"]) == (False, "no_price", None)
