"""Row locks in one order, everywhere: quote < quota < reservation < account < node < device < lease.

Quota, then reservation, are locked here; billing locks the account and allocator the rest, in that order, when called.
Quota rows are locked from the root down: cohorts, then the tenant's, then the project's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from marketplace.errors import QuotaMoved
from marketplace.models import EVERYWHERE, Cohort, Quota, Reach, Reservation
from plumbing.db import transaction_required
from plumbing.errors import NotFound
from plumbing.rowsec import system_scope

_BOOKED = (
    "state", "version", "lease_id", "memory_mib", "share_permille", "starts_at", "ends_at", "released_at",
)  # fmt: skip


@transaction_required
def lock_quotas(*, tenant_id: UUID, way_up: Sequence[UUID]) -> list[Quota]:
    """The tenant's row, made with the defaults if it is missing, then those of its projects.

    `way_up`, the cohorts above as they were read, are locked before them from the root down. Raises QuotaMoved if the
    tenant is in another one now.
    """
    lock_cohorts(cohort_ids=way_up[::-1])
    rows = _quota_rows(tenant_id)
    if not rows or rows[0].project_id is not None:
        Quota.objects.bulk_create([Quota(tenant_id=tenant_id)], ignore_conflicts=True)
        rows = _quota_rows(tenant_id)
    if rows[0].cohort_id != (way_up[0] if way_up else None):
        raise QuotaMoved(suggestion="Try again.")
    return rows


@transaction_required
def lock_cohorts(*, cohort_ids: Sequence[UUID]) -> None:
    """One after the other in the order given, which is from the root down. Raises NotFound for one that is gone."""
    with system_scope():
        for cohort_id in cohort_ids:
            if Cohort.objects.select_for_update(no_key=True).filter(pk=cohort_id).first() is None:
                raise NotFound("There is no such cohort.", suggestion="See /api/v1/cohorts.")


def _quota_rows(tenant_id: UUID) -> list[Quota]:
    statement = "SELECT * FROM marketplace_quota WHERE tenant_id = %s ORDER BY project_id NULLS FIRST FOR UPDATE"
    return list(Quota.objects.raw(statement, [tenant_id]))


@contextmanager
def alone(work: str) -> Iterator[None]:
    """One run of this work at a time, over all processes; a process that dies lets go. Take it before any row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [work])
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [work])


@transaction_required
def lock_reservations(*, reservation_ids: Collection[UUID]) -> list[Reservation]:
    """The rows as they are now, locked by ascending id; ids that there are not are left out."""
    rows = EVERYWHERE.rows().select_for_update(no_key=True).filter(pk__in=reservation_ids)
    return list(rows.order_by("pk"))


@transaction_required
def lock_unchanged(*, seen: Collection[Reservation]) -> set[UUID]:
    """Locks these rows by ascending id, and tells which of them are still as they were read in all that a booking
    depends on."""
    rows = EVERYWHERE.rows().select_for_update(no_key=True).filter(pk__among=[row.pk for row in seen])
    found = _booked(rows.order_by("pk"))
    return {row.pk for row in seen if found.get(row.pk) == booked_of(row)}


def read_booked(which: Q) -> dict[UUID, tuple[Any, ...]]:
    """`booked_of` the rows as they are now, by id, by purchase; nothing is locked."""
    return _booked(EVERYWHERE.rows().filter(which).order_by("created_at", "pk"))


def booked_of(row: Reservation) -> tuple[Any, ...]:
    """All of a row that a booking depends on and that may change."""
    return tuple(getattr(row, name) for name in _BOOKED)


def _booked(rows: QuerySet[Reservation]) -> dict[UUID, tuple[Any, ...]]:
    return {row_id: tuple(values) for row_id, *values in rows.values_list("pk", *_BOOKED)}


@transaction_required
def lock_reservation(*, reservation_id: UUID, reach: Reach = EVERYWHERE) -> Reservation:
    """The row as it is now. Raises NotFound, also for one out of reach."""
    row = reach.rows().select_for_update(no_key=True).filter(pk=reservation_id).first()
    if row is None:
        raise NotFound("There is no such reservation.", suggestion="List yours at /api/v1/reservations.")
    return row
