"""Let a tenant start a program in his lease through the server: a ticket now, the program when its stream is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import redis
from django.conf import settings

from allocator.errors import ExecUnavailable, LeaseNotReady, TooManyExecs
from allocator.models import Lease
from allocator.services import _exec_keys as keys
from allocator.services.lease_token import issue_lease_token
from plumbing.live import tickets
from plumbing.live.valkey import valkey
from vxpu.ids import decode, encode, new_uuid
from vxpu.states import LeaseState
from vxpu.wire.exec import STREAM_PATH
from vxpu.wire.node import RemoteExec

# A place among the lease's programs, in one step: two requests may both see the last one free.
_TAKE_PLACE = """
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[4])
redis.call('EXPIRE', KEYS[1], ARGV[5])
return 1
"""


@dataclass(frozen=True, slots=True)
class OpenedExec:
    """`ticket` opens `stream_url` once, until `expires_at`."""

    id: UUID
    ticket: str
    stream_url: str
    expires_at: datetime


def open_exec(*, lease: Lease, argv: Sequence[str], env: Mapping[str, str], now: datetime) -> OpenedExec:
    """Nothing runs yet. Raises LeaseNotReady, TooManyExecs, ExecUnavailable."""
    if lease.state != LeaseState.READY:
        raise LeaseNotReady(f"It is {lease.state}.", suggestion="Wait until it is ready: vxpu lease wait.")
    identity = new_uuid()
    order = RemoteExec(
        exec_id=encode("exe", identity),
        lease_token=issue_lease_token(lease=lease, now=now),
        argv=list(argv),
        env=dict(env),
    )
    try:
        _take_place(lease.pk, order.exec_id, now=now)
        _keep(lease.pk, order, now=now)
        opens = keys.Ticket(node_id=lease.node_id, lease_id=lease.pk, order=order)
        ticket = tickets.issue("exec", opens.model_dump_json())
    except (redis.RedisError, OSError) as error:
        raise ExecUnavailable(suggestion="Send it again in a few seconds.") from error
    return OpenedExec(
        id=identity,
        ticket=ticket,
        stream_url=settings.VXPU_PUBLIC_SOCKET_URL.rstrip("/") + STREAM_PATH,
        expires_at=now + timedelta(seconds=tickets.TICKET_S),
    )


def _take_place(lease_id: UUID, exec_id: str, *, now: datetime) -> None:
    at, most = now.timestamp(), settings.VXPU_EXECS_PER_LEASE
    arguments = [str(at), str(at + tickets.TICKET_S), str(most), exec_id, str(settings.VXPU_EXEC_LOG_TTL_S)]
    if not valkey().eval(_TAKE_PLACE, 1, keys.running_key(lease_id), *arguments):
        raise TooManyExecs(f"{most} run in it.", suggestion="Wait for one to end, or end one.")


def _keep(lease_id: UUID, order: RemoteExec, *, now: datetime) -> None:
    """Record it, and forget the oldest that do not run: a lease keeps so many. The environment is not recorded."""
    life, kept = settings.VXPU_EXEC_LOG_TTL_S, keys.kept_key(lease_id)
    argv = json.dumps(order.argv)
    record: dict[Any, Any] = {"lease": str(lease_id), "argv": argv, "created_at": now.isoformat()}
    pipe = valkey().pipeline(transaction=False)
    pipe.hset(keys.record_key(order.exec_id), mapping=record)
    pipe.expire(keys.record_key(order.exec_id), life)
    pipe.zadd(kept, {order.exec_id: decode("exe", order.exec_id).int >> 80})  # UUIDv7: milliseconds
    pipe.expire(kept, life)
    pipe.zrange(kept, 0, -settings.VXPU_EXEC_LOGS_PER_LEASE - 1)
    pipe.zrange(keys.running_key(lease_id), 0, -1)
    *_, oldest, running = pipe.execute()
    for exec_id in {one.decode() for one in oldest} - {one.decode() for one in running}:
        valkey().zrem(kept, exec_id)
        valkey().delete(keys.record_key(exec_id), keys.stream_key(exec_id))
