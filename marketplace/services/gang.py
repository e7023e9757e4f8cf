"""Gangs: reservations that are bought together, all or none. Each has its own lease, state, price and bill."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from allocator import facade as allocator
from billing import facade as billing
from marketplace import locks
from marketplace.events import ReservationConfirmed
from marketplace.models import Gang, Reservation, ReservationState
from marketplace.selectors import gangs
from marketplace.services._booking import Terms, draft_of, note_placement, take_lease
from marketplace.services._quota import check_quota
from marketplace.services._transition import SYSTEM, move
from marketplace.services._waiting import NO_WAIT
from marketplace.services.news import tell
from marketplace.services.wish import period_now, slice_of, wish_again
from plumbing import db, outbox
from vxpu.ids import new_uuid
from vxpu.market import Candidate, DeviceView, KeptRoom, LeaseView


@db.transaction
def place_gang(*, gang_id: UUID, now: datetime, kept: Sequence[KeptRoom] = ()) -> int:
    """Room for a queued gang: every member is confirmed, or none. Returns how many.

    0 for a gang of which a member is no longer queued. Raises DoesNotFit, QuotaExceeded, and as billing.authorize.
    """
    seen = list(gangs.list_gang(gang_id=gang_id))
    if not seen or any(row.state != ReservationState.QUEUED for row in seen):
        return 0
    first = seen[0]
    period = period_now(first, now=now)
    check_quota(
        tenant_id=first.tenant_id, project_id=first.project_id, piece=slice_of(first), period=period, is_new=False,
        count=len(seen),
    )  # fmt: skip
    rows = [locks.lock_reservation(reservation_id=row_id) for row_id in sorted(row.pk for row in seen)]
    if any(row.state != ReservationState.QUEUED for row in rows):
        return 0
    billing.authorize(account_id=first.account_id, now=now)
    wish = wish_again(first, period=period)
    gang = gangs.get_gang(gang_id=gang_id)
    candidates = allocator.propose_gang(wish=wish, count=len(rows), together=gang.together, now=now, kept=kept)
    leases = allocator.book_gang(
        tenant_id=first.tenant_id, owners=[row.pk for row in rows], wish=wish, together=gang.together,
        candidates=candidates, now=now,
    )  # fmt: skip
    for rank, (row, lease, device, candidate) in enumerate(in_rank_order(rows, leases, candidates)):
        check_larger(row, lease)
        bound = take_lease(row, lease=lease, device=device)
        move(
            row, ReservationState.CONFIRMED, actor=SYSTEM, reason="room was found", now=now,
            starts_at=period.starts_at, ends_at=period.ends_at, **NO_WAIT, **bound,
        )  # fmt: skip
        _settle(row, lease, device, candidate, now=now)
        _rank_again(row, rank, count=len(rows))
    for rank, row in enumerate(sorted(rows, key=lambda one: one.gang_rank or 0)):
        Reservation.objects.filter(pk=row.pk).update(gang_rank=rank)
    return len(rows)


def _rank_again(row: Reservation, rank: int, *, count: int) -> None:
    """Ranks follow the devices, not the order of asking; out of the way first, since no two may be the same."""
    row.gang_rank = count + rank
    Reservation.objects.filter(pk=row.pk).update(gang_rank=row.gang_rank)


@db.transaction
def book_gang(*, terms: Terms, gang: Gang, candidates: Sequence[Candidate], now: datetime) -> list[Reservation]:
    """The gang with its members, by rank. Raises DoesNotFit, QuotaExceeded, NoPrice, and as billing.authorize."""
    order, wish = terms.order, terms.wish
    check_quota(
        tenant_id=order.tenant_id, project_id=order.project_id, piece=wish.slice, period=wish.period, is_new=True,
        urgency=order.priority, count=gang.count,
    )  # fmt: skip
    billing.authorize(account_id=terms.account_id, now=now)
    rows = [draft_of(terms, now=now) for _ in range(gang.count)]
    for row in rows:
        row.id = new_uuid()
    leases = allocator.book_gang(
        tenant_id=order.tenant_id, owners=[row.pk for row in rows], wish=wish, together=gang.together,
        candidates=candidates, now=now,
    )  # fmt: skip
    gang.save(force_insert=True)
    ranked = in_rank_order(rows, leases, candidates)
    for rank, (row, lease, device, candidate) in enumerate(ranked):
        check_larger(row, lease)
        row.gang, row.gang_rank = gang, rank
        row.state, row.change_reason = ReservationState.CONFIRMED, "booked together"
        take_lease(row, lease=lease, device=device)
        row.save(force_insert=True)
        tell(row)
        _settle(row, lease, device, candidate, now=now)
    return [row for row, *_ in ranked]


def in_rank_order(
    rows: Sequence[Reservation], leases: Sequence[LeaseView], candidates: Sequence[Candidate]
) -> list[tuple[Reservation, LeaseView, DeviceView, Candidate]]:
    """By node, then by place on its bus: neighbours in rank are neighbours in the machine."""
    devices = allocator.get_devices(device_ids={lease.device_id for lease in leases})
    found = [
        (row, lease, devices[lease.device_id], candidate)
        for row, lease, candidate in zip(rows, leases, candidates, strict=True)
    ]
    return sorted(found, key=lambda one: (one[2].node_id, pci_of(one[2]) or one[2].key, one[2].id, one[1].id))


def pci_of(device: DeviceView) -> str:
    """Empty for what is no card, or does not tell."""
    return "" if device.card is None else str(device.card.get("pci_bus_id") or "")


@db.transaction_required
def check_larger(row: Reservation, lease: LeaseView) -> None:
    """What is larger than was asked (a whole device, a part that the card cuts) is judged on top of those before."""
    if lease.slice != slice_of(row):
        check_quota(
            tenant_id=row.tenant_id, project_id=row.project_id, piece=lease.slice, period=lease.period,
            leave_out=row.pk, is_new=False,
        )  # fmt: skip


@db.transaction_required
def _settle(row: Reservation, lease: LeaseView, device: DeviceView, candidate: Candidate, *, now: datetime) -> None:
    note_placement(row, lease=lease, device=device, now=now, candidates=[candidate])
    outbox.publish(ReservationConfirmed(tenant_id=row.tenant_id, reservation_id=row.pk, at=now))
