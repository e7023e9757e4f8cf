"""The quota tree as operators see it: what each cohort has, what is held now, and what its tenants used of late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from marketplace.matching.quota_tree import Amount, Tree
from marketplace.models import Cohort, DecayedUse, Quota
from marketplace.selectors import tree as tree_rows
from marketplace.services._tree import held_in, node_of
from vxpu.slices import Period

NOTHING = Amount(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantShown:
    tenant_id: UUID
    weight: int
    in_use: Amount
    recent: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortShown:
    """`quota` is its own and its children's; `in_use` counts what is kept for a child as used."""

    row: Cohort
    quota: Amount
    in_use: Amount
    tenants: tuple[TenantShown, ...]


def show_cohorts(rows: Sequence[Cohort], *, now: datetime) -> list[CohortShown]:
    """In the order given. Call it in the system scope."""
    every = list(tree_rows.list_cohorts())
    quotas = list(tree_rows.list_quotas_of_cohorts(cohorts=[row.pk for row in every]))
    tree = Tree([node_of(row) for row in every] + [node_of(row) for row in quotas])
    effective = tree.idle()
    instant = Period(starts_at=now, ends_at=now + timedelta(microseconds=1))
    for piece in held_in(tree, period=instant, leave_out=None):
        tree.grow(effective, tree.way_up(piece.node), piece.amount)
    recent = _recent({row.tenant_id for row in quotas})
    return [
        CohortShown(
            row=row,
            quota=tree.quota(row.pk),
            in_use=effective[row.pk],
            tenants=tuple(_tenant(one, effective, recent) for one in quotas if one.cohort_id == row.pk),
        )
        for row in rows
    ]


def _recent(tenants: set[UUID]) -> dict[UUID, Amount]:
    found: dict[UUID, Amount] = {}
    for row in DecayedUse.objects.filter(tenant_id__in=tenants):
        before = found.get(row.tenant_id, NOTHING)
        found[row.tenant_id] = Amount(before.permille + row.permille_s, before.mib + row.mib_s)
    return found


def _tenant(row: Quota, effective: dict[UUID, Amount], recent: dict[UUID, Amount]) -> TenantShown:
    return TenantShown(
        tenant_id=row.tenant_id,
        weight=row.weight,
        in_use=effective[row.tenant_id],
        recent=recent.get(row.tenant_id, NOTHING),
    )
