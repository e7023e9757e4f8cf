"""How a subscription begins, and how it goes on after a break: by what was missed, or by a snapshot."""

from __future__ import annotations

import json
from typing import Any

import redis.asyncio

from plumbing.live.database import in_scope_of
from plumbing.live.publish import stream_of
from plumbing.live.rooms import NOTHING, Subscription, number_of
from plumbing.live.valkey import VALKEY_AWAY
from plumbing.principal import Principal
from vxpu.wire.live import Gap, Resumed, Snapshot


async def catch_up(
    subscription: Subscription, *, since: str, principal: Principal, valkey: redis.asyncio.Redis
) -> None:
    """After `since` everything in order and once, or (a `Gap` and) a `Snapshot`. Raises DomainError, DATABASE_AWAY.

    The subscription must be in its room already: news that comes meanwhile is held, and what is older than the
    snapshot is dropped. The stream's last number is read before the rows: news of a lower one was committed before.
    """
    async with subscription.turn:
        subscription.held = subscription.held or []
        missed = await _read_since(valkey, subscription.view.feed, since) if since else None
        if missed is not None:
            subscription.seq = since
            subscription.outlet.put_state(Resumed(topic=subscription.topic, seq=since).model_dump_json())
            for seq, data in missed:
                subscription.say_delta(seq, data)
        else:
            await _snapshot(subscription, valkey, principal, is_gap=bool(since))
        if not subscription.is_over:
            subscription.pass_on()


async def _snapshot(
    subscription: Subscription, valkey: redis.asyncio.Redis, principal: Principal, *, is_gap: bool
) -> None:
    seq = await _last_seq(valkey, subscription.view.feed)
    data = await in_scope_of(principal, subscription.view.snapshot)
    if subscription.is_over:
        return
    if is_gap:
        subscription.outlet.put_state(Gap(topic=subscription.topic).model_dump_json())
    subscription.seq = seq
    subscription.outlet.put_state(Snapshot(topic=subscription.topic, seq=seq, data=data).model_dump_json())


async def _last_seq(valkey: redis.asyncio.Redis, feed: str) -> str:
    """`NOTHING` when nothing is kept, or Valkey is away: then a snapshot follows when it is back."""
    try:
        found: Any = await valkey.xrevrange(stream_of(feed), count=1)
    except VALKEY_AWAY:
        return NOTHING
    return str(found[0][0].decode()) if found else NOTHING


async def _read_since(valkey: redis.asyncio.Redis, feed: str, since: str) -> list[tuple[str, Any]] | None:
    """What came after `since`; None if that is not known: then `since` itself is not there any more.

    Only the oldest are dropped from a stream, so everything after one that is there is there too.
    """
    try:
        number_of(since)
        found: Any = await valkey.xrange(stream_of(feed), min=since)
    except (*VALKEY_AWAY, ValueError):
        return None
    if not found or found[0][0].decode() != since:
        return None
    return [(entry.decode(), json.loads(fields[b"d"])) for entry, fields in found[1:]]
