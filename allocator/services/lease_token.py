"""A short-lived token with which a program may be started in a lease."""

from __future__ import annotations

from datetime import datetime, timedelta

import jwt

from allocator.errors import LeaseLost
from allocator.models import Lease
from allocator.services._server_key import server_key
from vxpu.ids import encode, new_uuid
from vxpu.states import LeaseState
from vxpu.wire.node import LEASE_TOKEN_AUDIENCE

LIFE = timedelta(minutes=10)


def issue_lease_token(*, lease: Lease, now: datetime) -> str:
    """A JWT as vxpu/wire/exec.py says. Raises LeaseLost unless the lease runs or is about to."""
    if lease.state not in (LeaseState.ASSIGNED, LeaseState.PREPARING, LeaseState.READY):
        raise LeaseLost(f"Lease {lease.pk} is {lease.state}.", suggestion="Start programs in a lease that is ready.")
    expires_at = now + LIFE if lease.ends_at is None else min(now + LIFE, lease.ends_at)
    claims = {
        "aud": LEASE_TOKEN_AUDIENCE,
        "sub": encode("lse", lease.pk),
        "node": encode("nod", lease.node_id),
        "fence": lease.token,
        "iat": int(now.timestamp()),
        "exp": int(expires_at.timestamp()),
        "jti": str(new_uuid()),
    }
    return jwt.encode(claims, server_key(), algorithm="EdDSA")
