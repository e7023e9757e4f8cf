"""Lent quota that its owner needs back: who uses more than his own while the owner does not even have his.

A tenant reclaims only up to its own nominal, and only from tenants of the same tree of cohorts that are over theirs:
of those the newest preemptible reservations, no more than what brings each back to its nominal. Where there is no room
the allocator chooses among them; where there is, and only the sum of the cohorts is used up, `fewest_to_go` does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from marketplace import selectors
from marketplace.errors import QuotaExceeded
from marketplace.matching.quota_tree import Amount, left_of
from marketplace.models import Cohort, Quota, Reservation
from marketplace.selectors import tree as tree_rows
from marketplace.services._quota import judge_quota, quota_use
from marketplace.services._tree import given_back, held_in, needs_tree, to_micros, tree_around
from marketplace.services.wish import slice_of
from vxpu.slices import Period

_INSTANT = timedelta(microseconds=1)


def reclaims_of(rows: Sequence[Reservation], preemptible: Iterable[Reservation], *, now: datetime) -> frozenset[UUID]:
    """Of the preemptible reservations those that `rows`, a wish or a gang, may take back; none for a tenant without a
    cohort."""
    row = rows[0]
    cohort_id = tree_rows.cohort_of(tenant_id=row.tenant_id)
    if cohort_id is None:
        return frozenset()
    nominals = _nominals_of_tree(cohort_id)
    held = _held_by(nominals.keys(), now=now)
    mine, asked = held[row.tenant_id], _asked(rows)
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


def fewest_to_go(
    rows: Sequence[Reservation], *, period: Period, gone: Sequence[Reservation], may_go: Sequence[Reservation]
) -> frozenset[UUID] | None:
    """Whom of `may_go` to tell, the first of them first, so that the quotas let `rows` have the period when those who
    are `gone` anyway are gone. None: not even all of them would do."""
    quotas, project_id = selectors.quotas_of(tenant_id=rows[0].tenant_id), rows[0].project_id
    if not needs_tree(quotas):
        return frozenset() if _is_within(quotas, rows, period) else None
    is_own = any(row.project_id == project_id for row in quotas)
    tree, leaf = tree_around(quotas), project_id if is_own else rows[0].tenant_id
    held, asked = held_in(tree, period=period, leave_out=None), _asked(rows)
    starts, ends = to_micros(period.starts_at), None if period.ends_at is None else to_micros(period.ends_at)

    def fits(told: Sequence[Reservation]) -> bool:
        less = [given_back(tree, one) for one in (*gone, *told) if one.tenant_id in tree.nodes]
        lefts = left_of(tree, leaf=leaf, held=[*held, *less], starts=starts, ends=ends)
        return all(
            most is None or used + more <= most
            for left in lefts for most, used, more in zip(left.limit, left.in_use, asked, strict=True)
        )  # fmt: skip

    count = bisect_left(range(len(may_go) + 1), True, key=lambda number: fits(may_go[:number]))
    if count > len(may_go):
        return None
    told = list(may_go[:count])
    for one in told[:-1]:  # without the last it does not fit
        fewer = [other for other in told if other is not one]
        told = fewer if fits(fewer) else told
    return frozenset(one.pk for one in told)


def _is_within(quotas: Sequence[Quota], rows: Sequence[Reservation], period: Period) -> bool:
    try:
        uses = quota_use(quotas, project_id=rows[0].project_id, period=period)
        judge_quota(uses, piece=slice_of(rows[0]), is_new=False, count=len(rows))
    except QuotaExceeded:
        return False
    return True


def _asked(rows: Sequence[Reservation]) -> Amount:
    return Amount(sum(row.share_permille for row in rows), sum(row.memory_mib for row in rows))


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
