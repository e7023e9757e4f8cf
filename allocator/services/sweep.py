"""The tripwire: nothing is over capacity, whatever path wrote it."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """`subject` is a device or a lease; `found` exceeds `allowed` from `at` on."""

    kind: str
    subject: UUID
    at: datetime | None
    found: int
    allowed: int


def sweep() -> list[Violation]:
    """Every violation, logged as an error as well."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT kind, subject, at, found, allowed FROM allocator_sweep() ORDER BY kind, subject")
        rows = cursor.fetchall()
    found = [Violation(kind=row[0], subject=row[1], at=row[2], found=row[3], allowed=row[4]) for row in rows]
    for violation in found:
        log.error("Capacity sweep: %s", violation)
    return found
