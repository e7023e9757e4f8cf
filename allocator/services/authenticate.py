"""Who dials: a node token is a JWT signed by the node's own key (see vxpu/wire/node.py)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import jwt
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from allocator.errors import BadNodeToken, BadSignature, NodeRevoked
from allocator.models import Node, SpentToken
from allocator.models.node import NodeState
from allocator.selectors.devices import list_keys
from plumbing import db
from vxpu.ids import BadId, decode
from vxpu.wire.node import NODE_TOKEN_AUDIENCE

LONGEST = timedelta(seconds=120)
LEEWAY = timedelta(seconds=10)


def authenticate(*, token: str, now: datetime) -> Node:
    """The node behind a token. Raises BadNodeToken (with the server's time, for a skewed node), NodeRevoked."""
    node, _ = _verified(token, now)
    return node


@db.transaction
def authenticate_once(*, token: str, now: datetime) -> Node:
    """As `authenticate`, and the token opens no such door again. For doors whose replay would do harm."""
    node, claims = _verified(token, now)
    SpentToken.objects.filter(node=node, expires_at__lt=now - LEEWAY).delete()
    spent = SpentToken(
        tenant_id=settings.VXPU_OPERATOR_TENANT,
        created_at=now,
        jti=str(claims["jti"])[:64],
        node=node,
        expires_at=_expiry(claims, now),
    )
    SpentToken.objects.bulk_create([spent], ignore_conflicts=True)
    if not SpentToken.objects.filter(pk=spent.pk).exists():
        raise _bad("the token was used before", now)
    return node


def check_signature(*, node_id: UUID, body: bytes, signature: bytes, now: datetime) -> None:
    """Over the raw body as sent. Raises BadSignature."""
    for key in list_keys(node_id=node_id, now=now):
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, body)
        except InvalidSignature:
            continue
        return
    raise BadSignature(suggestion="Sign the body as it is sent, after compression.")


def _verified(token: str, now: datetime) -> tuple[Node, dict[str, Any]]:
    node = _claimed_node(token, now)
    if node.state == NodeState.REVOKED:
        raise NodeRevoked(f"Node {node.pk} was revoked.", suggestion="Enrol the machine again.")
    for key in list_keys(node_id=node.pk, now=now):
        claims = _decode(token, key)
        if claims is not None:
            if not now - LEEWAY <= _expiry(claims, now) <= now + LONGEST + LEEWAY:
                raise _bad("it has expired, or expires more than 120 s ahead", now)
            return node, claims
    raise _bad("no valid key of the node has signed it", now)


def _claimed_node(token: str, now: datetime) -> Node:
    """By the unverified issuer: only to know whose keys to try."""
    try:
        issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
        node_id = decode("nod", str(issuer))
    except (jwt.InvalidTokenError, BadId) as error:
        raise _bad("it cannot be read", now) from error
    node = Node.objects.filter(pk=node_id).first()
    if node is None:
        raise _bad("there is no such node", now)
    return node


def _decode(token: str, key: bytes) -> dict[str, Any] | None:
    """The claims if `key` signed them. Times are judged by the caller's `now`, not by this process's clock."""
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            Ed25519PublicKey.from_public_bytes(key),
            algorithms=["EdDSA"],
            audience=NODE_TOKEN_AUDIENCE,
            options={"require": ["iss", "aud", "exp", "jti"], "verify_exp": False, "verify_iat": False,
                     "verify_nbf": False},
        )  # fmt: skip
    except jwt.InvalidTokenError:
        return None
    return claims


def _expiry(claims: dict[str, Any], now: datetime) -> datetime:
    try:
        return datetime.fromtimestamp(int(claims["exp"]), tz=now.tzinfo)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise _bad("its expiry cannot be read", now) from error


def _bad(why: str, now: datetime) -> BadNodeToken:
    return BadNodeToken(f"The node token is refused: {why}.", server_time=now)
