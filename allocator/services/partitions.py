"""A partition of the usage windows for each day that may come."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.db import connection

from plumbing import db

AHEAD = 7
# Days that this process has seen, per database: the look-up is on the path of every batch.
_seen: Final[set[tuple[str, date]]] = set()


def day_of(at: datetime) -> date:
    """The partition's day, in UTC."""
    return at.astimezone(UTC).date()


def ensure_partitions(*, days: Iterable[date]) -> None:
    """Make what is missing, each in a transaction of its own: rows of other writers are never waited for."""
    for day in sorted(set(days)):
        mark = (str(connection.settings_dict["NAME"]), day)
        if mark not in _seen:
            _ensure(day)
            if not connection.in_atomic_block:  # else a rollback could still take it back
                _seen.add(mark)


@db.transaction
def _ensure(day: date) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT allocator_ensure_window_partition(%s)", [day])


def ensure_ahead(*, now: datetime) -> None:
    """Yesterday to a week ahead. For a daily task."""
    today = day_of(now)
    ensure_partitions(days=[today + timedelta(days=offset) for offset in range(-1, AHEAD + 1)])
