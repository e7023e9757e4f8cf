"""Which running leases may be moved, and what each move would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Count, Max, Q

from allocator.engine.make_room import MoveCost
from allocator.models import Lease, Pool, Relocation, Segment, UsageWindow
from allocator.models.relocation import OPEN, RelocationState
from allocator.selectors.staying import stays
from allocator.services._elsewhere import NEAR
from allocator.services._moving_wish import wish_of
from allocator.services._snapshot import ask_of
from vxpu.states import LeaseState

DAY = timedelta(days=1)
MEASURED = timedelta(hours=1)


def read_movable(
    *, now: datetime, node_id: UUID | None = None, spared: Collection[UUID] = (), whatever: bool = False
) -> dict[UUID, MoveCost]:
    """By lease. Of all nodes or of one; not of the tenants in `spared`. `owner` of a cost is the tenant.

    Only what no rule keeps (`selectors.staying`). Unless `whatever`, nobody who had his share of moves today, and no
    member of a gang: only a drain looks where the others are.
    """
    found = Lease.objects.select_related("device", "node__pool", "node__site").annotate(stays=stays(now=now))
    found = found.filter(state=LeaseState.READY, stays="").exclude(tenant_id__in=spared)
    if node_id is not None:
        found = found.filter(node_id=node_id)
    if not whatever:
        found = found.filter(Q(wanted__together__isnull=True) | ~Q(wanted__together__in=NEAR))
    leases = list(found.order_by("pk"))
    if not whatever:
        today, most = moves_today(now=now), MostADay()
        leases = [lease for lease in leases if today.get(lease.tenant_id, 0) < most.in_pool(_pool_of(lease))]
    pieces = _last_pieces(leases)
    states = states_mib(leases=leases, now=now)
    return {
        lease.pk: MoveCost(
            ask=ask_of(wish_of(lease, now=now, last=pieces[lease.pk])), owner=lease.tenant_id,
            state_mib=states[lease.pk],
        )
        for lease in leases
        if lease.pk in pieces
    }  # fmt: skip


def moves_today(*, now: datetime) -> dict[UUID, int]:
    """By tenant: moves of the last 24 hours that were done or are under way."""
    lasting = [RelocationState.SWITCHED, RelocationState.DONE, *OPEN]
    rows = Relocation.objects.filter(created_at__gt=now - DAY, state__in=lasting)
    return {row["tenant_id"]: row["moved"] for row in rows.values("tenant_id").annotate(moved=Count("pk"))}


def overdone(*, lease_ids: Iterable[UUID], costs: Mapping[UUID, MoveCost], now: datetime) -> set[UUID]:
    """Tenants whom these moves together would disturb more often than a day allows."""
    today, most = moves_today(now=now), MostADay()
    moved = [costs[lease_id] for lease_id in lease_ids]
    more = Counter(one.owner for one in moved)
    return {one.owner for one in moved if more[one.owner] + today.get(one.owner, 0) > most.in_pool(one.ask.pool)}


class MostADay:
    """How often a tenant may be disturbed in 24 hours: by what its pool says, else by the server's setting."""

    def __init__(self) -> None:
        told = Pool.objects.filter(moves_per_tenant_day__isnull=False)
        self._told = {row.name: row.moves_per_tenant_day for row in told}

    def in_pool(self, name: str | None) -> int:
        """None is no pool."""
        most = None if name is None else self._told.get(name)
        return settings.VXPU_MOVES_PER_TENANT_DAY if most is None else most


def _pool_of(lease: Lease) -> str | None:
    return None if lease.node.pool is None else lease.node.pool.name


def states_mib(*, leases: Collection[Lease], now: datetime) -> dict[UUID, int]:
    """What a move has to carry: the most that was measured in the last hour, else all that it may have."""
    windows = UsageWindow.objects.filter(
        lease_id__in=[lease.pk for lease in leases], window_start__gt=now - MEASURED, window_start__lte=now
    )
    peaks = {row["lease_id"]: row["peak"] for row in windows.values("lease_id").annotate(peak=Max("peak_mib"))}
    found = {lease.pk: peaks.get(lease.pk) for lease in leases}
    return {
        lease.pk: lease.memory_mib if (peak := found[lease.pk]) is None else min(peak, lease.memory_mib)
        for lease in leases
    }


def _last_pieces(leases: Collection[Lease]) -> dict[UUID, Segment]:
    rows = Segment.objects.filter(lease__in=[lease.pk for lease in leases], live=True)
    return {row.lease_id: row for row in sorted(rows, key=lambda row: row.period.lower)}
