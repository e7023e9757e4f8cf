"""The quota tree and the queue over REST: who may set what, bad input, and what a waiting tenant is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.identity.factories import Person, make_operator
from tests.marketplace.factories import Buyer, make_buyer, make_price
from tests.marketplace.node import Node
from vxpu.ids import encode

pytestmark = pytest.mark.usefixtures("system")
QUOTA = {"nominal_permille": 1000, "nominal_mib": 8192, "max_reservations": 9}


@pytest.fixture
def operator() -> Person:
    return make_operator()


@pytest.fixture
def ada() -> Buyer:
    make_price()
    Node(now=datetime.now(UTC))
    return make_buyer(now=datetime.now(UTC))


def make_cohort(operator: Person, **over: Any) -> Any:
    return operator.client.post("/api/v1/cohorts", {"name": "House", **over}, format="json")


def test_the_operator_builds_a_tree_and_sees_what_is_held(operator: Person, ada: Buyer) -> None:
    root = make_cohort(operator, nominal_permille=500).json()
    team = make_cohort(operator, name="Team", parent_cohort=root["id"], borrow_permille=None, weight=3).json()
    tenant = encode("ten", ada.tenant_id)
    body = {**QUOTA, "tenant": tenant, "cohort": team["id"], "borrow_permille": 250}
    quota = operator.client.put("/api/v1/quotas", body, format="json").json()
    assert (quota["cohort"], quota["borrow_permille"], quota["lend_permille"]) == (team["id"], 250, None)
    assert ada.post("reservations", ada.body()).status_code == 201
    rows = {row["name"]: row for row in operator.client.get("/api/v1/cohorts").json()["items"]}
    assert rows["House"]["quota"]["share_permille"] == 1500
    assert rows["Team"]["in_use"] == {"share_permille": 250, "memory_mib": 2048}
    assert [one["tenant"] for one in rows["Team"]["tenants"]] == [tenant]
    moved = operator.client.patch(f"/api/v1/cohorts/{root['id']}", {"parent_cohort": team["id"]}, format="json")
    assert (moved.status_code, moved.json()["code"]) == (409, "cohort_refused")


def test_only_the_operator_touches_the_tree(operator: Person, ada: Buyer) -> None:
    assert ada.get("cohorts").status_code == 403
    house = make_cohort(operator).json()
    assert make_cohort(operator).json()["code"] == "cohort_exists"
    body = {**QUOTA, "project": ada.project_name, "cohort": house["id"]}
    assert ada.person.client.put("/api/v1/quotas", body, format="json").status_code == 403
    mine = {**QUOTA, "project": ada.project_name, "weight": 2}
    assert ada.person.client.put("/api/v1/quotas", mine, format="json").json()["weight"] == 2


def test_a_name_is_given_once_and_a_branch_stays_within_eight_levels(operator: Person) -> None:
    ids = [make_cohort(operator, name="0").json()["id"]]
    for level in range(1, 9):
        made = make_cohort(operator, name=str(level), parent_cohort=ids[-1] if level != 4 else None)
        ids.append(made.json()["id"])
    renamed = operator.client.patch(f"/api/v1/cohorts/{ids[1]}", {"name": "0"}, format="json")
    assert (renamed.status_code, renamed.json()["code"]) == (409, "cohort_exists")
    # Four levels above, five in the branch.
    moved = operator.client.patch(f"/api/v1/cohorts/{ids[4]}", {"parent_cohort": ids[3]}, format="json")
    assert (moved.status_code, moved.json()["code"]) == (409, "cohort_refused")
    moved = operator.client.patch(f"/api/v1/cohorts/{ids[4]}", {"parent_cohort": ids[2]}, format="json")
    assert moved.json()["parent_cohort"] == ids[2]


def test_an_empty_cohort_can_be_deleted_and_no_other(operator: Person, ada: Buyer) -> None:
    root = make_cohort(operator).json()
    team = make_cohort(operator, name="Team", parent_cohort=root["id"]).json()
    tenant = {**QUOTA, "tenant": encode("ten", ada.tenant_id)}
    operator.client.put("/api/v1/quotas", {**tenant, "cohort": team["id"]}, format="json")
    for cohort, told in ((root, (0, 1)), (team, (1, 0))):
        refused = operator.client.delete(f"/api/v1/cohorts/{cohort['id']}")
        assert (refused.status_code, refused.json()["code"]) == (409, "cohort_in_use")
        assert (refused.json()["tenants"], refused.json()["cohorts"]) == told
    operator.client.put("/api/v1/quotas", {**tenant, "cohort": None}, format="json")
    assert ada.person.client.delete(f"/api/v1/cohorts/{team['id']}").status_code == 403
    for cohort in (team, root):
        assert operator.client.delete(f"/api/v1/cohorts/{cohort['id']}").status_code == 204
    assert operator.client.delete(f"/api/v1/cohorts/{root['id']}").status_code == 404
    assert operator.client.get("/api/v1/cohorts").json()["items"] == []
    kinds = [one["kind"] for one in operator.client.get("/api/v1/events").json()["items"]]
    assert kinds.count("cohort.deleted") == 2


@pytest.mark.parametrize(
    "wrong", [{"weight": 0}, {"borrow_permille": -1}, {"parent_cohort": "coh_x"}, {"name": ""}, {"more": 1}]
)
def test_bad_input_is_refused(operator: Person, wrong: dict[str, Any]) -> None:
    assert make_cohort(operator, **wrong).status_code == 400
    assert operator.client.patch("/api/v1/cohorts/coh_x", {}, format="json").status_code == 404


def test_a_waiting_tenant_is_told_place_reason_and_class(ada: Buyer) -> None:
    whole = {"memory_mib": 8192, "share_permille": 1000}
    ada.post("reservations", ada.body(slice=whole, ends_at=None))
    queued = ada.post("reservations", ada.body(slice=whole, queue=True, priority="low"))
    assert (queued.status_code, queued.json()["priority"]) == (202, "low")
    told = queued.json()["queue"]
    assert (told["worst"], told["attempts"], told["next_try_at"]) == (1, 0, None)
    assert (told["estimated_start_at"], told["estimated_start_by"]) == (None, None)
    assert ada.post("reservations", ada.body(priority="soon")).status_code == 400
    refused = ada.post("reservations", ada.body(slice=whole, queue=True, priority="urgent", project=ada.project_name))
    assert refused.status_code == 202
    again = ada.post("reservations", ada.body(slice=whole, queue=True, priority="urgent"))
    assert (again.status_code, again.json()["resource"]) == (409, "urgent_permille")
