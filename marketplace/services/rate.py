"""From delivered time and metered use to charges, a bucket of a lease at a time.

Always the whole bucket from the facts as they are now: any order and any batching of the same windows gives the same
items, and `billing.charge` makes of a difference a reversal and a new revision.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from uuid import UUID

from django.conf import settings

from allocator import facade as allocator
from billing import facade as billing
from marketplace import locks, selectors
from marketplace.models import Meter, Placement, Reservation, ReservationState
from marketplace.rating import spans
from marketplace.rating.items import Item, Piece, Taken, delivered_items, reserved_items, split_at_prices
from marketplace.services._pricing import ladder_of
from marketplace.services.wish import slice_of
from plumbing import db
from plumbing.errors import DomainError
from vxpu.ids import encode
from vxpu.market import DirtyHour, Phase
from vxpu.money import DEVICE_HOUR, ChargeItem
from vxpu.slices import Slice, dominant_permille

log = logging.getLogger(__name__)


def rate_dirty(*, now: datetime, limit: int = 200) -> int:
    """Rate the buckets in which a fact changed, each in its own transaction; returns how many. Several workers may run
    this at once: each takes keys that no other holds."""
    for done in range(limit):
        if not _rate_one(now=now):
            return done
    return limit


@db.transaction
def _rate_one(*, now: datetime) -> bool:
    for hour in allocator.take_dirty_hours(limit=1):
        placement = Placement.objects.filter(lease_id=hour.lease_id).first()
        if placement is None and not allocator.is_spare(lease_id=hour.lease_id):
            log.error("Lease %s of owner %s is no reservation's; its usage is not charged", hour.lease_id, hour.owner)
        if placement is not None:
            _rate_or_postpone(placement, hour, now=now)
        return True
    return False


@db.transaction_required
def _rate_or_postpone(placement: Placement, hour: DirtyHour, *, now: datetime) -> None:
    """A bucket that cannot be rated (an account, a price) must not hold up the others, nor be forgotten: the
    reservation's mark goes back, and the reconciler tries again from there."""
    # Before the facts are read: else an older reading could be charged over a newer one.
    row = locks.lock_reservation(reservation_id=placement.reservation_id)
    try:
        with db.savepoint():
            rate_bucket(row=row, placement=placement, bucket=hour.starts_at, now=now)
    except DomainError:
        log.exception("Lease %s, bucket %s: not rated yet", hour.lease_id, hour.starts_at.isoformat())
        if row.rated_through is not None and row.rated_through > hour.starts_at:
            Reservation.objects.filter(pk=row.pk).update(rated_through=hour.starts_at)


@db.transaction
def rate_reservation(*, reservation_id: UUID, now: datetime) -> int:
    """Rate what has passed since the last time, the open bucket too once the reservation has ended; returns how many
    buckets. Does not wait for usage: silent time is charged as idle or shown as reserved."""
    row = locks.lock_reservation(reservation_id=reservation_id)
    if not is_unrated(row, now=now):
        return 0
    until = _rate_until(row, now=now)
    done = 0
    for bucket in spans.buckets(row.rated_through or row.starts_at, until, width_s=settings.VXPU_RATING_PERIOD_S):
        for placement in row.placements.order_by("created_at", "id"):
            rate_bucket(row=row, placement=placement, bucket=bucket, now=now)
        done += 1
    Reservation.objects.filter(pk=row.pk).update(rated_through=until)
    return done


def is_unrated(row: Reservation, *, now: datetime) -> bool:
    """Whether time has passed that was never rated since it was over."""
    if row.state in selectors.NEVER_BOOKED or row.lease_id is None or is_taken_back(row):
        return False
    return (row.rated_through or row.starts_at) < _rate_until(row, now=now)


def is_taken_back(row: Reservation) -> bool:
    """Cancelled before its start: nobody's time."""
    return row.state == ReservationState.CANCELLED and row.ended_at is not None and row.ended_at <= row.starts_at


def _rate_until(row: Reservation, *, now: datetime) -> datetime:
    """Closed buckets only while it runs; up to now once it has ended; never beyond what was booked."""
    closed = spans.bucket_start(now, width_s=settings.VXPU_RATING_PERIOD_S)
    is_over = row.ended_at is not None or row.state == ReservationState.PREEMPTED
    return min(now if is_over else closed, row.ends_at or row.ended_at or now)


@db.transaction_required
def rate_bucket(*, row: Reservation, placement: Placement, bucket: datetime, now: datetime) -> None:
    """Set the charges of one lease in one bucket. `row` is locked. Raises what billing raises."""
    now = _as_of(row, now=now)
    end = min(bucket + timedelta(seconds=settings.VXPU_RATING_PERIOD_S), spans.floor_second(now))
    if end <= bucket:
        return
    window = spans.Span(bucket, end)
    # Cut by measured use where an invoice begins or ends; else billing would cut in proportion to time.
    borders = billing.period_borders(account_id=row.account_id, starts_at=window.starts_at, ends_at=window.ends_at)
    unread = allocator.unread_spans(lease_id=placement.lease_id, starts_at=window.starts_at, ends_at=window.ends_at)
    borders += [at for span in unread for at in span]
    borders += [placement.free_from] if placement.free_from is not None else []
    metered = allocator.metered_phases(lease_id=placement.lease_id, now=now)
    phases = [
        (piece, phase)
        for span, phase in _phases_within(metered, window=window)
        for piece in spans.cut(span, borders=[spans.floor_second(at) for at in borders])
    ]
    items = _delivered(row, placement, phases, window=window, unread=unread)
    items += _undelivered(row, placement, phases, window=window)
    billing.charge(
        account_id=row.account_id,
        tenant_id=row.tenant_id,
        source=placement.lease_id,
        bucket=bucket,
        items=[_charge_item(item, simulated=placement.device_simulated) for item in items],
        now=now,
    )


@db.transaction_required
def _as_of(row: Reservation, *, now: datetime) -> datetime:
    """A worker that waited for the row's lock has an old clock: it must not shorten what a later one has rated."""
    latest = max(now, row.rated_as_of or now)
    if latest != row.rated_as_of:
        row.rated_as_of = latest
        Reservation.objects.filter(pk=row.pk).update(rated_as_of=latest)
    return latest


def _phases_within(phases: Sequence[Phase], *, window: spans.Span) -> list[tuple[spans.Span, Phase]]:
    found = [(spans.span_between(phase.starts_at, phase.ends_at), phase) for phase in phases]
    clipped = [(None if span is None else spans.clip(span, within=window), phase) for span, phase in found]
    return [(span, phase) for span, phase in clipped if span is not None]


def _delivered(
    row: Reservation,
    placement: Placement,
    phases: list[tuple[spans.Span, Phase]],
    *,
    window: spans.Span,
    unread: Sequence[tuple[datetime, datetime]],
) -> list[Item]:
    pieces: list[Piece] = []
    for span, phase in phases:
        taken = Taken(span, phase.dominant_permille, text_of(row, phase.slice, placement))
        ladder = ladder_of(row, Meter.DELIVERED, span, device_kind=placement.device_kind)
        is_read = not any(first <= span.starts_at < last for first, last in unread)
        pieces += [
            _at_no_price(replace(piece, is_read=is_read))
            if _is_free(placement, span)
            else replace(piece, is_read=is_read)
            for piece in split_at_prices(taken, ladder=ladder)
        ]
    # A window starts on the grid, so the first one of a lease before its ready, and one may straddle a border: each
    # piece gets the windows that start before the next piece, and what is too much for it is poured over.
    edges = [window.starts_at, *(piece.span.starts_at for piece in pieces[1:]), window.ends_at]
    used = [
        allocator.used_permille_s(lease_id=placement.lease_id, starts_at=first, ends_at=last)
        for first, last in pairwise(edges)
    ]
    return delivered_items(pieces, used_permille_s=used) if pieces else []


def _is_free(placement: Placement, span: spans.Span) -> bool:
    """From the notice of an eviction on."""
    return placement.free_from is not None and span.starts_at >= spans.floor_second(placement.free_from)


def _at_no_price(piece: Piece) -> Piece:
    """Charged, so that the device's time still adds up, at nothing; a line of its own on the bill."""
    return replace(piece, rate=replace(piece.rate, unit_price=Decimal(0)), text=f"{piece.text}, notice of pre-emption")


def _undelivered(
    row: Reservation, placement: Placement, phases: list[tuple[spans.Span, Phase]], *, window: spans.Span
) -> list[Item]:
    """Booked and not delivered: before ready, while the node is silent, after an early release until the booked end."""
    booked = _booked_span(row, placement)
    booked = None if booked is None else spans.clip(booked, within=window)
    if booked is None:
        return []
    piece = slice_of(row)
    share = dominant_permille(piece, device_memory_mib=placement.device_mib)
    text = text_of(row, piece, placement)
    items: list[Item] = []
    for span in spans.without(booked, holes=[span for span, _ in phases]):
        ladder = ladder_of(row, Meter.RESERVED, span, device_kind=placement.device_kind)
        items += reserved_items(split_at_prices(Taken(span, share, text), ladder=ladder))
    return items


def _booked_span(row: Reservation, placement: Placement) -> spans.Span | None:
    if is_taken_back(row):
        return None
    last = placement.booked_until or row.ends_at or row.ended_at or datetime.max.replace(tzinfo=UTC)
    last = min(last, placement.free_from or last)
    return spans.span_between(placement.booked_from, last)


def text_of(row: Reservation, piece: Slice, placement: Placement) -> str:
    """What a line is for, without a time: lines of one text are added up."""
    return f"{encode('rsv', row.pk)}: {piece} of {placement.device_model}"


def _charge_item(item: Item, *, simulated: bool) -> ChargeItem:
    return ChargeItem(
        kind=item.kind,
        starts_at=item.span.starts_at,
        ends_at=item.span.ends_at,
        quantity=item.quantity,
        divisor=DEVICE_HOUR,
        unit_price=item.rate.unit_price,
        price_id=item.rate.price_id,
        text=item.text,
        simulated=simulated,
    )
