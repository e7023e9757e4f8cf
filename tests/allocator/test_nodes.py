"""Enrolment, keys and who may speak for a node."""

from __future__ import annotations

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from allocator import facade
from allocator.errors import BadEnrolment, BadNodeToken, LeaseLost, NodeExists, NodeRevoked
from allocator.models import Enrolment
from allocator.models import Node as NodeRow
from allocator.services import enrol
from allocator.services._server_key import server_key
from allocator.services.authenticate import authenticate, authenticate_once
from plumbing.errors import Invalid
from tests.allocator.factories import NOON, Node, at, book, make_wish, public_text, release, started_lease
from vxpu.ids import encode
from vxpu.wire.node import LEASE_TOKEN_AUDIENCE

pytestmark = pytest.mark.usefixtures("system")


def ticket(*, node: Node | None = None, seconds: float = 0) -> str:
    return enrol.issue_enrolment(note="", node_id=node.id if node else None, now=at(seconds)).one_time_token


def test_a_token_is_good_once_and_only_its_digest_is_kept() -> None:
    node = Node()
    token = ticket(node=node)
    assert token.encode() not in b"".join(bytes(row.token_digest) for row in Enrolment.objects.all())
    enrol.enrol(message=node.enrol_message(token), now=at(1))
    with pytest.raises(BadEnrolment):
        enrol.enrol(message=node.enrol_message(token), now=at(2))


@pytest.mark.parametrize("late", [3600, 10_000])
def test_a_token_expires_within_the_hour(late: int) -> None:
    node = Node()
    with pytest.raises(BadEnrolment):
        enrol.enrol(message=node.enrol_message(ticket(node=node)), now=at(late))


def test_a_machine_that_is_online_is_not_taken_over() -> None:
    node = Node()
    with pytest.raises(NodeExists, match=encode("nod", node.id)):
        enrol.enrol(message=node.enrol_message(ticket()), now=at(1))


def test_a_silent_machine_enrols_again_as_the_same_node_under_a_new_key() -> None:
    node = Node()
    NodeRow.objects.filter(pk=node.id).update(is_online=False)
    old, node.key = node.token(now=NOON), Ed25519PrivateKey.generate()
    again = enrol.enrol(message=node.enrol_message(ticket()), now=at(1))
    assert again.node_id == encode("nod", node.id)
    assert authenticate(token=node.token(now=at(2)), now=at(2)).pk == node.id
    with pytest.raises(BadNodeToken):
        authenticate(token=old, now=at(2))


def test_a_ticket_for_one_machine_is_not_good_for_another() -> None:
    node, other = Node(), Node()
    with pytest.raises(BadEnrolment):
        enrol.enrol(message=other.enrol_message(ticket(node=node)), now=at(1))


@pytest.mark.parametrize("key", ["", "nonsense", "AAAA"])
def test_a_bad_public_key_is_refused_and_the_ticket_stays_good(key: str) -> None:
    node = Node()
    token = ticket(node=node)
    message = node.enrol_message(token).model_copy(update={"public_key": key})
    with pytest.raises(Invalid):
        enrol.enrol(message=message, now=at(1))
    enrol.enrol(message=node.enrol_message(token), now=at(2))


def test_a_rotated_key_overlaps_for_five_minutes() -> None:
    node = Node()
    old, fresh = node.key, Ed25519PrivateKey.generate()
    enrol.rotate(node_id=node.id, public_key=public_text(fresh), now=NOON)
    for key, seconds, holds in ((old, 299, True), (fresh, 299, True), (old, 301, False), (fresh, 301, True)):
        node.key = key
        token = node.token(now=at(seconds))
        if holds:
            assert authenticate(token=token, now=at(seconds)).pk == node.id
        else:
            with pytest.raises(BadNodeToken):
                authenticate(token=token, now=at(seconds))


@pytest.mark.parametrize(
    ("change", "life_s"),
    [
        ({"aud": "someone-else"}, 60),
        ({"iss": "nod_nonsense"}, 60),
        ({"exp": None}, 60),
        ({}, -60),
        ({}, 600),
    ],
)
def test_a_token_that_does_not_hold(change: dict[str, object], life_s: int) -> None:
    node = Node()
    with pytest.raises(BadNodeToken) as refused:
        authenticate(token=node.token(now=NOON, life_s=life_s, **change), now=NOON)
    assert refused.value.data["server_time"] == NOON


def test_another_key_and_another_algorithm_do_not_hold() -> None:
    node = Node()
    forged = jwt.encode({"iss": encode("nod", node.id)}, "k" * 32, algorithm="HS256")
    node.key = Ed25519PrivateKey.generate()
    for token in (node.token(now=NOON), forged, "a.b.c", ""):
        with pytest.raises(BadNodeToken):
            authenticate(token=token, now=NOON)


def test_a_token_opens_the_socket_once() -> None:
    node = Node()
    token = node.token(now=NOON)
    assert authenticate_once(token=token, now=NOON).pk == node.id
    with pytest.raises(BadNodeToken, match="used before"):
        authenticate_once(token=token, now=NOON)


def test_a_revoked_node_is_told_so() -> None:
    node = Node()
    enrol.revoke(node_id=node.id, reason="stolen", now=NOON)
    with pytest.raises(NodeRevoked):
        authenticate(token=node.token(now=NOON), now=NOON)
    with pytest.raises(NodeRevoked):
        node.sync(now=at(1))
    with pytest.raises(NodeRevoked):
        enrol.rotate(node_id=node.id, public_key=public_text(node.key), now=at(1))


def test_a_device_is_one_row_whatever_changes_about_it() -> None:
    node = Node()
    before = facade.list_devices()[0]
    node.devices[0] = node.devices[0].model_copy(update={"model": "New name", "capacity_mib": 4096})
    node.sync(now=at(5))
    after = facade.list_devices()[0]
    assert (after.id, after.model, after.capacity_mib, after.online) == (before.id, "New name", 4096, True)


def test_a_lease_token_names_lease_and_fence_and_lives_minutes() -> None:
    node = Node()
    lease = started_lease(node, ends_at=at(300))
    token = facade.issue_lease_token(lease_id=lease.id, now=NOON)
    claims = jwt.decode(
        token, server_key().public_key(), algorithms=["EdDSA"], audience=LEASE_TOKEN_AUDIENCE,
        options={"verify_exp": False, "verify_iat": False},
    )  # fmt: skip
    assert (claims["sub"], claims["fence"]) == (encode("lse", lease.id), lease.token)
    assert claims["exp"] == int(at(300).timestamp())


def test_no_token_for_a_lease_that_is_ending() -> None:
    node = Node()
    lease = node.start(book(make_wish()), now=NOON)
    release(lease.id, now=at(1))
    with pytest.raises(LeaseLost):
        facade.issue_lease_token(lease_id=lease.id, now=at(2))
