"""Everything that was lost at once gets another place at once: one search for all, bookings in batches, prices kept.

Events are hints and this is quick; `reconcile` is the truth and brings up whatever is left over.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from uuid import UUID

from django.db import IntegrityError

from allocator import facade as allocator
from marketplace import locks
from marketplace.models import Reservation, ReservationState
from marketplace.services import follow, gang_fail_over, move_on, relocate
from marketplace.services._lost import LOST
from marketplace.services._relocation import (
    NODE_LOST,
    RUNNING,
    WAITS,
    Bound,
    give_all_up,
    is_wanted,
    note_bound,
    note_given_up,
    rebook,
    wish_from_now,
)
from marketplace.services.news import tell
from marketplace.services.wish import slice_of
from plumbing import db
from plumbing.beside import part_size, side_by_side
from plumbing.errors import DomainError
from vxpu.market import Claim, Wish

log = logging.getLogger(__name__)

S = ReservationState
# Reservations in one transaction: so long others may wait for a device.
AT_ONCE = 300
# A refusal means that somebody was quicker: look again.
ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """`found` reservations had lost their place, `placed` have another; the others wait for room or their device."""

    found: int
    placed: int


def watch(*, now: datetime) -> Replaced:
    """The beat: nodes that fell silent are given up, and what they ran is placed anew in the same breath. For what runs
    on nodes that are about to be given up, places are looked for already."""
    with _no_garbage():
        if allocator.watch_nodes(now=now):
            return fail_over(now=now)
        look_ahead(now=now)
        return Replaced(found=0, placed=0)


def look_ahead(*, now: datetime) -> None:
    """Nothing is written: it is remembered by this process for the verdict, which does without if it has to."""
    leaving = allocator.list_leaving(now=now)
    rows = [row for row in LOST.find_ahead(leaving.owners) if is_wanted(row, now=now)]
    together = gang_fail_over.list_together(rows) if rows else {}
    alone = {row.pk: row for row in rows if row.pk not in together}
    wishes = _wishes(alone.values(), now=now)
    if wishes:
        tenants = {pk: alone[pk].tenant_id for pk in wishes}
        allocator.look_ahead(wishes=wishes, tenants=tenants, leaving=leaving.nodes, now=now)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Collections of garbage walk through the whole picture of the fleet: a fifth of the time here. They wait."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def fail_over(*, now: datetime) -> Replaced:
    """Place whoever has lost his lease. Harmless to repeat. One run at a time: two would want the same places."""
    with locks.alone("vxpu.fail_over"):
        # Who was being moved, and whose new slice is ready, has his place already.
        if allocator.let_moves_go_over(now=now):
            relocate.switch_ready(now=now)
        return _fail_over(now=now)


def _fail_over(*, now: datetime) -> Replaced:
    lost, known = LOST.find(now=now)
    waiting = {row.pk: row for row in lost if row.state not in {S.ENDING, S.PREEMPTING} and is_wanted(row, now=now)}
    others = [row for row in lost if row.pk not in waiting]
    placed: dict[UUID, Reservation] = {}
    together = gang_fail_over.list_together(waiting.values())
    for gang_id in dict.fromkeys(together.values()):
        placed |= gang_fail_over.place_lost(gang_id=gang_id, now=now)
    left = {owner: row for owner, row in waiting.items() if owner in together and owner not in placed}
    waiting = {owner: row for owner, row in waiting.items() if owner not in together}
    for _ in range(ROUNDS):
        claims = _find_places(waiting, known, now=now)
        won = _book(claims, waiting, now=now)
        placed |= won
        waiting = {owner: row for owner, row in waiting.items() if owner not in won}
        if len(won) == len(claims):
            break
    waiting |= left
    _leave_waiting(list(waiting.values()), now=now)
    # After every booking: news waits for nobody's place.
    for row in placed.values():
        tell(row)
    for row in others:  # they were to end anyway, and end with their lease
        _one_by_one(row, now=now)
    return Replaced(found=len(placed) + len(waiting), placed=len(placed))


def _one_by_one(row: Reservation, *, now: datetime) -> bool:
    """What the batch does not do: the same by the way that `reconcile` takes. True if it got another place."""
    try:
        follow.follow(reservation_id=row.pk, now=now)
        return move_on.move_on(reservation_id=row.pk, now=now)
    except (DomainError, IntegrityError):  # one reservation's trouble must not keep the others from a place
        log.exception("Reservation %s: not moved on", row.pk)
        return False


def _find_places(waiting: Mapping[UUID, Reservation], known: Collection[UUID], *, now: datetime) -> list[Claim]:
    ahead = allocator.give_out(owners=[pk for pk in waiting if pk in known])
    has_one = {claim.owner for claim in ahead}
    wishes = _wishes([row for row in waiting.values() if row.pk not in has_one], now=now)
    tenants = {pk: waiting[pk].tenant_id for pk in wishes}
    found = allocator.find_places(wishes=wishes, tenants=tenants, beside=ahead, now=now)
    return [*ahead, *found]


def _wishes(rows: Iterable[Reservation], *, now: datetime) -> dict[UUID, Wish]:
    """A device that was asked for by name is waited for."""
    return {row.pk: wish_from_now(row, now=now) for row in rows if row.wanted_device_id is None}


def _book(claims: Sequence[Claim], rows: Mapping[UUID, Reservation], *, now: datetime) -> dict[UUID, Reservation]:
    """Batch by batch, each a transaction of its own; a batch that fails as a whole is tried one by one."""
    alike = [claim for claim in claims if _keeps_its_size(claim, rows[claim.owner])]
    parts = _parts_by_node(alike)
    won: dict[UUID, Reservation] = {}
    for found in side_by_side([partial(_book_part, part, rows, now=now) for part in parts]):
        won |= found
    tried = {claim.owner for claim in alike}
    for claim in claims:  # of another size: the quota has a say
        if claim.owner not in tried and _one_by_one(rows[claim.owner], now=now):
            won[claim.owner] = rows[claim.owner]
    used = {claim.place.node_id for claim in claims if claim.standby and claim.owner in won}
    if used:
        allocator.hand_over_standby(used=used, now=now)
    return won


def _parts_by_node(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Of AT_ONCE at most, but for what a node has. A node is in one part: else one would wait for another's locks."""
    most = part_size(len(claims), AT_ONCE)
    parts: list[list[Claim]] = []
    for _, at_node in groupby(sorted(claims, key=_node_of), key=_node_of):
        if not parts or len(parts[-1]) >= most:
            parts.append([])
        parts[-1] += at_node
    return parts


def _node_of(claim: Claim) -> bytes:
    return claim.place.node_id.bytes


def _keeps_its_size(claim: Claim, row: Reservation) -> bool:
    """A whole device, or a part that its hardware cuts, may be larger than before."""
    return claim.place.slice == slice_of(row)


def _book_part(claims: Sequence[Claim], rows: Mapping[UUID, Reservation], *, now: datetime) -> dict[UUID, Reservation]:
    try:
        bound, refused = _book_together(claims=claims, seen=rows, now=now)
    except (DomainError, IntegrityError):
        log.exception("A batch of %d was not moved on; now one by one", len(claims))
        return {claim.owner: rows[claim.owner] for claim in claims if _one_by_one(rows[claim.owner], now=now)}
    for owner, place in bound.items():
        note_bound(rows[owner], place, now=now)
    for owner in refused:
        note_given_up(rows[owner])
    return {owner: rows[owner] for owner in bound}


@db.transaction
def _book_together(
    *, claims: Sequence[Claim], seen: Mapping[UUID, Reservation], now: datetime
) -> tuple[dict[UUID, Bound], list[UUID]]:
    return rebook(claims=claims, seen=seen, now=now)


def _leave_waiting(rows: Sequence[Reservation], *, now: datetime) -> None:
    """They keep their place in the books and their price, and every `reconcile` looks for room again."""
    fresh = [row.pk for row in rows if row.state in RUNNING]
    for first in range(0, len(fresh), AT_ONCE):
        for row in _mark(reservation_ids=fresh[first : first + AT_ONCE], now=now):
            note_given_up(row)
            tell(row)


@db.transaction
def _mark(*, reservation_ids: Sequence[UUID], now: datetime) -> list[Reservation]:
    leases = {lease.id: lease for lease in allocator.list_leases(owners=reservation_ids)}
    rows = [
        row
        for row in locks.lock_reservations(reservation_ids=reservation_ids)
        if row.state in RUNNING and row.lease_id in leases and not leases[row.lease_id].is_live
    ]
    for reason, named in ((NODE_LOST, False), (WAITS, True)):
        alike = [row for row in rows if (row.wanted_device_id is not None) is named]
        give_all_up(alike, reason=reason, now=now)
    return rows
