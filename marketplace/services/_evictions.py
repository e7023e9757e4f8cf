"""What the eviction of a reservation writes: its rows, its placement, and what it refunds.

From the notice on nothing is charged: the charge items of that time have the price 0 (marketplace/services/rate.py).
The rest of the booked time is not charged either, for the placement ends when the slice is gone; it is owed, and the
reservation goes back in line for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from allocator import facade as allocator
from marketplace.events import ReservationPreempted
from marketplace.models import Eviction, EvictionKind, EvictionReason, Placement, Reservation
from marketplace.rating import spans
from plumbing import outbox
from plumbing.db import transaction_required
from vxpu.eviction import EvictionRules
from vxpu.market import LeaseView


def rules() -> EvictionRules:
    """As the operator has set them."""
    return EvictionRules(
        delay=timedelta(seconds=settings.VXPU_PREEMPT_DELAY_S),
        min_run=timedelta(seconds=settings.VXPU_PREEMPT_MIN_RUN_S),
        promote_after=settings.VXPU_PREEMPT_PROMOTE_AFTER,
        promote_wait=timedelta(seconds=settings.VXPU_PREEMPT_PROMOTE_WAIT_S),
    )


def pairs_of(reservation_id: UUID, *, now: datetime) -> frozenset[UUID]:
    """Reservations with which this one had an eviction, whoever evicted, within the protection time."""
    since = now - timedelta(seconds=settings.VXPU_PREEMPT_PROTECT_S)
    rows = Eviction.objects.filter(
        Q(reservation_id=reservation_id) | Q(for_id=reservation_id), kind=EvictionKind.NOTICED, at__gt=since
    ).values_list("reservation_id", "for_id")
    return frozenset(one for pair in rows for one in pair if one != reservation_id)


def last_notice(reservation_id: UUID) -> Eviction | None:
    """The one that is, or was last, in force."""
    rows = Eviction.objects.filter(reservation_id=reservation_id, kind=EvictionKind.NOTICED)
    return rows.order_by("-at", "-id").first()


def last_notices(reservation_ids: Collection[UUID]) -> Mapping[UUID, Eviction]:
    """The same for many, in one read."""
    rows = Eviction.objects.filter(reservation_id__in=reservation_ids, kind=EvictionKind.NOTICED)
    return {row.reservation_id: row for row in rows.order_by("at", "id")}


@transaction_required
def note_notice(
    row: Reservation, *, for_id: UUID, lease: LeaseView, reason: EvictionReason, wasted: int, now: datetime
) -> None:
    """`row` is told, its placement is free from now on."""
    Placement.objects.filter(reservation=row, is_current=True).update(free_from=now)
    _write(row, EvictionKind.NOTICED, for_id=for_id, lease=lease, reason=reason, now=now, wasted_permille_s=wasted)


@transaction_required
def note_spared(row: Reservation, *, notice: Eviction, lease: LeaseView, now: datetime) -> None:
    """It keeps running, and pays for it again."""
    Placement.objects.filter(reservation=row, is_current=True).update(free_from=None)
    _write(row, EvictionKind.SPARED, for_id=notice.for_id, lease=lease, reason=EvictionReason(notice.reason), now=now)


@transaction_required
def note_evicted(row: Reservation, *, lease: LeaseView, now: datetime) -> None:
    """Its slice is gone: the placement ends there, and the refund is what was delivered from the notice on."""
    notice = last_notice(row.pk)
    placement = Placement.objects.filter(reservation=row, is_current=True).first()
    if notice is None or placement is None:
        raise AssertionError(f"{row.pk} is preempting without a notice")
    refunded = _delivered_since(placement.lease_id, placement.free_from or now, now=now)
    placement.is_current = False
    placement.booked_until = max(placement.booked_from, lease.ended_at or now)
    placement.save(update_fields=["is_current", "booked_until"])
    _write(
        row, EvictionKind.EVICTED, for_id=notice.for_id, lease=lease, reason=EvictionReason(notice.reason), now=now,
        wasted_permille_s=notice.wasted_permille_s, refunded_permille_s=refunded,
    )  # fmt: skip
    news = ReservationPreempted(
        tenant_id=row.tenant_id, reservation_id=row.pk, reason=notice.reason,
        wasted_permille_s=notice.wasted_permille_s, refunded_permille_s=refunded, at=now,
    )  # fmt: skip
    outbox.publish(news)


def _delivered_since(lease_id: UUID, since: datetime, *, now: datetime) -> int:
    """Permille-seconds of the dominant share, in whole seconds."""
    first, total = spans.floor_second(since), 0
    for phase in allocator.metered_phases(lease_id=lease_id, now=now):
        seconds = (phase.ends_at - max(phase.starts_at, first)) // timedelta(seconds=1)
        total += phase.dominant_permille * max(seconds, 0)
    return total


def _write(
    row: Reservation, kind: EvictionKind, *, for_id: UUID, lease: LeaseView, reason: EvictionReason, now: datetime,
    **amounts: int,
) -> None:  # fmt: skip
    Eviction.objects.create(
        tenant_id=row.tenant_id, reservation=row, for_id=for_id, kind=kind, reason=reason, lease_id=lease.id,
        node_id=lease.node_id, at=now, deadline_at=row.evict_at or lease.period.ends_at or now, created_at=now,
        **amounts,
    )  # fmt: skip
