"""When each wish in line would start: the calendar replayed, with open ends drawn from what such things lasted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from marketplace.matching.chance import FEWEST, draw
from marketplace.models import Reservation
from marketplace.selectors import history
from marketplace.services._line import Group, list_line, queued_wish
from marketplace.services._waiting import note_wait
from vxpu.market import GuessedEnds, StartEstimate

# Less than this is no news.
NEWS = timedelta(seconds=60)
LOOK_BACK = timedelta(days=30)

Lasted = Mapping[UUID | None, Sequence[int]]


def estimate_queue(*, now: datetime) -> int:
    """P50 and P90 of the start of the first wishes in line; returns how many told something new.

    A replay gives each wish, in order, the earliest room beside all before it. What has no end lasts, replay by replay,
    as long as one of the tenant's own open-ended reservations of the last 30 days that lasted longer already (of all
    tenants' if it had fewer than five). Same facts, same figures.
    """
    line = list_line(now=now)[: settings.VXPU_ESTIMATE_WISHES]
    if not line:
        return 0
    queue = [queued_wish(group, now=now, not_before=_not_before(group, now)) for group in line]
    found = allocator.estimate_starts(queue=queue, guesses=_guesses(line, now=now), now=now)
    return sum(_tell(row, told) for group, told in zip(line, found, strict=True) for row in group.rows)


def _not_before(group: Group, now: datetime) -> datetime:
    return max(now, group.first.next_try_at or now)


def _tell(row: Reservation, told: StartEstimate) -> bool:
    """Only what is news is written: an estimate creeps along with the clock."""
    pairs = ((row.estimated_start_at, told.starts_at), (row.estimated_start_by, told.starts_by))
    if not any(_is_news(before, after) for before, after in pairs):
        return False
    note_wait(row, {"estimated_start_at": told.starts_at, "estimated_start_by": told.starts_by})
    return True


def _is_news(before: datetime | None, after: datetime | None) -> bool:
    if before is None or after is None:
        return before is not after
    return abs(after - before) >= NEWS


def _guesses(line: Sequence[Group], *, now: datetime) -> list[GuessedEnds]:
    """One for each replay; a single empty one if nothing has an open end, or nothing is known of what had."""
    lasted = _lasted(now=now)
    running = history.list_open_ended()
    waiting = [row for group in line for row in group.rows if row.ends_at is None]
    if not lasted or not (running or waiting):
        return [GuessedEnds()]
    return [
        GuessedEnds(
            ends={lease: at for lease, tenant, since in running if (at := _end(lasted, lease, tenant, since, now, n))},
            lengths={
                row.pk: timedelta(seconds=seconds)
                for row in waiting
                if (seconds := draw(_of(lasted, row.tenant_id), thing=row.pk, replay=n))
            },
        )
        for n in range(settings.VXPU_ESTIMATE_REPLAYS)
    ]


def _end(
    lasted: Lasted, lease_id: UUID, tenant_id: UUID, since: datetime, now: datetime, replay: int
) -> datetime | None:
    elapsed = max(0, int((now - since).total_seconds()))
    length = draw(_of(lasted, tenant_id), thing=lease_id, replay=replay, beyond=elapsed)
    return None if length is None else since + timedelta(seconds=length)


def _of(lasted: Lasted, tenant_id: UUID) -> Sequence[int]:
    own = lasted.get(tenant_id, ())
    return own if len(own) >= FEWEST else lasted.get(None, ())


def _lasted(*, now: datetime) -> dict[UUID | None, list[int]]:
    """Seconds, sorted, by tenant; None is everybody's."""
    found: dict[UUID | None, list[int]] = defaultdict(list)
    for tenant_id, starts_at, ended_at in history.list_ended_open(since=now - LOOK_BACK):
        seconds = max(1, int((ended_at - starts_at).total_seconds()))
        found[tenant_id].append(seconds)
        found[None].append(seconds)
    return {tenant: sorted(seconds) for tenant, seconds in found.items()}
