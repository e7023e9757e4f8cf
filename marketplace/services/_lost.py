"""Who has lost his place, and who is about to. A row that was read ahead and is still the same is not read again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import Q

from allocator import facade as allocator
from marketplace import locks
from marketplace.models import EVERYWHERE, Reservation, ReservationState
from marketplace.services._relocation import RUNNING

S = ReservationState
# Losses that are older have been followed up by `reconcile`.
LOOK_BACK = timedelta(minutes=5)
# Columns of a reservation that no place depends on.
_UNREAD = (
    "agreed_prices", "changed_at", "changed_by", "change_reason", "checkpointed_at", "earlier_start_at", "end_reason",
    "ended_at", "estimated_start_at", "estimated_start_by", "evict_at", "next_try_at", "notice_at", "planned_device_id",
    "planned_start_at", "queued_until", "quote_id", "rated_as_of", "rated_through", "requested_by", "waits_for",
)  # fmt: skip


class Found(NamedTuple):
    """Whoever bought first comes first; `known` are as they were read ahead."""

    rows: list[Reservation]
    known: frozenset[UUID]


class Lost:
    """One a process. Rows by id, for the next verdict."""

    def __init__(self) -> None:
        self._ahead: dict[UUID, Reservation] = {}

    def find(self, *, now: datetime) -> Found:
        """Who has no place now."""
        lost = allocator.list_lost(since=now - LOOK_BACK)
        found = self._read(Q(state__in=RUNNING | {S.ENDING, S.PREEMPTING}, lease_id__among=lost) | Q(state=S.MOVING))
        known = frozenset(row.pk for row in found if self._ahead.get(row.pk) is row)
        self._ahead = {}  # from here on they change
        return Found(found, known)

    def find_ahead(self, owners: Collection[UUID]) -> list[Reservation]:
        """Those of them that run, in the same order."""
        found = self._read(Q(state__in=RUNNING, pk__among=owners)) if owners else []
        self._ahead = {row.pk: row for row in found}
        return found

    def _read(self, which: Q) -> list[Reservation]:
        if not self._ahead:
            return self._rows(which)
        now_so = locks.read_booked(which)
        same = {pk: row for pk, row in self._ahead.items() if now_so.get(pk) == locks.booked_of(row)}
        rows = same | {row.pk: row for row in self._rows(Q(pk__among=now_so.keys() - same.keys()))}
        return [rows[pk] for pk in now_so if pk in rows]

    def _rows(self, which: Q) -> list[Reservation]:
        return list(EVERYWHERE.rows().filter(which).defer(*_UNREAD).order_by("created_at", "pk"))


LOST = Lost()
