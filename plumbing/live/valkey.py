"""This process's clients of Valkey: for services that are called from threads, and for a loop."""

from __future__ import annotations

from functools import lru_cache

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.retry import Retry as SyncRetry

VALKEY_AWAY = (redis.RedisError, OSError)


def valkey() -> redis.Redis:
    """Raises redis.RedisError or OSError at its use, within 4 s, when Valkey is away (at once when nobody listens)."""
    return _client(settings.REDIS_URL)


@lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    # One more try, at once: a link of the pool may have died with the server that is back by now.
    once_more = SyncRetry(NoBackoff(), 1)
    return redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=1, retry=once_more)


def listening_valkey() -> redis.asyncio.Redis:
    """For a subscription: it waits without end, and a broken one is known at once."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_connect_timeout=2, socket_keepalive=True, retry=Retry(NoBackoff(), 0)
    )


def loop_valkey() -> redis.asyncio.Redis:
    """One try: a Valkey that is away must not hold a heartbeat up. Each stream that is read takes a link."""
    return redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=3,
        socket_connect_timeout=2,
        max_connections=10_000,
        retry=Retry(NoBackoff(), 0),
    )
