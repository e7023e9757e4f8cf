"""Lent quota that its owner needs back: who uses more than his own while the owner does not even have his.

A tenant reclaims only up to its own nominal, and only from tenants of the same tree of cohorts that are over theirs:
of those the newest preemptible reservations, no more than what brings each back to its nominal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from marketplace.matching.quota_tree import Amount
from marketplace.models import Cohort, Quota, Reservation
from marketplace.selectors import tree as tree_rows
from vxpu.slices import Period

_INSTANT = timedelta(microseconds=1)


def reclaims_of(row: Reservation, preemptible: Iterable[Reservation], *, now: datetime) -> frozenset[UUID]:
    """Of the preemptible reservations those that `row` may take back; none for a tenant without a cohort."""
    cohort_id = tree_rows.cohort_of(tenant_id=row.tenant_id)
    if cohort_id is None:
        return frozenset()
    nominals = _nominals_of_tree(cohort_id)
    held = _held_by(nominals.keys(), now=now)
    mine, asked = held[row.tenant_id], Amount(row.share_permille, row.memory_mib)
    if not _within(_sum(mine, asked), nominals[row.tenant_id]):
        return frozenset()
    found = set()
    for one in sorted(preemptible, key=lambda one: (one.created_at, one.pk), reverse=True):
        nominal = nominals.get(one.tenant_id)
        if one.tenant_id == row.tenant_id or nominal is None or _within(held[one.tenant_id], nominal):
            continue
        found.add(one.pk)
        held[one.tenant_id] = _sum(held[one.tenant_id], Amount(-one.share_permille, -one.memory_mib))
    return frozenset(found)


def _nominals_of_tree(cohort_id: UUID) -> dict[UUID, Amount]:
    """Each tenant's own nominal, of all tenants below the same root."""
    root = tree_rows.way_up(cohort_id=cohort_id)[-1].pk
    parents: Mapping[UUID, UUID | None] = dict(Cohort.objects.values_list("id", "parent_id"))
    cohorts = [one for one in parents if _root_of(one, parents) == root]
    rows = Quota.objects.filter(cohort__in=cohorts, project_id=None)
    return {row.tenant_id: Amount(row.nominal_permille, row.nominal_mib) for row in rows}


def _root_of(cohort_id: UUID, parents: Mapping[UUID, UUID | None]) -> UUID:
    parent = parents[cohort_id]
    while parent is not None:
        cohort_id, parent = parent, parents[parent]
    return cohort_id


def _held_by(tenants: Iterable[UUID], *, now: datetime) -> dict[UUID, Amount]:
    held: dict[UUID, Amount] = defaultdict(lambda: Amount(0, 0))
    period = Period(starts_at=now, ends_at=now + _INSTANT)
    for tenant_id, _, _, _, permille, mib in tree_rows.list_held(tenants=set(tenants), period=period, leave_out=None):
        held[tenant_id] = _sum(held[tenant_id], Amount(permille, mib))
    return held


def _sum(one: Amount, other: Amount) -> Amount:
    return Amount(one.permille + other.permille, one.mib + other.mib)


def _within(amount: Amount, most: Amount) -> bool:
    return amount.permille <= most.permille and amount.mib <= most.mib
