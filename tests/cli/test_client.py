"""Retries, keys, problems and pages, against a peer that really breaks connections."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.client import Client
from cli.errors import Problem, ServerUnavailable
from tests.cli.peer import DROP, Peer


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def client(peer: Peer, naps: list[float]) -> Iterator[Client]:
    with Client(peer.url, "vxp_pat_test", sleep=naps.append) as client:
        yield client


def test_a_dropped_connection_is_tried_again_with_the_same_key(client: Client, peer: Peer) -> None:
    peer.on("POST", "/reservations", DROP).on("POST", "/reservations", DROP)
    peer.on("POST", "/reservations", {"id": "rsv_1"}, status=201)
    assert client.post("/reservations", {"a": 1}) == {"id": "rsv_1"}
    assert len(peer.keys()) == 3
    assert len(set(peer.keys())) == 1
    assert peer.bodies("POST", "/reservations") == [{"a": 1}] * 3


def test_two_purchases_have_two_keys(client: Client, peer: Peer) -> None:
    peer.on("POST", "/reservations", {"id": "rsv_1"}, status=201)
    client.post("/reservations", {})
    client.post("/reservations", {})
    assert len(set(peer.keys())) == 2


def test_a_request_in_flight_is_waited_for_as_long_as_it_says(client: Client, peer: Peer, naps: list[float]) -> None:
    in_flight = {"status": 409, "code": "idempotency_in_flight"}
    peer.on("POST", "/reservations", in_flight, status=409, Retry_After="3")
    peer.on("POST", "/reservations", {"id": "rsv_1"}, status=201)
    assert client.post("/reservations", {})["id"] == "rsv_1"
    assert naps == [3.0]


def test_a_plain_conflict_is_not_tried_again(client: Client, peer: Peer) -> None:
    peer.problem("POST", "/reservations", 409, "no_capacity", title="No room.")
    with pytest.raises(Problem) as raised:
        client.post("/reservations", {})
    assert (raised.value.code, raised.value.exit_code, len(peer.asked)) == ("no_capacity", 3, 1)


def test_a_server_that_stays_away_is_said(naps: list[float]) -> None:
    with (
        Client("http://127.0.0.1:9", sleep=naps.append) as client,
        pytest.raises(ServerUnavailable, match="does not answer") as raised,
    ):
        client.get("/offers")
    assert raised.value.exit_code == 14
    assert naps == [0.2, 0.4, 0.8, 1.6]


def test_pages_are_followed_to_the_end(client: Client, peer: Peer) -> None:
    following = f"{peer.url}/api/v1/offers?limit=2&cursor=abc%3D"
    peer.on("GET", "/offers", {"items": [{"id": 1}, {"id": 2}], "next": following})
    peer.on("GET", "/offers", {"items": [{"id": 3}], "next": None})
    assert [row["id"] for row in client.pages("/offers")] == [1, 2, 3]
    assert peer.asked[1].query == {"cursor": ["abc="]}


def test_an_answer_that_is_no_problem_document_still_has_a_title(client: Client, peer: Peer) -> None:
    peer.on("GET", "/offers", "<html>oops</html>", status=418)
    with pytest.raises(Problem, match="HTTP 418"):
        client.get("/offers")


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [(401, "x", 5), (403, "x", 6), (404, "x", 7), (409, "conflict", 8), (409, "quota_exceeded", 4), (402, "x", 4),
     (422, "invalid", 2), (429, "x", 13), (500, "unexpected", 14), (410, "lease_expired", 11), (418, "x", 1)],
)  # fmt: skip
def test_each_problem_has_its_exit_code(client: Client, peer: Peer, status: int, code: str, expected: int) -> None:
    peer.problem("GET", "/offers", status, code)
    with pytest.raises(Problem) as raised:
        client.get("/offers")
    assert raised.value.exit_code == expected
