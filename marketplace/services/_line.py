"""The line as it stands: what waits, a gang as one, in the order of `matching.queue_order`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from marketplace import selectors
from marketplace.matching.queue_order import Entry, Rules, Share, Urgency, order
from marketplace.models import Cohort, DecayedUse, Quota, Reservation
from marketplace.services.wish import period_now, wish_again
from plumbing.rowsec import system_scope
from vxpu.market import QueuedWish

# What a wish is taken to use, for its turn: no more than this long.
LONGEST = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What is placed at once: one wish, or all of a gang."""

    id: UUID
    rows: tuple[Reservation, ...]

    @property
    def first(self) -> Reservation:
        return self.rows[0]

    @property
    def is_whole(self) -> bool:
        """A gang of which a member was given back can never start as one."""
        return self.first.gang is None or len(self.rows) == self.first.gang.count


def groups_of(rows: Iterable[Reservation]) -> list[Group]:
    """In the order of the first of each."""
    by_group: dict[UUID, list[Reservation]] = defaultdict(list)
    for row in rows:
        by_group[row.gang_id or row.pk].append(row)
    return [Group(id=group_id, rows=tuple(members)) for group_id, members in by_group.items()]


def list_line(*, now: datetime) -> list[Group]:
    """All that is queued, of every tenant, who is next first."""
    with system_scope():
        return in_order(groups_of(selectors.list_queued()), now=now)


def in_order(groups: Sequence[Group], *, now: datetime) -> list[Group]:
    """Call it in the system scope."""
    if len(groups) < 2:
        return list(groups)
    tree = _Tree()
    size = allocator.fleet_size()
    rules = Rules(
        elder_s=settings.VXPU_QUEUE_ELDER_S,
        age_s=settings.VXPU_QUEUE_AGE_S,
        total_permille=max(1, size.permille),
        total_mib=max(1, size.mib),
    )
    by_id = {group.id: group for group in groups}
    entries = [_entry(group, tree) for group in groups]
    found = order(entries, shares=tree.shares(), rules=rules, now=int(now.timestamp()))
    return [by_id[entry.id] for entry in found]


def _entry(group: Group, tree: _Tree) -> Entry:
    seconds = [_seconds(row) for row in group.rows]
    return Entry(
        id=group.id,
        path=tree.path(group.first),
        urgency=Urgency(group.first.priority),
        asked_at=int(min(row.created_at for row in group.rows).timestamp()),
        permille_s=sum(row.share_permille * length for row, length in zip(group.rows, seconds, strict=True)),
        mib_s=sum(row.memory_mib * length for row, length in zip(group.rows, seconds, strict=True)),
    )


def _seconds(row: Reservation) -> int:
    length = LONGEST if row.ends_at is None else min(LONGEST, row.ends_at - row.starts_at)
    return max(1, int(length.total_seconds()))


class _Tree:
    """Where each project hangs, and what each node used of late: a project's own, the sum of its own above it."""

    def __init__(self) -> None:
        self._cohorts = {row.pk: row for row in Cohort.objects.all()}
        self._quotas = {row.project_id or row.tenant_id: row for row in Quota.objects.all()}
        self._used: dict[UUID, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for row in DecayedUse.objects.all():
            for node in self._way(row.tenant_id, row.project_id):
                permille, mib = self._used[node]
                self._used[node] = permille + row.permille_s, mib + row.mib_s

    def path(self, row: Reservation) -> tuple[UUID, ...]:
        return tuple(self._way(row.tenant_id, row.project_id))

    def _way(self, tenant_id: UUID, project_id: UUID) -> list[UUID]:
        """From the root's child to the project."""
        way = [project_id, tenant_id]
        quota = self._quotas.get(tenant_id)
        above = None if quota is None else quota.cohort_id
        while above is not None and above not in way:
            way.append(above)
            above = self._cohorts[above].parent_id
        return way[::-1]

    def shares(self) -> dict[UUID, Share]:
        weights = {row.pk: row.weight for row in self._cohorts.values()}
        weights |= {node: row.weight for node, row in self._quotas.items()}
        found = {}
        for node in {*weights, *self._used}:
            permille, mib = self._used[node]
            found[node] = Share(weight=weights.get(node, 1), permille_s=permille, mib_s=mib)
        return found


def queued_wish(group: Group, *, now: datetime, not_before: datetime | None = None) -> QueuedWish:
    """As the allocator reads it. An elder may collect room on one device."""
    first = group.first
    waited = now - min(row.created_at for row in group.rows)
    return QueuedWish(
        id=group.id,
        together="any" if first.gang is None else first.gang.together,
        wishes=tuple(wish_again(row, period=period_now(row, now=not_before or now)) for row in group.rows),
        collects=waited >= timedelta(seconds=settings.VXPU_QUEUE_ELDER_S),
        collect_on=first.planned_device_id,
    )


def competes(one: Reservation, other: Reservation) -> bool:
    """May the two want the same device? Yes unless both name a kind, a pool, a site, models or a device, and it is not
    the same."""
    pairs = (
        (one.device_kind, other.device_kind), (one.pool, other.pool), (one.site, other.site),
        (one.wanted_device_id, other.wanted_device_id),
    )  # fmt: skip
    if any(a and b and a != b for a, b in pairs):
        return False
    models = set(one.device_models), set(other.device_models)
    return not all(models) or bool(models[0] & models[1])
