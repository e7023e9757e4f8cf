"""Make room, or quota, for a wish that waited long enough, by notice to slices that were bought as preemptible.

One transaction: the victims get their notice (their calendar ends at its end), the wish is booked into the room that
comes, and the rows say who for whom. So nobody is evicted for nothing, two wishes never count on one victim, and a
crash anywhere leaves all of it or nothing. What follows (drain at the notice's end, gone on the agent's word, back in
line) is found again from the rows by the reconciler, whatever died meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from allocator.errors import DoesNotFit
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.events import ReservationConfirmed
from marketplace.matching.queue_order import Urgency
from marketplace.models import EvictionReason, Reservation, ReservationState
from marketplace.services._booking import book_lease, replace_placement, take_lease
from marketplace.services._evictions import note_notice, pairs_of, rules
from marketplace.services._quota import judge_quota, lock_quotas, quota_use
from marketplace.services._reclaim import fewest_to_go, reclaims_of
from marketplace.services._transition import SYSTEM, move
from marketplace.services._waiting import NO_WAIT
from marketplace.services.wish import slice_of, wish_again
from plumbing import db, outbox
from plumbing.errors import DomainError
from vxpu.eviction import Evictable, EvictionRequest
from vxpu.market import Candidate, KeptRoom, LeaseView, Wish
from vxpu.slices import Period, dominant_permille

S = ReservationState
CLASSES = {Urgency.LOW: 0, Urgency.NORMAL: 1, Urgency.URGENT: 2}


@dataclass(frozen=True, slots=True)
class _Case:
    """A wish, or a gang, that may evict by now, and who could be told."""

    rows: Sequence[Reservation]
    request: EvictionRequest
    preemptible: Mapping[UUID, Reservation]
    evictable: Sequence[Evictable]

    def lenders_due(self, told: Collection[UUID], *, now: datetime) -> list[Evictable]:
        """Who would give back lent quota by the rules of notice, beside those who are told anyway; the newest first."""
        asked, ran = self.request, now - rules().min_run
        found = [
            one for one in self.evictable
            if one.owner in asked.reclaims and one.owner not in {*asked.pairs, *told} and one.started_at <= ran
        ]  # fmt: skip
        return sorted(found, key=lambda one: (self.preemptible[one.owner].created_at, one.owner), reverse=True)


def evict_for(*, rows: Sequence[Reservation], now: datetime) -> bool:
    """True: `rows`, a wish or a gang that was queued until now, are confirmed for the end of the notice, a gang on one
    node. False: nobody was told anything."""
    case = _case_of(rows, now=now)
    if case is None:
        return False
    plan = allocator.find_victims(request=case.request, evictable=case.evictable, rules=rules(), now=now)
    if plan is None:
        return False
    places = [Candidate(device_id=device_id, node_id=plan.node_id, score=0) for device_id in plan.device_ids]
    chosen = [one for one in case.evictable if one.lease_id in plan.lease_ids]
    return _try(case, chosen, places, now=now)


def reclaim_for(*, rows: Sequence[Reservation], kept: Sequence[KeptRoom], now: datetime) -> bool:
    """The same where there is room beside what is `kept`, and only the quota is used up: by who borrowed it."""
    case = _case_of(rows, now=now)
    if case is None or not case.request.reclaims:
        return False
    wish, gang = case.request.wish, rows[0].gang
    try:
        if gang is None:
            places = allocator.propose(wish=wish, now=now, kept=kept)[:1]
        else:
            places = allocator.propose_gang(wish=wish, count=len(rows), together=gang.together, now=now, kept=kept)
    except DoesNotFit:
        return False
    return _try(case, [], places, now=now)


def _case_of(rows: Sequence[Reservation], *, now: datetime) -> _Case | None:
    """None: it is too soon, or there is nobody who could be told."""
    row, deadline = rows[0], notice_end(now)
    if row.changed_at + timedelta(seconds=settings.VXPU_PREEMPT_DELAY_S) > now or row.starts_at > deadline:
        return None
    preemptible = {one.pk: one for one in selectors.list_preemptible()}
    if not preemptible:
        return None
    request = _request(rows, list(preemptible.values()), deadline=deadline, now=now)
    return _Case(rows, request, preemptible, list_evictable(list(preemptible.values()), now=now))


def _try(case: _Case, chosen: Sequence[Evictable], places: Sequence[Candidate], *, now: datetime) -> bool:
    """With those who give back quota, if that is short as well."""
    due = case.lenders_due([one.owner for one in chosen], now=now)
    more = fewest_to_go(
        case.rows, period=case.request.wish.period, gone=[case.preemptible[one.owner] for one in chosen],
        may_go=[case.preemptible[one.owner] for one in due],
    )  # fmt: skip
    if more is None or not (chosen or more):
        return False
    victims = [*chosen, *(one for one in due if one.owner in more)]
    waiting = [one.pk for one in case.rows]
    try:
        return _evict(waiting=waiting, request=case.request, places=places, victims=victims, now=now)
    except DomainError:  # somebody was quicker, or a quota is full: nothing was done, the next cycle looks again
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
        reclaims=reclaims_of(rows, preemptible, now=now),
    )  # fmt: skip


def _period_from(row: Reservation, start: datetime) -> Period:
    """The wished length, from `start` on."""
    return Period(starts_at=start, ends_at=None if row.ends_at is None else start + (row.ends_at - row.starts_at))


@db.transaction
def _evict(
    *,
    waiting: Sequence[UUID],
    request: EvictionRequest,
    places: Sequence[Candidate],
    victims: Sequence[Evictable],
    now: datetime,
) -> bool:
    """Quota is judged when the victims' time ends with the notice."""
    wish = request.wish
    seen = selectors.get_reservation(reservation_id=waiting[0])
    quotas = lock_quotas(tenant_id=seen.tenant_id)
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
    uses = quota_use(quotas, project_id=seen.project_id, period=wish.period)
    judge_quota(uses, piece=wish.slice, is_new=False, count=len(waiting))
    for row, place in zip(wanted, places, strict=True):
        _take_the_place(row, place=place, wish=wish, now=now)
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
def _take_the_place(row: Reservation, *, place: Candidate, wish: Wish, now: datetime) -> None:
    lease = book_lease(
        tenant_id=row.tenant_id, project_id=row.project_id, owner=row.pk, wish=wish, candidates=[place], now=now
    )
    device = allocator.get_device(device_id=lease.device_id)
    bound = take_lease(row, lease=lease, device=device)
    move(
        row, S.CONFIRMED, actor=SYSTEM, reason="room comes by pre-emption", now=now, starts_at=wish.period.starts_at,
        ends_at=wish.period.ends_at, **NO_WAIT, **bound,
    )  # fmt: skip
    replace_placement(row, lease=lease, device=device, now=now, candidates=[place])
    outbox.publish(ReservationConfirmed(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
