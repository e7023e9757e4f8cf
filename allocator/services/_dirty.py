"""Which rating buckets must be computed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from uuid import UUID

from django.conf import settings
from django.db import connection

from allocator.models import Lease
from plumbing.db import transaction_required
from vxpu.ids import new_uuid

# DO UPDATE, not DO NOTHING: it locks the row, so that a taker (SKIP LOCKED) cannot delete the mark before this
# transaction's facts are visible.
_MARK = """
INSERT INTO allocator_dirtyhour AS d (id, tenant_id, created_at, lease_id, owner, starts_at)
SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::uuid[], %s::uuid[], %s::timestamptz[])
ON CONFLICT (lease_id, starts_at) DO UPDATE SET created_at = greatest(d.created_at, excluded.created_at)
"""


def bucket_of(at: datetime) -> datetime:
    """The start of the rating period that holds `at`, on the grid since the epoch."""
    seconds = int(at.timestamp())
    return datetime.fromtimestamp(seconds - seconds % settings.VXPU_RATING_PERIOD_S, tz=UTC)


@transaction_required
def mark_dirty(*, leases: Sequence[Lease], at: datetime, now: datetime) -> None:
    """The bucket of `at`, for leases that were ever ready."""
    mark_buckets(keys=[(lease, bucket_of(at)) for lease in leases if lease.ready_at is not None], now=now)


@transaction_required
def mark_buckets(*, keys: Iterable[tuple[Lease, datetime]], now: datetime) -> None:
    """In one order, so that two markers never wait for each other in a ring."""
    wanted: dict[tuple[UUID, datetime], Lease] = {(lease.pk, starts_at): lease for lease, starts_at in keys}
    if not wanted:
        return
    rows = [
        (new_uuid(), lease.tenant_id, now, lease.pk, lease.owner, starts_at)
        for (_, starts_at), lease in sorted(wanted.items(), key=lambda item: item[0])
    ]
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [list(column) for column in zip(*rows, strict=True)])
