"""Near a site: the wish is taken at the door, kept by a quote and in line, and told in "why here"."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from allocator.services import pools
from marketplace.models import Quote, Reservation
from tests.marketplace.factories import Buyer, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode

pytestmark = pytest.mark.usefixtures("system")
NAMES = ("bergen", "oslo", "turku")


@pytest.fixture
def nodes() -> dict[str, Node]:
    """One at each of three sites; Oslo knows how far the others are."""
    make_price()
    now, found = datetime.now(UTC), {}
    for name in NAMES:
        pools.make_site(name=name, now=now, latency_ms={"bergen": 8, "turku": 20} if name == "oslo" else {})
        found[name] = Node(now=now)
        pools.describe_node(node_id=found[name].id, changes={"site": name}, actor="user:test", now=now)
    return found


@pytest.fixture
def ada(nodes: dict[str, Node]) -> Buyer:
    return make_buyer(now=datetime.now(UTC))


def whole(buyer: Buyer, near: str, **over: Any) -> dict[str, Any]:
    return buyer.body(slice={"memory_mib": 8192, "share_permille": 1000}, near=near, **over)


def test_the_nearest_site_that_has_room_is_taken_and_told(ada: Buyer, nodes: dict[str, Node]) -> None:
    placed = [ada.post("reservations", whole(ada, "oslo")).json() for _ in NAMES]
    wanted = [encode("dev", nodes[name].device().id) for name in ("oslo", "bergen", "turku")]
    assert [one["device"]["id"] for one in placed] == wanted
    why = ada.get(f"reservations/{placed[1]['id']}/placement").json()
    (term,) = [one for one in why["terms"] if one["name"] == "latency"]
    assert term["value"] == -5 * 8
    assert "oslo" in term["text"]


def test_an_unknown_site_is_refused_with_those_that_there_are(ada: Buyer) -> None:
    for door in ("reservations", "quotes"):
        refused = ada.post(door, ada.body(near="atlantis"))
        assert (refused.status_code, refused.json()["code"]) == (422, "wrong_choice")
        assert refused.json()["suggestion"] == f"One of: {', '.join(NAMES)}."


def test_a_quote_keeps_all_of_the_wish(ada: Buyer, nodes: dict[str, Node]) -> None:
    asked = whole(ada, "turku", models=["Test CPU"], cores_milli=0, host_mib=0, copy_permille=1)
    made = ada.post("quotes", asked).json()
    row = Quote.objects.get()
    assert (row.near, row.device_models, row.copy_permille) == ("turku", ["Test CPU"], 1)
    bought = ada.post("reservations", {"quote": made["id"]}).json()
    assert bought["device"]["id"] == encode("dev", nodes["turku"].device().id)
    assert Reservation.objects.get().near == "turku"
