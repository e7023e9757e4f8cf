"""Quiet hours: when leases may be moved for tidiness' sake."""

from __future__ import annotations

from datetime import UTC, datetime, time

from django.conf import settings


def is_quiet(now: datetime) -> bool:
    """Within ``VXPU_QUIET_HOURS`` (``"22:00-06:00"`` in UTC, over midnight too); empty is never."""
    text: str = settings.VXPU_QUIET_HOURS
    if not text:
        return False
    first, last = (time.fromisoformat(part.strip()) for part in text.split("-"))
    at = now.astimezone(UTC).time()
    return first <= at < last if first <= last else at >= first or at < last
