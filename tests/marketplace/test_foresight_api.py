"""Simulations and forecasts through the doors: for operators, with what the shop knows of who waited."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from allocator.errors import BadSimulation
from allocator.services import simulate
from marketplace.services.simulate_past import list_past_wishes
from plumbing.rowsec import system_scope
from tests.delivery import deliver
from tests.identity.factories import Person, make_operator
from tests.marketplace.factories import HOUR, NOON, buy, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode, new_uuid

pytestmark = pytest.mark.django_db
WHOLE: dict[str, Any] = {"memory_mib": 8192, "share_permille": 1000}


@pytest.fixture
def operator() -> Person:
    return make_operator()


@pytest.fixture
def node() -> Node:
    with system_scope():
        make_price()
        return Node(now=datetime.now(UTC))


def post(operator: Person, **body: Any) -> Any:
    headers = {"Idempotency-Key": new_uuid().hex}
    return operator.client.post("/api/v1/simulations", body, format="json", headers=headers)


def test_a_replay_is_asked_for_polled_and_called_off(operator: Person, node: Node) -> None:
    now = datetime.now(UTC)
    buy(make_buyer(now=now), now=now - timedelta(minutes=2), starts_at=now - timedelta(minutes=1), ends_at=now + HOUR)
    made = post(operator, trials=[{"whole_cards": True}, {"add_nodes": [{"like": encode("nod", node.id), "count": 1}]}])
    assert (made.status_code, made.data["state"], len(made.data["trials"])) == (202, "queued", 3)
    with system_scope():
        deliver()  # a trial at once; the beat sees to the others
    shown = operator.client.get(f"/api/v1/simulations/{made.data['id']}").data
    assert (shown["state"], shown["progress_permille"]) == ("running", 333)
    assert shown["trials"][0]["outcome"]["placed"] == 1
    assert shown["trials"][1]["outcome"] is None
    gone = operator.client.delete(f"/api/v1/simulations/{made.data['id']}")
    assert (gone.status_code, gone.data["state"]) == (200, "cancelled")
    assert [one["id"] for one in operator.client.get("/api/v1/simulations").data["items"]] == [made.data["id"]]


def test_others_and_bad_input_are_refused_with_a_reason(operator: Person, node: Node) -> None:
    ada = make_buyer()
    assert post(ada.person).status_code == ada.get("forecast").status_code == 403
    empty = post(operator)
    assert (empty.status_code, empty.data["code"]) == (400, "bad_simulation")
    assert post(operator, trials=[{"moves": "many"}]).status_code == 400
    assert post(operator, to="0001-01-01T00:00:00Z").data["errors"][0]["pointer"] == "/to"
    assert post(operator, trials=[{"remove_nodes": ["nod_x"]}]).status_code == 400
    assert operator.client.get("/api/v1/forecast?risk_permille=1001").status_code == 400


def test_the_forecast_says_when_it_promises_nothing(operator: Person, node: Node) -> None:
    (found,) = operator.client.get("/api/v1/forecast?hours=3").data["items"]
    assert (found["kind"], found["is_tested"], found["model"]) == ("cpu", False, "last_day")
    assert (found["values"], found["spot"], found["capacity_permille"]) == ([0, 0, 0], [0, 0, 0], 1000)


@pytest.mark.usefixtures("system")
def test_who_waited_is_a_request_too() -> None:
    make_price()
    Node(now=NOON)
    buy(make_buyer(), **WHOLE)
    buy(make_buyer(), queue=True, **WHOLE)
    ran, waited = list_past_wishes(from_at=NOON - HOUR, to_at=NOON + HOUR, now=NOON + HOUR)
    assert (ran.patience_s, waited.patience_s) == (0, 24 * 3600)
    assert waited.wish.period.ends_at == NOON + HOUR
    with pytest.raises(BadSimulation):
        simulate.begin(from_at=NOON, to_at=NOON, trials=[], known=[], actor="x", now=NOON)
    made = simulate.begin(
        from_at=NOON - HOUR, to_at=NOON + HOUR, trials=[], known=[ran, waited], actor="x", now=NOON + HOUR
    )
    simulate.run_next(now=NOON + HOUR)
    made.refresh_from_db()
    outcome = made.outcomes[0]
    assert (outcome["requests"], outcome["placed"], outcome["waiting"]) == (2, 1, 1)
