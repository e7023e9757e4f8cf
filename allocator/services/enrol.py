"""A node joins by a one-time token and is known by its own key from then on."""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
import shlex
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from allocator.errors import BadEnrolment, NodeExists, NodeRevoked
from allocator.events import NodeRevoked as NodeWasRevoked
from allocator.locks import lock_node
from allocator.models import Enrolment, Lease, Node, NodeKey
from allocator.models.lease import LIVE
from allocator.models.node import NodeState
from allocator.services._end import end, lose
from allocator.services._move import move
from allocator.services._node_note import note_node
from allocator.services._server_key import server_public_key
from allocator.services.release import next_token
from plumbing import db, outbox
from plumbing.errors import Invalid
from vxpu.ids import encode
from vxpu.states import LeaseState
from vxpu.wire.node import SOCKET_PATH, Enrol, Enrolled

KIND = "vxe_"
LIFE = timedelta(hours=1)
OVERLAP = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedEnrolment:
    """`one_time_token` is shown once: only its digest is kept."""

    id: UUID
    one_time_token: str
    expires_at: datetime


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def command_line(one_time_token: str, *, server: str) -> str:
    """What to paste on the machine. The token goes through a pipe: arguments of programs can be read by every user."""
    where = f"--server {shlex.quote(server)}"
    return f"printf %s {one_time_token} | vxpu-agent enrol {where} --token-file /dev/stdin && vxpu-agent run {where}"


def read_public_key(text: str) -> bytes:
    """The raw 32 bytes behind base64. Raises Invalid."""
    try:
        raw = base64.b64decode(text, validate=True)
        Ed25519PublicKey.from_public_bytes(raw)
    except (binascii.Error, ValueError) as error:
        raise Invalid("The public key is not base64 of 32 raw Ed25519 bytes.") from error
    return raw


@db.transaction
def issue_enrolment(*, note: str, node_id: UUID | None, now: datetime) -> IssuedEnrolment:
    """A token for one enrolment within the hour; with `node_id`, for giving that node a new key."""
    token = KIND + secrets.token_urlsafe(32)
    if node_id is not None:
        lock_node(node_id=node_id)
    row = Enrolment.objects.create(
        tenant_id=settings.VXPU_OPERATOR_TENANT,
        created_at=now,
        token_digest=_digest(token),
        note=note,
        expires_at=now + LIFE,
        node_id=node_id,
    )
    return IssuedEnrolment(id=row.pk, one_time_token=token, expires_at=row.expires_at)


@db.transaction
def enrol(*, message: Enrol, now: datetime) -> Enrolled:
    """Spend the token. A machine that was enrolled before and is silent keeps its node and gets a new key.

    Raises BadEnrolment, NodeExists (the machine's node is online and the token was not issued for it), Invalid.
    """
    public_key = read_public_key(message.public_key)
    spendable = Enrolment.objects.select_for_update(no_key=True).filter(token_digest=_digest(message.one_time_token))
    ticket = spendable.first()
    if ticket is None or ticket.used_at is not None or ticket.expires_at <= now:
        raise BadEnrolment(suggestion="Ask an operator for a new one.")
    node = _node_for(message, ticket, now)
    NodeKey.objects.filter(node=node, revoked_at__isnull=True).update(revoked_at=now)
    _add_key(node, public_key, now)
    ticket.used_at, ticket.node = now, node
    ticket.save(update_fields=["used_at", "node"])
    note_node(node=node, kind="enrolled", actor="agent", reason=ticket.note, now=now)
    return Enrolled(
        node_id=encode("nod", node.pk),
        server_public_key=server_public_key(),
        socket_url=settings.VXPU_SOCKET_URL.rstrip("/") + SOCKET_PATH,
    )


def _node_for(message: Enrol, ticket: Enrolment, now: datetime) -> Node:
    if ticket.node_id is not None:
        node = lock_node(node_id=ticket.node_id)
        if node.state != NodeState.ACTIVE:
            raise NodeRevoked(f"Node {node.pk} was revoked.")
        if node.machine_id != message.machine_id:
            raise BadEnrolment("The token was issued for another machine.")
        return node
    mine = Node.objects.filter(machine_id=message.machine_id, state=NodeState.ACTIVE)
    known = mine.select_for_update(no_key=True).first()
    if known is None:
        return Node.objects.create(
            tenant_id=settings.VXPU_OPERATOR_TENANT,
            created_at=now,
            hostname=message.hostname,
            machine_id=message.machine_id,
            agent_version=message.agent_version,
            rack=message.rack,
        )
    if known.is_online:
        raise NodeExists(
            f"Node {encode('nod', known.pk)} holds that machine and is online.",
            suggestion="Issue a token for that node, or stop its agent first.",
        )
    return known


def _add_key(node: Node, public_key: bytes, now: datetime) -> None:
    NodeKey.objects.create(tenant_id=settings.VXPU_OPERATOR_TENANT, created_at=now, node=node, public_key=public_key)


@db.transaction
def rotate(*, node_id: UUID, public_key: str, now: datetime) -> None:
    """A new key; the old ones stay valid for 5 minutes, so that nothing in flight is refused. Raises NodeRevoked."""
    raw = read_public_key(public_key)
    node = lock_node(node_id=node_id)
    if node.state != NodeState.ACTIVE:
        raise NodeRevoked(f"Node {node.pk} was revoked.")
    NodeKey.objects.filter(node=node, revoked_at__isnull=True).update(revoked_at=now + OVERLAP)
    _add_key(node, raw, now)


@db.transaction
def revoke(*, node_id: UUID, reason: str, now: datetime, actor: str = "operator") -> Node:
    """Void every key and fence every lease; the socket is closed after the commit. Idempotent."""
    node = lock_node(node_id=node_id)
    if node.state == NodeState.REVOKED:
        return node
    node.state, node.is_online = NodeState.REVOKED, False
    node.save(update_fields=["state", "is_online"])
    NodeKey.objects.filter(node=node).update(revoked_at=now)
    for lease in Lease.objects.select_for_update(no_key=True).filter(node=node, state__in=LIVE).order_by("pk"):
        _fence(lease, reason, now)
    note_node(node=node, kind="revoked", actor=actor, reason=reason, now=now)
    outbox.publish(NodeWasRevoked(tenant_id=settings.VXPU_OPERATOR_TENANT, node_id=node.pk))
    return node


def _fence(lease: Lease, reason: str, now: datetime) -> None:
    if lease.offered_at is None:
        end(lease=lease, actor="operator", reason="node_revoked", now=now)
        return
    if lease.state != LeaseState.UNREACHABLE:
        move(lease=lease, to=LeaseState.UNREACHABLE, actor="operator", reason=reason, now=now)
    lose(lease=lease, token=next_token(), actor="operator", reason="node_revoked", now=now)
