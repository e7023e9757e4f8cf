"""Each end of a remote program shows that its process lives and watches the other: either may be killed at any time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import redis.asyncio
from django.conf import settings
from django.utils import timezone

from allocator.services import _exec_keys as keys
from plumbing.live.valkey import VALKEY_AWAY
from vxpu.wire.exec import ExecEnded

log = logging.getLogger(__name__)


class Beat:
    """`on_silence` is awaited, at each beat, while the other end has not been heard for ALIVE_S."""

    def __init__(
        self,
        valkey: redis.asyncio.Redis,
        exec_id: str,
        lease_id: UUID,
        end: keys.End,
        on_silence: Callable[[], Awaitable[None]],
    ) -> None:
        self._valkey = valkey
        self._exec_id = exec_id
        self._lease_id = lease_id
        self._end: keys.End = end
        self._other: keys.End = "client" if end == "node" else "node"
        self._on_silence = on_silence
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """The first beat is out when it returns. Raises redis.RedisError, OSError."""
        await self._once()
        self._task = asyncio.create_task(self._go_on())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _go_on(self) -> None:
        misses = 0
        while True:
            await asyncio.sleep(keys.BEAT_S)
            try:
                # One miss may be a Valkey that has just come back empty.
                misses = 0 if await self._once() else misses + 1
            except VALKEY_AWAY:
                log.warning("Valkey is away; the beat of %s is late", self._exec_id)
            if misses > 1:
                await self._on_silence()

    async def _once(self) -> bool:
        """Renew all that would lapse; whether the other end is there."""
        life = settings.VXPU_EXEC_LOG_TTL_S
        lapses_at = timezone.now().timestamp() + keys.ALIVE_S
        pipe = self._valkey.pipeline(transaction=False)
        pipe.exists(keys.alive_key(self._exec_id, self._other))
        pipe.set(keys.alive_key(self._exec_id, self._end), 1, ex=keys.ALIVE_S)
        pipe.zadd(keys.running_key(self._lease_id), {self._exec_id: lapses_at}, xx=True)
        for key in (
            keys.running_key(self._lease_id),
            keys.kept_key(self._lease_id),
            keys.record_key(self._exec_id),
            keys.stream_key(self._exec_id),
        ):
            pipe.expire(key, life)
        return bool((await pipe.execute())[0])


async def record_end(
    valkey: redis.asyncio.Redis, exec_id: str, lease_id: UUID, ended: ExecEnded, *, now: datetime
) -> None:
    """For the log; and the program gives its place up. Raises redis.RedisError, OSError."""
    life = settings.VXPU_EXEC_LOG_TTL_S
    end: dict[Any, Any] = {"ended_at": now.isoformat(), "code": ended.code, "platform": ended.platform}
    pipe = valkey.pipeline(transaction=False)
    pipe.hset(keys.record_key(exec_id), mapping=end)
    pipe.expire(keys.record_key(exec_id), life)
    pipe.expire(keys.stream_key(exec_id), life)
    pipe.zrem(keys.running_key(lease_id), exec_id)
    await pipe.execute()
