"""The doors of nodes and of the fleet: who may, what they answer, what a bad request leaves behind."""

from __future__ import annotations

import gzip
import json
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rest_framework.test import APIClient

from allocator.models import DeviceReading, NodeEvent
from allocator.models import Node as NodeRow
from tests.allocator.factories import MIB, Node, book, make_wish
from tests.identity.factories import Person, client_for, make_operator, make_tenant
from vxpu.ids import encode
from vxpu.market import LeaseView
from vxpu.states import Quality
from vxpu.wire.node import CardLink, CardReport, MigState, Reading

pytestmark = pytest.mark.usefixtures("system")
NOWHERE = "nod_01k2v7x9qefh8r8x5m3n1p0s4t"


def clock() -> datetime:
    """Doors read the clock themselves."""
    return datetime.now(UTC)


@pytest.fixture
def ada() -> Person:
    return make_tenant()


@pytest.fixture
def node() -> Node:
    return Node(now=clock())


@pytest.fixture
def operator() -> APIClient:
    return client_for(make_operator().secret)


def path(node: Node, verb: str = "") -> str:
    return f"/api/v1/nodes/{encode('nod', node.id)}{f'/{verb}' if verb else ''}"


def running(node: Node, tenant: Person, **wish: Any) -> LeaseView:
    now = clock() - timedelta(minutes=5)
    return node.start(book(make_wish(starts_at=now, **wish), now=now, tenant_id=tenant.tenant_id), now=clock())


def post(client: APIClient, where: str, body: Any = None) -> tuple[int, Any]:
    answer = client.post(where, body or {}, format="json")
    return answer.status_code, answer.json()


def read(value: int, *, at: datetime) -> Reading:
    return Reading(value=value, at=at, quality=Quality.MEASURED)


def test_an_operator_cordons_drains_and_puts_back(operator: APIClient, node: Node) -> None:
    status, body = post(operator, path(node, "cordon"), {"reason": "a fan rattles"})
    assert (status, body["cordoned"], body["drain"]["state"]) == (200, True, "none")
    status, body = post(operator, path(node, "drain"), {"reason": "new fans"})
    assert (status, body["drain"]["state"], body["drain"]["reason"]) == (200, "drained", "new fans")
    status, body = post(operator, path(node, "uncordon"))
    assert (status, body["code"]) == (409, "node_is_draining")
    assert "Undrain" in body["suggestion"]
    status, body = post(operator, path(node, "undrain"))
    assert (status, body["cordoned"], body["drain"]["state"]) == (200, False, "none")
    events = operator.get(path(node, "events")).json()["items"]
    assert [event["kind"] for event in events] == ["undrained", "drained", "draining", "cordoned", "online", "enrolled"]


def test_the_impact_names_leases_and_tenants_by_id(operator: APIClient, ada: Person, node: Node) -> None:
    lease = running(node, ada)
    later = book(make_wish(starts_at=clock() + timedelta(hours=1)), now=clock(), tenant_id=ada.tenant_id)
    body = operator.get(path(node, "impact")).json()
    assert [row["lease"] for row in body["leases"]] == [encode("lse", lease.id)]
    assert [row["lease"] for row in body["reservations_future"]] == [encode("lse", later.id)]
    row = body["leases"][0]
    assert (row["state"], row["slice"]["share_permille"], row["ends_at"]) == ("ready", 250, None)
    assert (row["stays"], body["reservations_future"][0]["stays"]) == ("no_room", None)
    assert (row["tenant"], body["affected_tenants"]) == (encode("ten", ada.tenant_id), 1)


@pytest.mark.parametrize("verb", ["cordon", "uncordon", "drain", "undrain", "revoke"])
def test_a_tenant_may_not(ada: Person, node: Node, verb: str) -> None:
    assert post(ada.client, path(node, verb), {"reason": "x"})[0] == 403
    assert APIClient().post(path(node, verb)).status_code == 401
    row = NodeRow.objects.get(pk=node.id)
    assert (row.cordoned_at, row.state) == (None, "active")


@pytest.mark.parametrize("verb", ["impact", "events"])
def test_a_tenant_may_not_look(ada: Person, node: Node, verb: str) -> None:
    assert ada.client.get(path(node, verb)).status_code == 403


@pytest.mark.parametrize("verb", ["cordon", "uncordon", "drain", "undrain", "revoke"])
@pytest.mark.parametrize("name", [NOWHERE, "nod_x", "dev_01k2v7x9qefh8r8x5m3n1p0s4t"])
def test_a_node_that_is_not_there_is_404(operator: APIClient, verb: str, name: str) -> None:
    status, body = post(
        operator, f"/api/v1/nodes/{name}/{verb}", {"reason": "x"} if verb in ("drain", "revoke") else {}
    )
    assert (status, body["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("drain", {}),
        ("drain", {"reason": ""}),
        ("drain", {"reason": "x" * 201}),
        ("drain", {"reason": "x", "at": "tomorrow"}),
        ("drain", {"reason": "x", "at": "2026-12-01T10:00:00"}),
        ("drain", {"reason": "x", "force": True}),
        ("cordon", {"reason": ["x"]}),
    ],
)
def test_bad_input_changes_nothing(operator: APIClient, node: Node, verb: str, body: Any) -> None:
    status, answer = post(operator, path(node, verb), body)
    assert (status, answer["code"]) == (400, "invalid_input")
    assert NodeRow.objects.get(pk=node.id).cordoned_at is None
    assert NodeEvent.objects.filter(node_id=node.id).count() == 2


def test_a_drain_in_the_past_is_refused_with_a_way(operator: APIClient, node: Node) -> None:
    status, body = post(operator, path(node, "drain"), {"reason": "x", "at": "2020-01-01T00:00:00Z"})
    assert (status, body["code"]) == (422, "illegal_period")
    assert "at once" in body["suggestion"]


def test_a_rack_is_said_by_the_machine_and_corrected_by_an_operator(operator: APIClient, node: Node) -> None:
    answer = operator.patch(path(node), {"rack": "R07"}, format="json")
    assert (answer.status_code, answer.json()["rack"]) == (200, "R07")
    assert operator.patch(path(node), {"rack": "x" * 65}, format="json").status_code == 400
    assert operator.patch(path(node), {}, format="json").status_code == 400
    assert [row["rack"] for row in operator.get("/api/v1/nodes").json()["items"]] == ["R07"]


def test_the_enrolments_one_line_can_be_pasted(operator: APIClient) -> None:
    made = post(operator, "/api/v1/enrolments", {"note": "rack 3"})[1]
    assert "vxpu-agent enrol --server " in made["command"]
    said = made["command"].split(" | ")[0]
    pasted = subprocess.run(["sh", "-c", said], capture_output=True, text=True, check=True)
    assert pasted.stdout == made["one_time_token"]
    assert "'" not in made["one_time_token"]


def test_the_fleet_is_one_set_of_columns(operator: APIClient, ada: Person, node: Node) -> None:
    lease = running(node, ada)
    body = operator.get("/api/v1/fleet").json()
    assert (body["racks"], [row["hostname"] for row in body["nodes"]]) == ([""], ["node"])
    columns = body["devices"]
    assert {len(column) for column in columns.values()} == {1}
    assert (columns["id"], columns["node"]) == ([encode("dev", node.device_id())], [0])
    expected = {
        "memory_mib": MIB // 4, "share_permille": 250, "use_permille": None, "mine": False, "state": "ready",
        "lease": encode("lse", lease.id),
    }  # fmt: skip
    assert columns["slices"] == [[expected]]
    assert (columns["health"], columns["use_permille"], columns["temperature_c"]) == ([None], [None], [None])


def test_a_tenant_sees_others_slices_without_a_name(ada: Person, node: Node) -> None:
    running(node, ada)
    mine = ada.client.get("/api/v1/fleet").json()["devices"]["slices"][0][0]
    theirs = make_tenant().client.get("/api/v1/fleet").json()["devices"]["slices"][0][0]
    assert mine["mine"] is True
    assert mine["lease"].startswith("lse_")
    assert (theirs["mine"], theirs["lease"], theirs["share_permille"]) == (False, None, 250)
    assert APIClient().get("/api/v1/fleet").status_code == 401


def test_use_comes_from_the_newest_window_and_is_of_the_device(ada: Person, node: Node) -> None:
    lease = running(node, ada)
    minute = clock().replace(second=0, microsecond=0)
    for minutes, used in ((3, 250 * 60), (2, 100 * 60)):
        start = minute - timedelta(minutes=minutes)
        node.send(node.window(lease, start, seq=4 - minutes, used_permille_s=used), now=clock())
    assert ada.client.get("/api/v1/fleet").json()["devices"]["slices"][0][0]["use_permille"] == 100


def test_readings_and_health_are_of_now_or_not_there(operator: APIClient, node: Node) -> None:
    now = clock()
    hot = {
        "temperature_c": read(90, at=now),
        "utilization_permille": read(420, at=now),
        "power_mw": read(99_600, at=now),
    }
    node.devices = [node.devices[0].model_copy(update={"readings": hot})]
    node.sync(now=now)
    columns = operator.get("/api/v1/fleet").json()["devices"]
    assert [columns[name] for name in ("health", "use_permille", "temperature_c", "power_w")] == [
        [40],
        [420],
        [90],
        [100],
    ]
    device = operator.get(f"/api/v1/devices/{columns['id'][0]}").json()
    assert (device["health"]["score"], device["health"]["metrics"]["temperature_c"]["score"]) == (40, 40)
    old = now - timedelta(minutes=2)
    stale = {"temperature_c": read(90, at=old).model_dump(mode="json")}
    DeviceReading.objects.update(at=old, values=stale)
    columns = operator.get("/api/v1/fleet").json()["devices"]
    assert [columns[name] for name in ("health", "temperature_c")] == [[None], [None]]
    device = operator.get(f"/api/v1/devices/{columns['id'][0]}").json()
    assert (device["health"]["score"], device["health"]["metrics"]["temperature_c"]["quality"]) == (None, "stale")


def test_what_only_a_card_has_is_shown_and_kept_current(operator: APIClient, node: Node) -> None:
    card = CardReport(
        uuid="GPU-1", pci_bus_id="00000000:65:00.0", driver_version="615.10", cuda_version="13.4",
        links=[CardLink(peer="GPU-2", nvlinks=18, pcie="switch")], mig=MigState(enabled=False, pending=False),
    )  # fmt: skip
    path = f"/api/v1/devices/{operator.get('/api/v1/fleet').json()['devices']['id'][0]}"
    assert operator.get(path).json()["card"] is None
    for told in (card, card.model_copy(update={"mig": MigState(enabled=False, pending=True)})):
        node.devices = [node.devices[0].model_copy(update={"card": told})]
        node.sync(now=clock())
        assert operator.get(path).json()["card"] == told.model_dump(mode="json")


def test_the_fleets_etag_and_gzip(operator: APIClient, node: Node) -> None:
    first = operator.get("/api/v1/fleet", headers={"Accept-Encoding": "gzip, br"})
    assert first["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(first.content))["devices"]["id"]
    again = operator.get("/api/v1/fleet", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    node.sync(now=clock())
    assert operator.get("/api/v1/fleet", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_a_device_says_where_it_stands_and_that_it_is_closed(operator: APIClient, ada: Person, node: Node) -> None:
    operator.patch(path(node), {"rack": "R07"}, format="json")
    post(operator, path(node, "cordon"))
    device = ada.client.get("/api/v1/devices").json()["items"][0]
    assert (device["node_hostname"], device["rack"], device["cordoned"]) == ("node", "R07", True)
    assert (device["memory_mib"], device["health"]) == (2 * MIB, {"score": None, "metrics": {}})
    assert ada.client.get("/api/v1/fleet").json()["nodes"][0]["cordoned"] is True


def test_a_node_is_kept_for_what_others_lose(operator: APIClient, node: Node) -> None:
    where = path(node)
    for _ in range(2):
        shown = operator.patch(where, {"standby": True}, format="json").json()
        assert (shown["standby"], shown["rack"], shown["settling_since"]) == (True, "", None)
    events = operator.get(path(node, "events")).json()["items"]
    assert [event["kind"] for event in events][:2] == ["standby_set", "online"]
    fleet = operator.get("/api/v1/fleet").json()
    assert [one["standby"] for one in fleet["nodes"] if one["id"] == encode("nod", node.id)] == [True]
    assert operator.patch(where, {"rack": "R1", "standby": False}, format="json").json()["rack"] == "R1"
