"""This process's client of Valkey, for services that are called from threads."""

from __future__ import annotations

from functools import lru_cache

import redis
from django.conf import settings


def valkey() -> redis.Redis:
    """Raises redis.RedisError or OSError at its use, within 2 s, when Valkey is away."""
    return _client(settings.REDIS_URL)


@lru_cache(maxsize=4)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2)
