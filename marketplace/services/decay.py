"""Use that is forgotten by halves, brought up step by step from what reservations held."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.conf import settings

from marketplace.matching.half_life import STEP_S, forget, step_factor
from marketplace.models import DecayedUse
from marketplace.selectors import tree as tree_rows
from plumbing import db

STEP = timedelta(seconds=STEP_S)
# After a long stop the rest comes with the next calls.
MOST_STEPS = 2016


def bring_up(*, now: datetime) -> int:
    """Count every closed step once, for every project that held something or is remembered; returns how many rows were
    written.

    The rule: a step's use of a project is, over its reservations that take or took capacity, size x seconds held in
    the step, as their rows say when the step is counted (held: from the start until it ended, or its booked end). Two
    at once write the same, once: a row is only changed by who saw it as it was.
    """
    until = floor_step(now)
    rows = {row.project_id: row for row in DecayedUse.objects.all()}
    since = min([row.through for row in rows.values()], default=until - STEP)
    until = min(until, since + MOST_STEPS * STEP)
    held: dict[UUID, dict[datetime, tuple[int, int]]] = defaultdict(dict)
    tenants: dict[UUID, UUID] = {}
    for tenant_id, project_id, at, permille_s, mib_s in tree_rows.list_held_by_step(
        since=since, until=until, step=STEP
    ):
        held[project_id][at] = permille_s, mib_s
        tenants[project_id] = tenant_id
    written = 0
    for project_id, tenant_id in tenants.items():
        if project_id not in rows:
            rows[project_id] = _begin(tenant_id, project_id, since=since)
    for project_id, row in rows.items():
        written += _bring_up_one(row, held[project_id], until=until)
    return written


def floor_step(at: datetime) -> datetime:
    return datetime.fromtimestamp(int(at.timestamp()) // STEP_S * STEP_S, UTC)


@db.transaction
def _begin(tenant_id: UUID, project_id: UUID, *, since: datetime) -> DecayedUse:
    DecayedUse.objects.bulk_create(
        [DecayedUse(tenant_id=tenant_id, project_id=project_id, through=since)], ignore_conflicts=True
    )
    return DecayedUse.objects.get(project_id=project_id)


@db.transaction
def _bring_up_one(row: DecayedUse, held: dict[datetime, tuple[int, int]], *, until: datetime) -> int:
    steps = [row.through + n * STEP for n in range(max(0, (until - row.through) // STEP))]
    if not steps:
        return 0
    factor = step_factor(settings.VXPU_FAIR_HALF_LIFE_S)
    amounts = [held.get(at, (0, 0)) for at in steps]
    return DecayedUse.objects.filter(pk=row.pk, through=row.through).update(
        permille_s=forget(row.permille_s, held=[amount[0] for amount in amounts], factor=factor),
        mib_s=forget(row.mib_s, held=[amount[1] for amount in amounts], factor=factor),
        through=steps[-1] + STEP,
    )
