"""Quota: the peak of what a tenant, each project and the cohorts above hold at any instant of a period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from marketplace import locks, selectors
from marketplace.errors import QuotaExceeded
from marketplace.matching.queue_order import Urgency
from marketplace.matching.quota_tree import left_of
from marketplace.models import Quota
from marketplace.selectors import tree as tree_rows
from marketplace.services._tree import held_in, needs_tree, to_micros, tree_around
from plumbing.db import transaction_required
from vxpu.slices import Period, Slice
from vxpu.units import format_memory, format_share

TENANT, PROJECT, COHORT = "tenant", "project", "cohort"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """What binds: a limit (None is none), with what is held of it at the worst instant of a period. Of a tenant and a
    project also how many reservations have not ended."""

    scope: str
    limit_permille: int | None
    limit_mib: int | None
    permille: int
    mib: int
    max_reservations: int | None = None
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLeft:
    """The least that any of them leaves over the period; never below zero."""

    share_permille: int
    memory_mib: int
    reservations: int


@transaction_required
def check_quota(
    *,
    tenant_id: UUID,
    project_id: UUID,
    piece: Slice,
    period: Period,
    leave_out: UUID | None = None,
    is_new: bool,
    urgency: str = Urgency.NORMAL,
    count: int = 1,
) -> None:
    """Locks the quota rows, from the root down, so that two requests below one root are judged one after the other.

    `leave_out` is the reservation that is being changed; a gang asks for `count` of the piece. Raises QuotaExceeded
    with the figures, QuotaMoved.
    """
    rows = lock_quotas(tenant_id=tenant_id)
    uses = quota_use(rows, project_id=project_id, period=period, leave_out=leave_out)
    judge_quota(uses, piece=piece, is_new=is_new, count=count)
    if is_new:
        judge_urgency(rows[0], piece=piece, urgency=urgency, count=count)


@transaction_required
def lock_quotas(*, tenant_id: UUID) -> list[Quota]:
    """The rows of a tenant, its own first."""
    way_up = [row.pk for row in tree_rows.way_up(cohort_id=tree_rows.cohort_of(tenant_id=tenant_id))]
    return locks.lock_quotas(tenant_id=tenant_id, way_up=way_up)


def quota_use(
    every: Sequence[Quota], *, project_id: UUID, period: Period, leave_out: UUID | None = None
) -> list[QuotaUse]:
    """What is held of what binds a purchase. `every` are the tenant's rows, its own first, locked (a purchase) or only
    read (a quote)."""
    rows = [row for row in every if row.project_id in {None, project_id}]
    if needs_tree(every):
        return _use_in_tree(rows, every, period=period, leave_out=leave_out)
    return [_use_of(row, period=period, leave_out=leave_out) for row in rows]


def _use_of(row: Quota, *, period: Period, leave_out: UUID | None) -> QuotaUse:
    """Without a tree a tenant has its nominal; a project what it may borrow of its tenant's beside its own."""
    permille, mib, count = selectors.peak_and_count(
        tenant_id=row.tenant_id, project_id=row.project_id, starts_at=period.starts_at, ends_at=period.ends_at,
        leave_out=leave_out,
    )  # fmt: skip
    more = (0, 0) if row.project_id is None else (row.borrow_permille, row.borrow_mib)
    return QuotaUse(
        scope=_scope_of(row),
        limit_permille=None if more[0] is None else row.nominal_permille + more[0],
        limit_mib=None if more[1] is None else row.nominal_mib + more[1],
        permille=permille,
        mib=mib,
        max_reservations=row.max_reservations,
        count=count,
    )


def _use_in_tree(
    rows: Sequence[Quota], every: Sequence[Quota], *, period: Period, leave_out: UUID | None
) -> list[QuotaUse]:
    tree = tree_around(every)
    by_node = {row.project_id or row.tenant_id: row for row in rows}
    found = []
    for left in left_of(
        tree,
        leaf=rows[-1].project_id or rows[-1].tenant_id,
        held=held_in(tree, period=period, leave_out=leave_out),
        starts=to_micros(period.starts_at),
        ends=None if period.ends_at is None else to_micros(period.ends_at),
    ):
        row = by_node.get(left.node)
        count = row and selectors.count_unended(tenant_id=row.tenant_id, project_id=row.project_id)
        found.append(
            QuotaUse(
                scope=COHORT if row is None else _scope_of(row),
                limit_permille=left.limit.permille,
                limit_mib=left.limit.mib,
                permille=left.in_use.permille,
                mib=left.in_use.mib,
                max_reservations=None if row is None else row.max_reservations,
                count=count or 0,
            )
        )
    return found


def _scope_of(row: Quota) -> str:
    return TENANT if row.project_id is None else PROJECT


def judge_quota(uses: Sequence[QuotaUse], *, piece: Slice, is_new: bool, count: int = 1) -> None:
    """The judgement itself, the same for a purchase and a quote. Raises QuotaExceeded."""
    for use in uses:
        if is_new:
            _judge_one(use.scope, "reservations", use.max_reservations, use.count, count)
        _judge_one(use.scope, "share_permille", use.limit_permille, use.permille, count * piece.share_permille)
        _judge_one(use.scope, "memory_mib", use.limit_mib, use.mib, count * piece.memory_mib)


def judge_urgency(row: Quota, *, piece: Slice, urgency: str, count: int = 1) -> None:
    """Who may say "urgent" for how much; `row` is the tenant's. Raises QuotaExceeded."""
    if urgency == Urgency.URGENT:
        most = settings.VXPU_URGENT_PERMILLE if row.urgent_permille is None else row.urgent_permille
        in_use = tree_rows.urgent_permille(tenant_id=row.tenant_id)
        _judge_one(TENANT, "urgent_permille", most, in_use, count * piece.share_permille)


def may_wait(error: QuotaExceeded) -> bool:
    """Whether it may come free without anything of the tenant's own: it is the cohort's that is used up."""
    return error.data["scope"] == COHORT


def quota_left(uses: Sequence[QuotaUse]) -> QuotaLeft:
    def least(pairs: Sequence[tuple[int | None, int]]) -> int:
        return max(0, min((most - used for most, used in pairs if most is not None), default=0))

    return QuotaLeft(
        share_permille=least([(use.limit_permille, use.permille) for use in uses]),
        memory_mib=least([(use.limit_mib, use.mib) for use in uses]),
        reservations=least([(use.max_reservations, use.count) for use in uses]),
    )


@transaction_required
def check_wish(
    *, tenant_id: UUID, project_id: UUID, piece: Slice, period: Period, urgency: str, count: int = 1
) -> None:
    """For a queued wish, which takes nothing yet: a place in the queue, and a size that can ever be allowed."""
    rows = lock_quotas(tenant_id=tenant_id)
    for use in quota_use(rows, project_id=project_id, period=period):
        _judge_one(use.scope, "reservations", use.max_reservations, use.count, count)
        _judge_one(use.scope, "share_permille", use.limit_permille, 0, count * piece.share_permille)
        _judge_one(use.scope, "memory_mib", use.limit_mib, 0, count * piece.memory_mib)
    judge_urgency(rows[0], piece=piece, urgency=urgency, count=count)


def _judge_one(scope: str, resource: str, most: int | None, in_use: int, asked: int) -> None:
    if most is None or in_use + asked <= most:
        return
    show = {"share_permille": format_share, "urgent_permille": format_share, "memory_mib": format_memory}.get(
        resource, str
    )
    raise QuotaExceeded(
        f"The {scope}'s quota is {show(most)}; {show(in_use)} is held at the peak and {show(asked)} more is asked.",
        suggestion="Take less, choose a time when less is held, release something, or ask the operator for more.",
        scope=scope,
        resource=resource,
        nominal=most,
        in_use=in_use,
        asked=asked,
    )
