"""The doors to programs in a lease: who may, when, how many, and what a bad request says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from allocator.services import _exec_keys as keys
from plumbing.live import tickets
from plumbing.live.valkey import valkey
from tests.allocator.factories import Node, book, make_wish
from tests.identity.factories import Person, client_for, make_member, make_operator, make_tenant
from vxpu.ids import encode, new_uuid
from vxpu.market import LeaseView

pytestmark = pytest.mark.usefixtures("system", "valkey")

CMD = {"argv": ["echo", "hi there", ""], "env": {"EPOCHS": "3"}}


@pytest.fixture
def ada() -> Person:
    return make_tenant()


@pytest.fixture
def assigned(ada: Person) -> tuple[Node, LeaseView]:
    now = datetime.now(UTC)
    node = Node(now=now)
    return node, book(make_wish(starts_at=now - timedelta(minutes=5)), now=now, tenant_id=ada.tenant_id)


@pytest.fixture
def lease(assigned: tuple[Node, LeaseView]) -> LeaseView:
    node, lease = assigned
    return node.start(lease, now=datetime.now(UTC))


def path(lease: LeaseView) -> str:
    return f"/api/v1/leases/{encode('lse', lease.id)}/execs"


def start(client: APIClient, lease: LeaseView, **over: Any) -> Any:
    return client.post(path(lease), {**CMD, **over}, format="json")


def test_a_ticket_is_given_and_the_order_waits_for_it(ada: Person, lease: LeaseView, settings: Settings) -> None:
    settings.VXPU_PUBLIC_SOCKET_URL = "wss://market.example/"
    answer = start(ada.client, lease)
    assert answer.status_code == 201
    made = answer.json()
    assert made["stream_url"] == "wss://market.example/api/v1/exec-stream"
    raw = valkey().get(tickets.key_of("exec", made["ticket"]))
    assert isinstance(raw, bytes)
    opens = keys.Ticket.model_validate_json(raw)
    assert (opens.order.exec_id, opens.order.argv, opens.order.env) == (made["id"], CMD["argv"], CMD["env"])
    assert opens.node_id == lease.node_id


def test_it_is_listed_without_its_environment(ada: Person, lease: LeaseView) -> None:
    made = start(ada.client, lease).json()["id"]
    (row,) = ada.client.get(path(lease)).json()["items"]
    assert row.pop("created_at")
    assert row == {"id": made, "argv": CMD["argv"], "running": True, "ended_at": None, "code": None, "platform": None}
    log = ada.client.get(f"{path(lease)}/{made}").json()
    assert (log["exec"]["id"], log["truncated"], log["output"]) == (made, False, [])


@pytest.mark.parametrize(("body", "pointer"), [
    ({"argv": []}, "/argv"), ({"argv": [""]}, "/argv"), ({"argv": "ls"}, "/argv"), ({"argv": ["a\0b"]}, "/argv/0"),
    ({"argv": ["x" * 300_000]}, "/argv"), ({"env": {"A=B": "1"}}, "/env"), ({"env": {"": "1"}}, "/env"),
    ({"env": {str(n): "" for n in range(513)}}, "/env"), ({"argv": None}, "/argv"),
])  # fmt: skip
def test_bad_input_is_named(ada: Person, lease: LeaseView, body: dict[str, Any], pointer: str) -> None:
    answer = start(ada.client, lease, **body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert ada.client.get(path(lease)).json()["items"] == []


def test_another_tenants_lease_does_not_exist_not_even_for_an_operator(ada: Person, lease: LeaseView) -> None:
    made = start(ada.client, lease).json()["id"]
    for stranger in (make_tenant().client, client_for(make_operator().secret)):
        for answer in (start(stranger, lease), stranger.get(path(lease)), stranger.get(f"{path(lease)}/{made}")):
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_another_leases_program_is_not_found_in_this_one(ada: Person, lease: LeaseView) -> None:
    node = Node(now=datetime.now(UTC))
    wish = make_wish(starts_at=datetime.now(UTC) - timedelta(minutes=5), device_id=node.device_id())
    other = node.start(book(wish, now=datetime.now(UTC), tenant_id=ada.tenant_id), now=datetime.now(UTC))
    made = start(ada.client, lease).json()["id"]
    for name in (made, encode("exe", new_uuid()), "nonsense"):
        assert ada.client.get(f"{path(other)}/{name}").status_code == 404


def test_who_may_only_read_starts_nothing(ada: Person, lease: LeaseView) -> None:
    finance = make_member(by=ada, role="finance").client
    assert start(finance, lease).status_code == 403
    assert finance.get(path(lease)).status_code == 200
    assert start(APIClient(), lease).status_code == 401


def test_a_lease_that_is_not_ready_runs_nothing(ada: Person, assigned: tuple[Node, LeaseView]) -> None:
    answer = start(ada.client, assigned[1])
    assert (answer.status_code, answer.json()["code"]) == (409, "lease_not_ready")


def test_so_many_at_a_time_and_a_lapsed_one_gives_its_place_back(
    ada: Person, lease: LeaseView, settings: Settings
) -> None:
    settings.VXPU_EXECS_PER_LEASE = 2
    codes = [start(ada.client, lease).status_code for _ in range(3)]
    assert (codes, start(ada.client, lease).json()["code"]) == ([201, 201, 409], "too_many_execs")
    first = ada.client.get(path(lease)).json()["items"][-1]["id"]
    valkey().zadd(keys.running_key(lease.id), {first: datetime.now(UTC).timestamp() - 1})
    assert start(ada.client, lease).status_code == 201
    assert [row["running"] for row in ada.client.get(path(lease)).json()["items"]] == [True, True, False]


def test_a_lease_keeps_so_many_logs(ada: Person, lease: LeaseView, settings: Settings) -> None:
    settings.VXPU_EXEC_LOGS_PER_LEASE = 2
    made = []
    for _ in range(4):
        made.append(start(ada.client, lease).json()["id"])
        valkey().delete(keys.running_key(lease.id))
    assert [row["id"] for row in ada.client.get(path(lease)).json()["items"]] == [made[3], made[2]]
    assert ada.client.get(f"{path(lease)}/{made[0]}").status_code == 404
    assert 0 < int(str(valkey().ttl(keys.record_key(made[3])))) <= settings.VXPU_EXEC_LOG_TTL_S


def test_without_valkey_it_is_said(ada: Person, lease: LeaseView, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    for answer in (start(ada.client, lease), ada.client.get(path(lease))):
        assert (answer.status_code, answer.json()["code"]) == (503, "exec_unavailable")
        assert answer.headers["Retry-After"]
