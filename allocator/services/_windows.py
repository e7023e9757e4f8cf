"""Writes windows: the natural key de-duplicates, an equal payload is a duplicate, another one a conflict."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

from django.db import connection

from allocator.models import Lease
from allocator.services._dirty import bucket_of, mark_buckets
from plumbing.db import transaction_required
from vxpu.wire.usage import UsageEvent, UsageStatus

# What the agent measured, by the names of the wire, which are the table's as well; then what the server adds.
_MEASURED = {
    "window_start": "timestamptz", "window_s": "integer", "token": "bigint", "granted_permille_s": "bigint",
    "used_permille_s": "bigint", "granted_mib_s": "bigint", "peak_mib": "bigint", "energy_mj": "bigint",
    "throttled_ms": "bigint", "copied_bytes": "bigint", "state": "text", "contended": "boolean", "seq": "bigint",
    "prev_hash": "text", "clock_offset_ms": "bigint", "mono_ns": "bigint",
}  # fmt: skip
_NAMES = ", ".join(_MEASURED)
_TYPED = ", ".join(f"{name} {kind}" for name, kind in _MEASURED.items())
# One JSON text for all rows: making SQL arrays of 21 columns in Python costs more than everything else here together.
_INSERT = f"""
INSERT INTO allocator_usagewindow (lease_id, tenant_id, node_id, payload_digest, received_at, {_NAMES})
SELECT lease_id, tenant_id, node_id, decode(digest, 'hex'), %s, {_NAMES}
  FROM json_to_recordset(%s) AS r (lease_id uuid, tenant_id uuid, node_id uuid, digest text, {_TYPED})
ON CONFLICT (lease_id, window_start) DO NOTHING RETURNING lease_id::text, window_start
"""  # noqa: S608 - names of our own
_PRESENT = """
SELECT w.lease_id::text, w.window_start, encode(w.payload_digest, 'hex')
  FROM unnest(%s::uuid[], %s::timestamptz[]) AS k (lease_id, window_start)
  JOIN allocator_usagewindow w ON w.lease_id = k.lease_id AND w.window_start = k.window_start
"""

Key = tuple[str, datetime]


class Measured:
    """An event that counts, unless its key is taken. `digest` is over the payload as the server reads it."""

    __slots__ = ("digest", "key", "lease", "payload")

    def __init__(self, *, event: UsageEvent, lease: Lease) -> None:
        self.lease = lease
        self.payload = event.data.model_dump_json()
        self.digest = hashlib.sha256(self.payload.encode()).hexdigest()
        self.key: Key = (str(lease.pk), event.data.window_start)

    def row(self) -> str:
        """A JSON object of the table's columns."""
        lease = self.lease
        added = f',"lease_id":"{lease.pk}","tenant_id":"{lease.tenant_id}","node_id":"{lease.node_id}"'
        return f'{self.payload[:-1]}{added},"digest":"{self.digest}"}}'


@transaction_required
def store(*, measured: Sequence[Measured], received_at: datetime) -> list[UsageStatus]:
    """ACCEPTED, DUPLICATE or CONFLICT for each. The rating buckets of what is new are marked in this transaction."""
    first: dict[Key, Measured] = {}
    for item in measured:
        first.setdefault(item.key, item)
    new = _insert(first, received_at)
    present = _read_present([key for key in first if key not in new])
    statuses = []
    for item in measured:
        if first[item.key] is item and item.key in new:
            statuses.append(UsageStatus.ACCEPTED)
        else:
            kept = first[item.key].digest if item.key in new else present[item.key]
            statuses.append(UsageStatus.DUPLICATE if kept == item.digest else UsageStatus.CONFLICT)
    buckets = {start: bucket_of(start) for start in {start for _, start in new}}
    mark_buckets(keys={(first[key].lease, buckets[key[1]]) for key in new}, now=received_at)
    return statuses


def _insert(first: dict[Key, Measured], received_at: datetime) -> set[Key]:
    """In the order of the key, so that two senders of the same windows never wait for each other in a ring."""
    if not first:
        return set()
    rows = ",".join(first[key].row() for key in sorted(first))
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [received_at, f"[{rows}]"])
        return set(cursor.fetchall())


def _read_present(keys: Sequence[Key]) -> dict[Key, str]:
    """A new statement, so it sees what the senders before us have committed."""
    if not keys:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_PRESENT, [[key[0] for key in keys], [key[1] for key in keys]])
        return {(lease_id, start): digest for lease_id, start, digest in cursor.fetchall()}
