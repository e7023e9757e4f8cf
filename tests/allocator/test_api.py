"""The doors: who may, what they answer, and what a bad request leaves behind (nothing)."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from allocator import facade
from allocator.models import Enrolment, QuarantinedUsage, UsageWindow
from plumbing import db
from tests.allocator.factories import Node, make_wish, public_text
from tests.identity.factories import Person, client_for, make_operator, make_tenant
from vxpu.ids import encode, new_uuid
from vxpu.market import LeaseView

pytestmark = pytest.mark.usefixtures("system")


def minute() -> datetime:
    """The start of the running minute: doors read the clock themselves."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


@pytest.fixture
def ada() -> Person:
    return make_tenant()


@pytest.fixture
def node() -> Node:
    return Node(now=datetime.now(UTC))


@pytest.fixture
def operator() -> APIClient:
    return client_for(make_operator().secret)


def ready_lease(node: Node, *, tenant: Person) -> LeaseView:
    now = datetime.now(UTC) - timedelta(minutes=5)

    @db.transaction
    def booked() -> LeaseView:
        wish = make_wish(starts_at=now)
        candidates = facade.propose(wish=wish, now=now)
        return facade.book(
            tenant_id=tenant.tenant_id, owner=new_uuid(), wish=wish, candidates=candidates, hold_until=None, now=now
        )

    return node.start(booked(), now=now)


def post_usage(node: Node, events: list[Any], **headers: str) -> Any:
    body = gzip.compress(json.dumps(events).encode())
    sent = {
        "Authorization": f"Bearer {node.token(now=datetime.now(UTC))}", "Content-Encoding": "gzip",
        "VXPU-Signature": base64.b64encode(node.key.sign(body)).decode(), **headers,
    }  # fmt: skip
    return APIClient().post("/agent/v1/usage", body, content_type="application/json", headers=sent)


def test_an_operator_issues_a_token_and_a_node_enrols_with_it(operator: APIClient, node: Node) -> None:
    made = operator.post("/api/v1/enrolments", {"note": "rack 3"}, format="json")
    assert made.status_code == 201
    node.machine_id = new_uuid().hex
    message = node.enrol_message(made.json()["one_time_token"]).model_dump(mode="json")
    odd = APIClient().post("/agent/v1/enrol", {**message, "hostname": "a\0b"}, format="json")
    assert (odd.status_code, odd.json()["code"]) == (422, "bad_message")
    answer = APIClient().post("/agent/v1/enrol", message, format="json")
    assert answer.status_code == 201
    assert answer.json()["socket_url"].startswith("ws")
    again = APIClient().post("/agent/v1/enrol", message, format="json")
    assert (again.status_code, again.json()["code"]) == (401, "bad_enrolment_token")


@pytest.mark.parametrize(
    "path", ["/api/v1/nodes", "/api/v1/quarantined-usage", "/api/v1/nodes/nod_01k2v7x9qefh8r8x5m3n1p0s4t"]
)
def test_the_fleets_doors_are_the_operators(ada: Person, path: str) -> None:
    assert ada.client.get(path).status_code == 403
    assert APIClient().get(path).status_code == 401


def test_a_tenant_cannot_issue_an_enrolment(ada: Person) -> None:
    assert ada.client.post("/api/v1/enrolments", {}, format="json").status_code == 403
    assert not Enrolment.objects.exists()


def test_a_tenant_sees_devices_and_what_they_promise(ada: Person, node: Node) -> None:
    items = ada.client.get("/api/v1/devices").json()["items"]
    assert [item["id"] for item in items] == [encode("dev", node.device_id())]
    assert (items[0]["isolation"], items[0]["simulated"], items[0]["online"]) == ("limiter-strict", False, True)
    assert ada.client.get(f"/api/v1/devices/{items[0]['id']}").json() == items[0]


def test_a_lease_is_its_tenants_alone(ada: Person, node: Node) -> None:
    lease = ready_lease(node, tenant=ada)
    path = f"/api/v1/leases/{encode('lse', lease.id)}"
    assert ada.client.get(path).json()["state"] == "ready"
    assert [item["id"] for item in ada.client.get("/api/v1/leases").json()["items"]] == [encode("lse", lease.id)]
    assert ada.client.post(f"{path}/token").json()["token"]
    stranger = make_tenant().client
    assert stranger.get("/api/v1/leases").json()["items"] == []
    for answer in (stranger.get(path), stranger.get(f"{path}/usage"), stranger.post(f"{path}/token")):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_the_calendar_names_only_the_callers_own(ada: Person, node: Node, operator: APIClient) -> None:
    lease = ready_lease(node, tenant=ada)
    start, end = minute() - timedelta(hours=1), minute() + timedelta(hours=1)
    path = f"/api/v1/devices/{encode('dev', lease.device_id)}/calendar"
    query = {"from": start.isoformat(), "to": end.isoformat()}
    named = [client.get(path, query).json()["items"][0]["lease"] for client in (ada.client, operator)]
    assert named == [encode("lse", lease.id)] * 2
    assert make_tenant().client.get(path, query).json()["items"][0]["lease"] is None
    backwards = ada.client.get(path, {"from": end.isoformat(), "to": start.isoformat()})
    assert (backwards.status_code, backwards.json()["errors"][0]["pointer"]) == (400, "/to")


def test_usage_comes_in_and_is_shown(ada: Person, node: Node) -> None:
    lease = ready_lease(node, tenant=ada)
    start = minute() - timedelta(minutes=2)
    answer = post_usage(node, [node.window(lease, start)])
    assert (answer.status_code, answer.json()["results"][0]["status"]) == (200, "accepted")
    shown = ada.client.get(f"/api/v1/leases/{encode('lse', lease.id)}/usage").json()
    assert (shown["windows_counted"], shown["used_permille_s"]) == (1, 15_000)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Authorization": ""}, 401, "bad_node_token"),
        ({"Authorization": "Bearer vxp_pat_x"}, 401, "bad_node_token"),
        ({"VXPU-Signature": "!"}, 401, "bad_signature"),
        ({"VXPU-Signature": ""}, 401, "bad_signature"),
        ({"Content-Encoding": "br"}, 422, "bad_batch"),
    ],
)
def test_a_bad_usage_request_stores_nothing(
    ada: Person, node: Node, headers: dict[str, str], status: int, code: str
) -> None:
    lease = ready_lease(node, tenant=ada)
    answer = post_usage(node, [node.window(lease, minute() - timedelta(minutes=2))], **headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not UsageWindow.objects.exists()
    assert not QuarantinedUsage.objects.exists()


def test_an_operator_reviews_what_was_not_counted(ada: Person, node: Node, operator: APIClient) -> None:
    lease = ready_lease(node, tenant=ada)
    post_usage(node, [node.window(lease, minute() + timedelta(minutes=n), seq=n) for n in (10, 11)])
    rows = operator.get("/api/v1/quarantined-usage").json()["items"]
    assert {(row["verdict"], row["reason"], row["state"]) for row in rows} == {
        ("quarantined", "ends_in_the_future", "pending")
    }
    release, dismiss = (f"/api/v1/quarantined-usage/{row['id']}" for row in rows)
    assert operator.post(f"{release}/release").json() == {"status": "accepted"}
    assert operator.post(f"{dismiss}/dismiss").status_code == 204
    again = operator.post(f"{dismiss}/release")
    assert (again.status_code, again.json()["code"]) == (409, "review_closed")


def test_a_revoked_node_is_out(operator: APIClient, node: Node) -> None:
    path = f"/api/v1/nodes/{encode('nod', node.id)}"
    assert operator.post(f"{path}/revoke", {}, format="json").status_code == 400
    assert operator.post(f"{path}/revoke", {"reason": "sold"}, format="json").json()["state"] == "revoked"
    assert operator.get(path).json()["online"] is False
    answer = post_usage(node, [])
    assert (answer.status_code, answer.json()["code"]) == (403, "node_revoked")


def test_a_node_rotates_its_key_by_its_old_one(node: Node) -> None:
    def rotate(token: str, body: dict[str, str]) -> Any:
        return APIClient().post("/agent/v1/rotate", body, format="json", headers={"Authorization": f"Bearer {token}"})

    token = node.token(now=datetime.now(UTC))
    bad = rotate(token, {"public_key": "x", "extra": "y"})
    assert (bad.status_code, bad.json()["errors"][0]["pointer"]) == (422, "/extra")
    good = {"public_key": public_text(node.key)}
    assert rotate(token, good).status_code == 204
    assert rotate(token, good).json()["code"] == "bad_node_token"


def test_the_sweep_command(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("allocator_sweep")
    assert "Nothing is over capacity" in capsys.readouterr().out
