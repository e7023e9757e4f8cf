"""What programs that were started through the server wrote of late: kept in Valkey for a while, and it may be lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import redis
from pydantic import TypeAdapter

from allocator.errors import ExecUnavailable
from allocator.services import _exec_keys as keys
from plumbing.errors import NotFound
from plumbing.live.valkey import valkey
from vxpu.ids import decode, encode
from vxpu.wire.exec import ExecOutput, FromStream

_MESSAGES: TypeAdapter[Any] = TypeAdapter(FromStream)


@dataclass(frozen=True, slots=True)
class ExecView:
    """`code` and `platform` are the end's, as in vxpu/wire/exec.py; None while it runs, or if nobody saw its end."""

    id: UUID
    argv: list[str]
    created_at: datetime
    running: bool
    ended_at: datetime | None
    code: int | None
    platform: str | None


@dataclass(frozen=True, slots=True)
class ExecLog:
    """`truncated`: the beginning is not kept any more."""

    exec: ExecView
    truncated: bool
    output: list[ExecOutput]


def list_execs(*, lease_id: UUID, now: datetime) -> list[ExecView]:
    """Newest first. Raises ExecUnavailable."""
    try:
        ids = [one.decode() for one in cast("list[bytes]", valkey().zrevrange(keys.kept_key(lease_id), 0, -1))]
        found = [(exec_id, _record(exec_id)) for exec_id in ids]
        running = _running(lease_id, now=now)
    except (redis.RedisError, OSError) as error:
        raise ExecUnavailable(suggestion="Try again in a few seconds.") from error
    return [_view(exec_id, record, running) for exec_id, record in found if record]


def read_exec(*, lease_id: UUID, exec_id: UUID, now: datetime) -> ExecLog:
    """Raises NotFound for another lease's and for one that is not kept any more; ExecUnavailable."""
    name = encode("exe", exec_id)
    try:
        record = _record(name)
        entries = cast("list[tuple[bytes, dict[bytes, bytes]]]", valkey().xrange(keys.stream_key(name)))
        running = _running(lease_id, now=now)
    except (redis.RedisError, OSError) as error:
        raise ExecUnavailable(suggestion="Try again in a few seconds.") from error
    if record.get("lease") != str(lease_id):
        raise NotFound(f"Nothing is kept of {name}.", suggestion="Logs are kept for a short time only.")
    messages = [_MESSAGES.validate_json(fields[b"m"]) for _, fields in entries]
    return ExecLog(
        exec=_view(name, record, running),
        truncated=bool(entries) and int(entries[0][1][b"n"]) > 0,
        output=[message for message in messages if isinstance(message, ExecOutput)],
    )


def _record(exec_id: str) -> dict[str, str]:
    found = cast("dict[bytes, bytes]", valkey().hgetall(keys.record_key(exec_id)))
    return {name.decode(): value.decode() for name, value in found.items()}


def _running(lease_id: UUID, *, now: datetime) -> set[str]:
    found = cast("list[bytes]", valkey().zrangebyscore(keys.running_key(lease_id), now.timestamp(), "+inf"))
    return {one.decode() for one in found}


def _view(exec_id: str, record: Mapping[str, str], running: set[str]) -> ExecView:
    ended = record.get("ended_at")
    return ExecView(
        id=decode("exe", exec_id),
        argv=json.loads(record["argv"]),
        created_at=datetime.fromisoformat(record["created_at"]),
        running=ended is None and exec_id in running,
        ended_at=datetime.fromisoformat(ended) if ended else None,
        code=int(record["code"]) if "code" in record else None,
        platform=record.get("platform"),
    )
