"""One look at the queue: room for who is next, room kept for who must wait, and the next try of what failed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import DatabaseError

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.errors import QuotaExceeded
from marketplace.events import ReservationConfirmed
from marketplace.models import Placement, Reservation, ReservationState
from marketplace.services import gang, preempt, retry
from marketplace.services._booking import book_lease, note_placement, take_lease
from marketplace.services._line import Group, groups_of, in_order, queued_wish
from marketplace.services._quota import check_quota, judge_quota, may_wait, quota_use
from marketplace.services._transition import SYSTEM, move
from marketplace.services._waiting import NO_PLAN, NO_WAIT, expire, main_constraint, most_of, note_wait
from marketplace.services.wish import period_now, slice_of, wish_again
from plumbing import db, outbox
from plumbing.errors import DomainError
from vxpu.market import Candidate, KeptRoom, Standing, Wish

log = logging.getLogger(__name__)
# Room that a refused wish leaves goes to the next in line within the same run, so many times.
ROUNDS = 4
GANG_INCOMPLETE = "gang_incomplete"


@dataclass(slots=True)
class _Run:
    """`refused` were given room, or had it kept, and may not take it; with the reason, "" if it is noted already."""

    now: datetime
    placed: dict[UUID, int] = field(default_factory=dict)
    refused: dict[UUID, str] = field(default_factory=dict)
    judged: set[UUID] = field(default_factory=set)

    def is_open(self, group: Group) -> bool:
        return group.id not in self.placed and group.id not in self.refused


def place_queued(*, now: datetime) -> int:
    """Give room to who is next; returns how many reservations got it. Harmless to run twice at once.

    The order is `matching.queue_order`'s; who starts now, and whose room is kept, is `allocator.line_up`'s. A wish that
    cannot take the room it was given (quota, account, a booking that fails) is out of this run, and its room goes to
    the next in line at once.
    """
    groups = groups_of(_not_expired(list(selectors.list_queued()), now=now))
    due = [group for group in groups if _is_due(group, now=now)]
    ordered, run = in_order(due, now=now), _Run(now=now)
    stands: dict[UUID, Standing] = {}
    for _ in range(ROUNDS):
        rest = [group for group in ordered if run.is_open(group)]
        found = allocator.line_up(queue=[queued_wish(group, now=now) for group in rest], now=now) if rest else []
        stands = {stand.id: stand for stand in found}
        before = len(run.refused)
        for group in rest:
            _stand(run, group, stands)
        if len(run.refused) == before:
            break
    for group in ordered:
        _note(run, group, stands.get(group.id))
    for row in (row for group in groups if not group.is_whole for row in group.rows):
        note_wait(row, {"waits_for": GANG_INCOMPLETE, **NO_PLAN})
    return sum(run.placed.values())


def _is_due(group: Group, *, now: datetime) -> bool:
    next_try_at = group.first.next_try_at
    return group.is_whole and (next_try_at is None or next_try_at <= now)


def _not_expired(rows: Sequence[Reservation], *, now: datetime) -> list[Reservation]:
    late = {row.pk for row in rows if row.queued_until is not None and row.queued_until <= now}
    for reservation_id in sorted(late):
        expire(reservation_id=reservation_id, now=now)
    return [row for row in rows if row.pk not in late]


def _stand(run: _Run, group: Group, stands: dict[UUID, Standing]) -> None:
    stand = stands[group.id]
    if not stand.fits:
        if group.id not in run.judged and preempt.evict_for(rows=group.rows, now=run.now):
            run.placed[group.id] = len(group.rows)
        elif stand.kept:
            _judge_head(run, group)
        run.judged.add(group.id)
        return
    kept = [room for other in stands.values() for room in other.kept if room.owner != group.id]
    ids = [row.pk for row in group.rows]
    try:
        run.placed[group.id] = _place(group, kept, now=run.now)
    except DoesNotFit as error:  # others were quicker, or the database never will
        retry.back_off(reservation_ids=ids, reason=main_constraint(error), now=run.now)
        run.refused[group.id] = ""
    except DomainError as error:  # quota, account or price: that tenant's matter, it holds up nobody else
        lent = isinstance(error, QuotaExceeded) and may_wait(error)
        if lent and preempt.reclaim_for(rows=group.rows, kept=kept, now=run.now):
            run.placed[group.id] = len(group.rows)
        else:
            run.refused[group.id] = main_constraint(error)
    except DatabaseError:
        log.exception("Queued %s: placing it failed", group.id)
        retry.back_off(reservation_ids=ids, reason="try_failed", now=run.now)
        run.refused[group.id] = ""


def _place(group: Group, kept: Sequence[KeptRoom], *, now: datetime) -> int:
    gang_id = group.first.gang_id
    if gang_id is not None:
        return gang.place_gang(gang_id=gang_id, kept=kept, now=now)
    return _place_one(reservation_id=group.first.pk, kept=kept, now=now)


def _judge_head(run: _Run, group: Group) -> None:
    """No room is kept for a wish that its tenant's quota would not let have it."""
    try:
        row = group.first
        rows = selectors.quotas_of(tenant_id=row.tenant_id)
        uses = quota_use(rows, project_id=row.project_id, period=period_now(row, now=run.now))
        judge_quota(uses, piece=slice_of(row), is_new=False, count=len(group.rows))
    except QuotaExceeded as error:
        run.refused[group.id] = main_constraint(error)


def _note(run: _Run, group: Group, stand: Standing | None) -> None:
    """The reason of the last try, the room that is kept, and the start that the calendar alone promises."""
    if group.id in run.placed or run.refused.get(group.id) == "":
        return
    if group.id in run.refused or stand is None or stand.fits:
        for row in group.rows:
            note_wait(row, {"waits_for": run.refused.get(group.id, row.waits_for), **NO_PLAN})
        return
    rooms = list(stand.kept)
    for row in group.rows:
        room = next((one for one in rooms if one.slice == slice_of(row) or one.whole), None)
        if room is not None:
            rooms.remove(room)
        note_wait(row, {"waits_for": most_of(stand.constraints), **_plan(row, room, now=run.now),
                        **_promise(row, stand, now=run.now), "next_try_at": None})  # fmt: skip


def _plan(row: Reservation, room: KeptRoom | None, *, now: datetime) -> dict[str, object]:
    if room is None:
        return NO_PLAN
    starts_at, before = room.period.starts_at, row.planned_start_at
    if room.device_id == row.planned_device_id and starts_at == now and before is not None and before <= now:
        starts_at = before  # it collects as it did
    return {"planned_device_id": room.device_id, "planned_start_at": starts_at}


def _promise(row: Reservation, stand: Standing, *, now: datetime) -> dict[str, object]:
    """A replay may know better, but no later start."""
    known, told = stand.starts_at, row.estimated_start_at
    if known is None:
        return {} if told is None or told > now else {"estimated_start_at": None, "estimated_start_by": None}
    if told is None or told <= now or told > known:
        return {"estimated_start_at": known}
    return {}


@db.transaction
def _place_one(*, reservation_id: UUID, kept: Sequence[KeptRoom], now: datetime) -> int:
    row = selectors.get_reservation(reservation_id=reservation_id)
    period = period_now(row, now=now)
    check_quota(tenant_id=row.tenant_id, project_id=row.project_id, piece=slice_of(row), period=period, is_new=False)
    row = locks.lock_reservation(reservation_id=reservation_id)
    if row.state != ReservationState.QUEUED:
        return 0
    billing.authorize(account_id=row.account_id, now=now)
    wish = wish_again(row, period=period)
    lease = book_lease(
        tenant_id=row.tenant_id, project_id=row.project_id, owner=row.pk, wish=wish,
        candidates=_candidates(row, wish, kept=kept, now=now), now=now,
    )  # fmt: skip
    device = allocator.get_device(device_id=lease.device_id)
    bound = take_lease(row, lease=lease, device=device)
    move(
        row, ReservationState.CONFIRMED, actor=SYSTEM, reason="room was found", now=now, starts_at=period.starts_at,
        ends_at=period.ends_at, **NO_WAIT, **bound,
    )  # fmt: skip
    note_placement(row, lease=lease, device=device, now=now)
    outbox.publish(ReservationConfirmed(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
    return 1


def _candidates(row: Reservation, wish: Wish, *, kept: Sequence[KeptRoom], now: datetime) -> list[Candidate]:
    """Devices on which it failed before come last."""
    found = allocator.propose(wish=wish, now=now, kept=kept)
    failed = set(Placement.objects.filter(reservation=row).values_list("device_id", flat=True)) if row.attempts else ()
    return sorted(found, key=lambda candidate: candidate.device_id in failed)
