"""Quota: the peak of what a tenant, and each project, holds at any instant of a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from marketplace import locks, selectors
from marketplace.errors import QuotaExceeded
from marketplace.models import Quota
from plumbing.db import transaction_required
from vxpu.slices import Period, Slice
from vxpu.units import format_memory, format_share


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """A row with the peak of what is held over a period, and how many reservations have not ended."""

    row: Quota
    permille: int
    mib: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLeft:
    """The least that any of the rows leaves over the period; never below zero."""

    share_permille: int
    memory_mib: int
    reservations: int


@transaction_required
def check_quota(
    *, tenant_id: UUID, project_id: UUID, piece: Slice, period: Period, leave_out: UUID | None = None, is_new: bool
) -> None:
    """Locks the quota rows, so that two of a tenant's requests are judged one after the other.

    `leave_out` is the reservation that is being changed. Raises QuotaExceeded with the figures.
    """
    rows = locks.lock_quotas(tenant_id=tenant_id, project_id=project_id)
    judge_quota(quota_use(rows, period=period, leave_out=leave_out), piece=piece, is_new=is_new)


def quota_use(rows: Sequence[Quota], *, period: Period, leave_out: UUID | None = None) -> list[QuotaUse]:
    """What is held of rows that are locked (a purchase) or only read (a quote)."""
    found = []
    for row in rows:
        permille, mib = selectors.peak_taken(
            tenant_id=row.tenant_id, project_id=row.project_id, starts_at=period.starts_at, ends_at=period.ends_at,
            leave_out=leave_out,
        )  # fmt: skip
        count = selectors.count_unended(tenant_id=row.tenant_id, project_id=row.project_id)
        found.append(QuotaUse(row=row, permille=permille, mib=mib, count=count))
    return found


def judge_quota(uses: Sequence[QuotaUse], *, piece: Slice, is_new: bool) -> None:
    """The judgement itself, the same for a purchase and a quote. Raises QuotaExceeded."""
    for use in uses:
        row = use.row
        if is_new and use.count + 1 > row.max_reservations:
            raise _exceeded(row, "reservations", row.max_reservations, use.count, 1)
        if use.permille + piece.share_permille > row.nominal_permille:
            raise _exceeded(row, "share_permille", row.nominal_permille, use.permille, piece.share_permille)
        if use.mib + piece.memory_mib > row.nominal_mib:
            raise _exceeded(row, "memory_mib", row.nominal_mib, use.mib, piece.memory_mib)


def quota_left(uses: Sequence[QuotaUse]) -> QuotaLeft:
    return QuotaLeft(
        share_permille=max(0, min(use.row.nominal_permille - use.permille for use in uses)),
        memory_mib=max(0, min(use.row.nominal_mib - use.mib for use in uses)),
        reservations=max(0, min(use.row.max_reservations - use.count for use in uses)),
    )


@transaction_required
def check_wish(*, tenant_id: UUID, project_id: UUID, piece: Slice) -> None:
    """For a queued wish, which takes nothing yet: a place in the queue, and a size that can ever be allowed."""
    for quota in locks.lock_quotas(tenant_id=tenant_id, project_id=project_id):
        _check_count(quota)
        if piece.share_permille > quota.nominal_permille:
            raise _exceeded(quota, "share_permille", quota.nominal_permille, 0, piece.share_permille)
        if piece.memory_mib > quota.nominal_mib:
            raise _exceeded(quota, "memory_mib", quota.nominal_mib, 0, piece.memory_mib)


def _check_count(quota: Quota) -> None:
    count = selectors.count_unended(tenant_id=quota.tenant_id, project_id=quota.project_id)
    if count + 1 > quota.max_reservations:
        raise _exceeded(quota, "reservations", quota.max_reservations, count, 1)


def _exceeded(quota: Quota, resource: str, nominal: int, in_use: int, asked: int) -> QuotaExceeded:
    scope = "tenant" if quota.project_id is None else "project"
    show = {"share_permille": format_share, "memory_mib": format_memory}.get(resource, str)
    return QuotaExceeded(
        f"The {scope}'s quota is {show(nominal)}; {show(in_use)} is held at the peak and {show(asked)} more is asked.",
        suggestion="Take less, choose a time when less is held, release something, or ask the operator for more.",
        scope=scope,
        resource=resource,
        nominal=nominal,
        in_use=in_use,
        asked=asked,
    )
