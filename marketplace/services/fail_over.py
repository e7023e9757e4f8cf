"""Everything that was lost at once gets another place at once: one search for all, bookings in batches, prices kept.

Events are hints and this is quick; `reconcile` is the truth and brings up whatever is left over.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError
from django.db.models import Q

from allocator import facade as allocator
from marketplace import locks
from marketplace.models import EVERYWHERE, Reservation, ReservationState
from marketplace.services import follow, move_on, relocate
from marketplace.services._relocation import LOST, WAITS, bind_all, give_all_up
from marketplace.services.news import tell
from marketplace.services.wish import slice_of, wish_again
from plumbing import db
from plumbing.errors import DomainError
from vxpu.market import Claim, DeviceView
from vxpu.slices import Period

log = logging.getLogger(__name__)

S = ReservationState
# Those that a lost lease leaves without a place; the others end with it.
RUNNING = frozenset({S.CONFIRMED, S.ACTIVATING, S.ACTIVE, S.SUSPENDED})
# Losses that are older have been followed up by `reconcile`.
LOOK_BACK = timedelta(minutes=5)
# Reservations in one transaction. Each booking is a subtransaction, and the server keeps 64 of them at hand.
AT_ONCE = 50
# A refusal means that somebody was quicker: look again.
ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """`found` reservations had lost their place, `placed` have another; the others wait for room or their device."""

    found: int
    placed: int


def watch(*, now: datetime) -> Replaced:
    """The beat: nodes that fell silent are given up, and what they ran is placed anew in the same breath."""
    return fail_over(now=now) if allocator.watch_nodes(now=now) else Replaced(found=0, placed=0)


def fail_over(*, now: datetime) -> Replaced:
    """Place whoever has lost his lease. Harmless to repeat. One run at a time: two would want the same places."""
    with locks.alone("vxpu.fail_over"):
        # Who was being moved, and whose new slice is ready, has his place already.
        if allocator.let_moves_go_over(now=now):
            relocate.switch_ready(now=now)
        return _fail_over(now=now)


def _fail_over(*, now: datetime) -> Replaced:
    lost = _list_lost(now=now)
    waiting = {row.pk: row for row in lost if row.state not in {S.ENDING, S.PREEMPTING} and is_wanted(row, now=now)}
    others = [row for row in lost if row.pk not in waiting]
    placed: dict[UUID, Reservation] = {}
    for _ in range(ROUNDS):
        claims = _find_places(waiting, now=now)
        won = _book(claims, waiting, now=now)
        placed |= won
        waiting = {owner: row for owner, row in waiting.items() if owner not in won}
        if len(won) == len(claims):
            break
    _leave_waiting(list(waiting.values()), now=now)
    # After every booking: news waits for nobody's place.
    for row in placed.values():
        tell(row)
    for row in others:  # they were to end anyway, and end with their lease
        _one_by_one(row, now=now)
    return Replaced(found=len(placed) + len(waiting), placed=len(placed))


def _list_lost(*, now: datetime) -> list[Reservation]:
    """Whoever bought first comes first."""
    lost = allocator.list_lost(since=now - LOOK_BACK)
    states = Q(state__in=RUNNING | {S.ENDING, S.PREEMPTING}, lease_id__in=lost) | Q(state=S.MOVING)
    return list(EVERYWHERE.rows().filter(states).order_by("created_at", "pk"))


def is_wanted(row: Reservation, *, now: datetime) -> bool:
    return row.released_at is None and (row.ends_at is None or row.ends_at > now)


def _one_by_one(row: Reservation, *, now: datetime) -> bool:
    """What the batch does not do: the same by the way that `reconcile` takes. True if it got another place."""
    try:
        follow.follow(reservation_id=row.pk, now=now)
        return move_on.move_on(reservation_id=row.pk, now=now)
    except (DomainError, IntegrityError):  # one reservation's trouble must not keep the others from a place
        log.exception("Reservation %s: not moved on", row.pk)
        return False


def _find_places(waiting: Mapping[UUID, Reservation], *, now: datetime) -> list[Claim]:
    # A device that was asked for by name is waited for.
    free = [row for row in waiting.values() if row.wanted_device_id is None]
    wishes = {
        row.pk: wish_again(row, period=Period(starts_at=max(now, row.starts_at), ends_at=row.ends_at)) for row in free
    }
    claims = allocator.find_places(wishes=wishes, tenants={row.pk: row.tenant_id for row in free}, now=now)
    return sorted(claims, key=lambda claim: claim.place.device_id)


def _book(claims: Sequence[Claim], rows: Mapping[UUID, Reservation], *, now: datetime) -> dict[UUID, Reservation]:
    """Batch by batch, each a transaction of its own; a batch that fails as a whole is tried one by one."""
    devices = allocator.find_devices(device_ids={claim.place.device_id for claim in claims})
    alike = [claim for claim in claims if _keeps_its_size(claim, rows[claim.owner])]
    won: dict[UUID, Reservation] = {}
    for first in range(0, len(alike), AT_ONCE):
        won |= _book_part(alike[first : first + AT_ONCE], rows, devices, now=now)
    tried = {claim.owner for claim in alike}
    for claim in claims:  # of another size: the quota has a say
        if claim.owner not in tried and _one_by_one(rows[claim.owner], now=now):
            won[claim.owner] = rows[claim.owner]
    used = {claim.place.node_id for claim in claims if claim.standby and claim.owner in won}
    if used:
        allocator.hand_over_standby(used=used, now=now)
    return won


def _keeps_its_size(claim: Claim, row: Reservation) -> bool:
    """A whole device, or a part that its hardware cuts, may be larger than before."""
    return claim.place.slice == slice_of(row)


def _book_part(
    claims: Sequence[Claim], rows: Mapping[UUID, Reservation], devices: Mapping[UUID, DeviceView], *, now: datetime
) -> dict[UUID, Reservation]:
    try:
        return _book_together(claims=claims, seen=rows, devices=devices, now=now)
    except (DomainError, IntegrityError):
        log.exception("A batch of %d was not moved on; now one by one", len(claims))
    return {claim.owner: rows[claim.owner] for claim in claims if _one_by_one(rows[claim.owner], now=now)}


@db.transaction
def _book_together(
    *,
    claims: Sequence[Claim],
    seen: Mapping[UUID, Reservation],
    devices: Mapping[UUID, DeviceView],
    now: datetime,
) -> dict[UUID, Reservation]:
    """Reservations by id, then devices by id: the order of `locks`. Whoever changed meanwhile is left out."""
    locked = locks.lock_reservations(reservation_ids=[claim.owner for claim in claims])
    same = {row.pk: row for row in locked if _is_as_seen(row, seen[row.pk]) and is_wanted(row, now=now)}
    give_all_up([row for row in same.values() if row.state != S.MOVING], reason=LOST, now=now)
    leases, _ = allocator.book_all(claims=[claim for claim in claims if claim.owner in same], now=now)
    won = [same[owner] for owner in leases]
    bind_all(won, leases=leases, devices=devices, now=now)
    return {row.pk: row for row in won}


def _is_as_seen(row: Reservation, seen: Reservation) -> bool:
    return (row.state, row.version, row.lease_id) == (seen.state, seen.version, seen.lease_id) and (
        slice_of(row) == slice_of(seen)
    )


def _leave_waiting(rows: Sequence[Reservation], *, now: datetime) -> None:
    """They keep their place in the books and their price, and every `reconcile` looks for room again."""
    fresh = [row.pk for row in rows if row.state in RUNNING]
    for first in range(0, len(fresh), AT_ONCE):
        for row in _mark(reservation_ids=fresh[first : first + AT_ONCE], now=now):
            tell(row)


@db.transaction
def _mark(*, reservation_ids: Sequence[UUID], now: datetime) -> list[Reservation]:
    leases = {lease.id: lease for lease in allocator.list_leases(owners=reservation_ids)}
    rows = [
        row
        for row in locks.lock_reservations(reservation_ids=reservation_ids)
        if row.state in RUNNING and row.lease_id in leases and not leases[row.lease_id].is_live
    ]
    for reason, named in ((LOST, False), (WAITS, True)):
        alike = [row for row in rows if (row.wanted_device_id is not None) is named]
        give_all_up(alike, reason=reason, now=now)
    return rows
