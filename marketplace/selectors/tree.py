"""Reads of the quota tree and of what is held below it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Least

from marketplace.matching.queue_order import Urgency
from marketplace.models import ENDED, TAKES_CAPACITY, Cohort, Quota, Reservation
from plumbing.errors import NotFound
from plumbing.rowsec import system_scope
from vxpu.slices import Period

NEVER_HELD = ("quoted", "queued", "expired", "rejected")


def list_cohorts() -> QuerySet[Cohort]:
    """The operator's rows: to be read in the system scope."""
    return Cohort.objects.order_by("name")


def way_up(*, cohort_id: UUID | None) -> list[Cohort]:
    """The cohort, its parent and so on to the root. Raises NotFound for an unknown one."""
    with system_scope():
        known = {row.pk: row for row in Cohort.objects.all()} if cohort_id is not None else {}
    way: list[Cohort] = []
    while cohort_id is not None:
        row = known.pop(cohort_id, None)
        if row is None:
            raise NotFound("There is no such cohort.", suggestion="See /api/v1/cohorts.")
        way.append(row)
        cohort_id = row.parent_id
    return way


def cohort_of(*, tenant_id: UUID) -> UUID | None:
    """Of a tenant, unlocked."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT cohort_id FROM marketplace_quota WHERE tenant_id = %s AND project_id IS NULL", [tenant_id]
        )
        found = cursor.fetchone()
    return None if found is None else found[0]


def list_quotas_of_cohorts(*, cohorts: Collection[UUID]) -> QuerySet[Quota]:
    """Tenants' rows of these cohorts, and their projects'. To be read in the system scope."""
    tenants = Quota.objects.filter(cohort__in=cohorts).values("tenant_id")
    return Quota.objects.filter(tenant_id__in=tenants).order_by("tenant_id", F("project_id").asc(nulls_first=True))


def list_held(
    *, tenants: Collection[UUID], period: Period, leave_out: UUID | None
) -> list[tuple[UUID, UUID, datetime, datetime | None, int, int]]:
    """(tenant, project, start, end, permille, MiB) of what takes capacity in the period, by start. What has its notice
    ends with it."""
    rows = Reservation.objects.filter(tenant_id__in=tenants, state__in=TAKES_CAPACITY)
    rows = rows.annotate(until=Least("ends_at", "evict_at")).filter(Q(until=None) | Q(until__gt=period.starts_at))
    if period.ends_at is not None:
        rows = rows.filter(starts_at__lt=period.ends_at)
    if leave_out is not None:
        rows = rows.exclude(pk=leave_out)
    names = ("tenant_id", "project_id", "starts_at", "until", "share_permille", "memory_mib")
    return list(rows.order_by("starts_at", "id").values_list(*names))


def urgent_permille(*, tenant_id: UUID) -> int:
    """What a tenant asks for or holds as urgent."""
    rows = Reservation.objects.filter(tenant_id=tenant_id, priority=Urgency.URGENT).exclude(state__in=ENDED)
    return int(rows.aggregate(sum=Sum("share_permille"))["sum"] or 0)


# A reservation holds from its start until it ended, else until its booked end, else until now.
_HELD = """
WITH held AS (
    SELECT tenant_id, project_id, share_permille, memory_mib, greatest(starts_at, %(since)s) AS lo,
           least(coalesce(ended_at, ends_at, %(until)s), coalesce(ends_at, %(until)s), %(until)s) AS hi
    FROM marketplace_reservation
    WHERE lease_id IS NOT NULL AND state <> ALL (%(never)s) AND starts_at < %(until)s
      AND coalesce(ended_at, ends_at, %(until)s) > %(since)s
)
SELECT tenant_id, project_id, step,
       sum(share_permille * extract(epoch FROM least(hi, step + %(step)s) - greatest(lo, step)))::bigint,
       sum(memory_mib * extract(epoch FROM least(hi, step + %(step)s) - greatest(lo, step)))::bigint
FROM held JOIN LATERAL generate_series(%(since)s::timestamptz, %(until)s::timestamptz - %(step)s, %(step)s) AS step
     ON step < hi AND step + %(step)s > lo
WHERE lo < hi
GROUP BY tenant_id, project_id, step ORDER BY project_id, step
"""


def list_held_by_step(
    *, since: datetime, until: datetime, step: timedelta
) -> list[tuple[UUID, UUID, datetime, int, int]]:
    """(tenant, project, step's start, permille-seconds, MiB-seconds) of the steps in [since, until) with some."""
    if since >= until:
        return []
    values: dict[str, Any] = {"since": since, "until": until, "step": step, "never": sorted(NEVER_HELD)}
    with connection.cursor() as cursor:
        cursor.execute(_HELD, values)
        return list(cursor.fetchall())
