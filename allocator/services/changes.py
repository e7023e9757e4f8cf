"""The list of changes that pictures are brought up to date from is short: a picture that slept is read anew."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from plumbing import db


@db.transaction
def forget_old(*, now: datetime) -> int:
    """Rows that no picture asks for any more; returns how many."""
    kept = timedelta(seconds=20 * settings.VXPU_PICTURE_PAUSE_S)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM allocator_change WHERE at < %s", [now - kept])
        return int(cursor.rowcount)
