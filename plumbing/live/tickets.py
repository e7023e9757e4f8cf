"""A ticket opens one socket once: 256 random bits, of which Valkey keeps a digest for half a minute.

Browsers cannot set a socket's headers, and what stands in an address ends up in logs.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Literal

import redis.asyncio

from plumbing.live.valkey import valkey

TICKET_S = 30
Kind = Literal["exec", "live"]


def issue(kind: Kind, content: str) -> str:
    """A ticket that opens `content`. Raises redis.RedisError, OSError."""
    ticket = f"vxt_{secrets.token_urlsafe(32)}"
    valkey().set(key_of(kind, ticket), content, ex=TICKET_S)
    return ticket


async def redeem(client: redis.asyncio.Redis, kind: Kind, ticket: str) -> str | None:
    """What it opens; None if it is unknown, used or lapsed. Raises redis.RedisError, OSError."""
    found: Any = await client.getdel(key_of(kind, ticket))
    return None if found is None else str(found.decode())


def key_of(kind: Kind, ticket: str) -> str:
    return f"vxpu:ticket:{kind}:{hashlib.sha256(ticket.encode()).hexdigest()}"
