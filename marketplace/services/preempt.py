"""Make room for a wish that waited long enough, by notice to slices that were bought as preemptible.

One transaction: the victims get their notice (their calendar ends at its end), the wish is booked into the room that
comes, and the rows say who for whom. So nobody is evicted for nothing, two wishes never count on one victim, and a
crash anywhere leaves all of it or nothing. What follows (drain at the notice's end, gone on the agent's word, back in
line) is found again from the rows by the reconciler, whatever died meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.events import ReservationConfirmed
from marketplace.matching.queue_order import Urgency
from marketplace.models import EvictionReason, Reservation, ReservationState
from marketplace.services._booking import book_lease, replace_placement, take_lease
from marketplace.services._evictions import note_notice, pairs_of, rules
from marketplace.services._quota import check_quota
from marketplace.services._reclaim import reclaims_of
from marketplace.services._transition import SYSTEM, move
from marketplace.services._waiting import NO_WAIT
from marketplace.services.wish import slice_of, wish_again
from plumbing import db, outbox
from plumbing.errors import DomainError
from vxpu.eviction import Evictable, EvictionPlan, EvictionRequest
from vxpu.market import Candidate, LeaseView, Wish
from vxpu.slices import Period, dominant_permille

S = ReservationState
CLASSES = {Urgency.LOW: 0, Urgency.NORMAL: 1, Urgency.URGENT: 2}


def evict_for(*, rows: Sequence[Reservation], now: datetime) -> bool:
    """True: `rows`, a wish or a gang that was queued until now, are confirmed for the end of the notice, a gang on one
    node. False: nobody was told anything."""
    row = rows[0]
    if row.changed_at + timedelta(seconds=settings.VXPU_PREEMPT_DELAY_S) > now:
        return False
    deadline = notice_end(now)
    if row.starts_at > deadline:
        return False
    preemptible = list(selectors.list_preemptible())
    if not preemptible:
        return False
    victims = {one.lease_id: one for one in list_evictable(preemptible, now=now)}
    request = _request(rows, preemptible, deadline=deadline, now=now)
    plan = allocator.find_victims(request=request, evictable=victims.values(), rules=rules(), now=now)
    if plan is None:
        return False
    chosen = [victims[lease_id] for lease_id in plan.lease_ids]
    try:
        return _evict(waiting=[one.pk for one in rows], request=request, plan=plan, victims=chosen, now=now)
    except (
        DomainError
    ):  # somebody was quicker, or a quota is full: all of it is rolled back, the next cycle looks again
        return False


def notice_end(now: datetime) -> datetime:
    """Whole seconds, as everything that is charged."""
    whole = now.replace(microsecond=0)
    return whole + timedelta(seconds=settings.VXPU_PREEMPT_NOTICE_S + int(whole < now))


def rank_of(row: Reservation) -> int:
    """Class first; of one class, what was not bought as preemptible stands above what was."""
    return 2 * CLASSES[Urgency(row.priority)] + int(not row.preemptible)


def list_evictable(preemptible: Sequence[Reservation], *, now: datetime) -> list[Evictable]:
    """Their running slices; whether a rule protects one is the engine's to judge."""
    rows = {row.pk: row for row in preemptible}
    placements = {one.reservation_id: one for one in selectors.placements_of(reservations=rows) if one.is_current}
    found = []
    for lease in allocator.list_leases(owners=rows):
        row = rows[lease.owner]
        placement = placements.get(row.pk)
        if placement is None or lease.id != row.lease_id or lease.ready_at is None or not lease.is_live:
            continue
        one = Evictable(
            lease_id=lease.id, owner=row.pk, rank=rank_of(row), evictions=row.evictions,
            permille=dominant_permille(slice_of(row), device_memory_mib=placement.device_mib),
            started_at=lease.ready_at, safe_at=max(lease.ready_at, min(row.checkpointed_at or lease.ready_at, now)),
        )  # fmt: skip
        found.append(one)
    return found


def _request(
    rows: Sequence[Reservation], preemptible: Sequence[Reservation], *, deadline: datetime, now: datetime
) -> EvictionRequest:
    row = rows[0]
    return EvictionRequest(
        owner=row.pk, rank=rank_of(row), waiting_since=row.changed_at, evictions=row.evictions,
        wish=wish_again(row, period=_period_from(row, deadline)), count=len(rows), pairs=pairs_of(row.pk, now=now),
        reclaims=reclaims_of(row, preemptible, now=now),
    )  # fmt: skip


def _period_from(row: Reservation, start: datetime) -> Period:
    """The wished length, from `start` on."""
    return Period(starts_at=start, ends_at=None if row.ends_at is None else start + (row.ends_at - row.starts_at))


@db.transaction
def _evict(
    *,
    waiting: Sequence[UUID],
    request: EvictionRequest,
    plan: EvictionPlan,
    victims: Sequence[Evictable],
    now: datetime,
) -> bool:
    wish = request.wish
    seen = selectors.get_reservation(reservation_id=waiting[0])
    check_quota(
        tenant_id=seen.tenant_id, project_id=seen.project_id, piece=wish.slice, period=wish.period, is_new=False,
        count=len(waiting),
    )  # fmt: skip
    rows = _lock({*waiting, *(victim.owner for victim in victims)})
    wanted = [rows[one] for one in waiting]
    is_waiting = all(row.state == S.QUEUED for row in wanted)
    if not is_waiting or not all(_is_running(rows[victim.owner], victim) for victim in victims):
        return False
    billing.authorize(account_id=seen.account_id, now=now)
    leases = allocator.give_notice(
        reasons={victim.lease_id: str(_reason(victim, request)) for victim in victims},
        ends_at=wish.period.starts_at, now=now,
    )  # fmt: skip
    for lease in leases:
        _tell_victim(rows[lease.owner], lease=lease, request=request, victims=victims, now=now)
    for row, device_id in zip(wanted, plan.device_ids, strict=True):
        _take_the_place(row, device_id=device_id, node_id=plan.node_id, wish=wish, now=now)
    return True


@db.transaction_required
def _lock(reservation_ids: Collection[UUID]) -> dict[UUID, Reservation]:
    """By id, so that two pre-emptors never wait for each other."""
    return {one: locks.lock_reservation(reservation_id=one) for one in sorted(reservation_ids)}


def _reason(victim: Evictable, request: EvictionRequest) -> EvictionReason:
    return EvictionReason.RECLAIMED if victim.owner in request.reclaims else EvictionReason.PREEMPTED


def _is_running(row: Reservation, victim: Evictable) -> bool:
    return row.state == S.ACTIVE and row.lease_id == victim.lease_id and row.preemptible and row.released_at is None


@db.transaction_required
def _tell_victim(
    row: Reservation, *, lease: LeaseView, request: EvictionRequest, victims: Sequence[Evictable], now: datetime
) -> None:
    victim = next(one for one in victims if one.lease_id == lease.id)
    until = request.wish.period.starts_at
    move(
        row, S.PREEMPTING, actor=SYSTEM, reason=f"its place is needed at {until.isoformat(timespec='seconds')}",
        now=now, notice_at=now, evict_at=until,
    )  # fmt: skip
    note_notice(
        row, for_id=request.owner, lease=lease, reason=_reason(victim, request),
        wasted=victim.permille * ((now - victim.safe_at) // timedelta(seconds=1)), now=now,
    )  # fmt: skip


@db.transaction_required
def _take_the_place(row: Reservation, *, device_id: UUID, node_id: UUID, wish: Wish, now: datetime) -> None:
    lease = book_lease(
        tenant_id=row.tenant_id, project_id=row.project_id, owner=row.pk, wish=wish,
        candidates=[Candidate(device_id=device_id, node_id=node_id, score=0)], now=now,
    )  # fmt: skip
    device = allocator.get_device(device_id=lease.device_id)
    bound = take_lease(row, lease=lease, device=device)
    move(
        row, S.CONFIRMED, actor=SYSTEM, reason="room comes by pre-emption", now=now, starts_at=wish.period.starts_at,
        ends_at=wish.period.ends_at, **NO_WAIT, **bound,
    )  # fmt: skip
    replace_placement(row, lease=lease, device=device, now=now)
    outbox.publish(ReservationConfirmed(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
