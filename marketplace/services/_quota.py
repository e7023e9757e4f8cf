"""Quota: the peak of what a tenant, and each project, holds at any instant of a period."""

from __future__ import annotations

from uuid import UUID

from marketplace import locks, selectors
from marketplace.errors import QuotaExceeded
from marketplace.models import Quota
from plumbing.db import transaction_required
from vxpu.slices import Period, Slice
from vxpu.units import format_memory, format_share


@transaction_required
def check_quota(
    *, tenant_id: UUID, project_id: UUID, piece: Slice, period: Period, leave_out: UUID | None = None, is_new: bool
) -> None:
    """Locks the quota rows, so that two of a tenant's requests are judged one after the other.

    `leave_out` is the reservation that is being changed. Raises QuotaExceeded with the figures.
    """
    for quota in locks.lock_quotas(tenant_id=tenant_id, project_id=project_id):
        if is_new:
            _check_count(quota)
        permille, mib = selectors.peak_taken(
            tenant_id=tenant_id, project_id=quota.project_id, starts_at=period.starts_at, ends_at=period.ends_at,
            leave_out=leave_out,
        )  # fmt: skip
        if permille + piece.share_permille > quota.nominal_permille:
            raise _exceeded(quota, "share_permille", quota.nominal_permille, permille, piece.share_permille)
        if mib + piece.memory_mib > quota.nominal_mib:
            raise _exceeded(quota, "memory_mib", quota.nominal_mib, mib, piece.memory_mib)


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
