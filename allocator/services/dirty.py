"""Hand the rating buckets that must be computed again to their taker."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import connection

from plumbing.db import transaction_required
from vxpu.market import DirtyHour

_TAKE = """
DELETE FROM allocator_dirtyhour WHERE id IN (
    SELECT id FROM allocator_dirtyhour ORDER BY created_at, id LIMIT %s FOR UPDATE SKIP LOCKED)
RETURNING lease_id, tenant_id, owner, starts_at
"""


@transaction_required
def take_dirty_hours(*, limit: int) -> list[DirtyHour]:
    """Up to `limit`, ordered by lease and start. They come back if the caller's transaction rolls back."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [limit])
        rows: list[tuple[UUID, UUID, UUID, datetime]] = cursor.fetchall()
    taken = [DirtyHour(lease_id=row[0], tenant_id=row[1], owner=row[2], starts_at=row[3]) for row in rows]
    return sorted(taken, key=lambda hour: (hour.lease_id, hour.starts_at))
