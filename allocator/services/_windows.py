"""Writes windows: the natural key de-duplicates, an equal payload is a duplicate, another one a conflict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from allocator.models import Lease
from allocator.services._dirty import bucket_of, mark_buckets
from plumbing.db import transaction_required
from vxpu.wire.usage import UsageEvent, UsageStatus

_COLUMNS = {
    "lease_id": "uuid", "window_start": "timestamptz", "tenant_id": "uuid", "node_id": "uuid", "window_s": "integer",
    "token": "bigint", "granted_permille_s": "bigint", "used_permille_s": "bigint", "granted_mib_s": "bigint",
    "peak_mib": "bigint", "energy_mj": "bigint", "throttled_ms": "bigint", "copied_bytes": "bigint", "state": "text",
    "contended": "boolean", "seq": "bigint", "prev_hash": "text", "clock_offset_ms": "bigint", "mono_ns": "bigint",
    "payload_digest": "bytea", "received_at": "timestamptz",
}  # fmt: skip
_INSERT = (
    f"INSERT INTO allocator_usagewindow ({', '.join(_COLUMNS)}) "  # noqa: S608 - names of our own
    f"SELECT * FROM unnest({', '.join(f'%s::{kind}[]' for kind in _COLUMNS.values())}) "
    "ON CONFLICT (lease_id, window_start) DO NOTHING RETURNING lease_id, window_start"
)
_PRESENT = """
SELECT w.lease_id, w.window_start, w.payload_digest
  FROM unnest(%s::uuid[], %s::timestamptz[]) AS k (lease_id, window_start)
  JOIN allocator_usagewindow w ON w.lease_id = k.lease_id AND w.window_start = k.window_start
"""

Key = tuple[UUID, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """An event that counts, unless its key is taken."""

    event: UsageEvent
    lease: Lease

    @property
    def key(self) -> Key:
        return (self.lease.pk, self.event.data.window_start)

    def digest(self) -> bytes:
        return hashlib.sha256(self.event.data.model_dump_json().encode()).digest()


@transaction_required
def store(*, measured: Sequence[Measured], received_at: datetime) -> list[UsageStatus]:
    """ACCEPTED, DUPLICATE or CONFLICT for each. The rating buckets of what is new are marked in this transaction."""
    first: dict[Key, tuple[Measured, bytes]] = {}
    digests = []
    for item in measured:
        digest = item.digest()
        digests.append(digest)
        first.setdefault(item.key, (item, digest))
    new = _insert(first, received_at)
    present = _read_present([key for key in first if key not in new])
    statuses = []
    claimed: set[Key] = set()
    for item, digest in zip(measured, digests, strict=True):
        if item.key in new and item.key not in claimed:
            claimed.add(item.key)
            statuses.append(UsageStatus.ACCEPTED)
        else:
            kept = first[item.key][1] if item.key in new else present[item.key]
            statuses.append(UsageStatus.DUPLICATE if kept == digest else UsageStatus.CONFLICT)
    mark_buckets(keys=[(first[key][0].lease, bucket_of(key[1])) for key in new], now=received_at)
    return statuses


def _insert(first: dict[Key, tuple[Measured, bytes]], received_at: datetime) -> set[Key]:
    """In the order of the key, so that two senders of the same windows never wait for each other in a ring."""
    if not first:
        return set()
    rows = [_row(*first[key], received_at) for key in sorted(first)]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])
        return set(cursor.fetchall())


def _row(item: Measured, digest: bytes, received_at: datetime) -> tuple[Any, ...]:
    data, lease = item.event.data, item.lease
    return (
        lease.pk, data.window_start, lease.tenant_id, lease.node_id, data.window_s, data.token,
        data.granted_permille_s, data.used_permille_s, data.granted_mib_s, data.peak_mib, data.energy_mj,
        data.throttled_ms, data.copied_bytes, data.state.value, data.contended, data.seq, data.prev_hash,
        data.clock_offset_ms, data.mono_ns, digest, received_at,
    )  # fmt: skip


def _read_present(keys: Sequence[Key]) -> dict[Key, bytes]:
    """A new statement, so it sees what the senders before us have committed."""
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, [[key[0] for key in keys], [key[1] for key in keys]])
        return {(lease_id, start): bytes(digest) for lease_id, start, digest in cursor.fetchall()}
